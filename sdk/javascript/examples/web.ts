// web: an endpoint as the web has them, whose answer comes in pieces.
//
//   quire serve --endpoint "GET /answer=web.ts"
//   curl -N "http://127.0.0.1:7849/answer?question=What+is+a+page+table"
import { Context, type Endpoint, type OptionsOf } from "quire";

export const options = {
  system: { type: "string", default: "Answer in two sentences.", description: "Instructions to the model" },
} as const;

export default {
  async fetch(request, { system }) {
    const question = new URL(request.url).searchParams.get("question");
    if (question === null) return Response.json({ error: "give ?question=..." }, { status: 400 });
    const context = await Context.create();
    context.system(system);
    context.user(question);
    async function* pieces() {
      for await (const { text } of context.generate({ maxTokens: 96 })) yield text;
      yield "\n";
    }
    return new Response(pieces(), { headers: { "content-type": "text/plain; charset=utf-8" } });
  },
} satisfies Endpoint<OptionsOf<typeof options>>;
