// NAME: an agent. The model fetches pages until it can answer.
//
// The pages come from outside: `quire run` must allow the host (--allow-http). If a page cannot be
// fetched, the model reads the error. Small models hardly call tools: give --model one of 1B or more.
import { Context, Tools, http, runtime, session, type OptionsOf, type Tool } from "quire";

export const options = {
  question: {
    type: "string",
    default: "What does https://en.wikipedia.org/wiki/Page_table say?",
    description: "What the agent answers",
    words: true,
  },
  turns: { type: "integer", default: 4, minimum: 1, maximum: 100, description: "Maximum number of turns of the model" },
  generate: { type: "generation", default: { maxTokens: 300 } },
} as const;

const fetcher: Tool<{ url: string }> = {
  name: "fetch",
  description: "Gets the page of a URL.",
  schema: { type: "object", properties: { url: { type: "string" } }, required: ["url"] },
  run: async ({ url }) => {
    runtime.log("info", `fetch ${url}`);
    return (await http.get(url)).body;
  },
};

export default async function program({ question, turns, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  context.system("Fetch the pages that you need. Then answer in one or two sentences.");
  const tools = await Tools.offer(context, [fetcher], { roundsMax: turns, resultBytesMax: 4000 });
  // Small models follow an example better than instructions.
  context.user("What does http://example.com/ say?");
  await tools.show(context, "I fetch the page.", "fetch", { url: "http://example.com/" },
    "This domain is for use in examples.");
  context.assistant("It says that its domain is for use in examples.");
  context.user(question);
  await tools.answer(context, generate, session.send);
}
