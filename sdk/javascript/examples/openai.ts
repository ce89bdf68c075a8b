// openai: a chat endpoint in OpenAI's form, whole and as a stream.
//
//   quire serve --endpoint "POST /v1/chat/completions=openai.ts"
import { Context, Model, type ChatMessage, type Request, type Response } from "quire";

interface Body {
  model?: string;
  messages: ChatMessage[];
  stream?: boolean;
  max_tokens?: number;
  temperature?: number;
  seed?: number;
}

export async function serve(request: Request, response: Response) {
  const body = (await request.json()) as Body;
  if (!Array.isArray(body.messages)) throw request.refuse(400, "messages must be an array");
  if (body.model && !Model.available().includes(body.model)) throw request.refuse(404, `no model ${body.model}`);
  const context = await Context.create(body.model);
  for (const message of body.messages) context.add(message);
  const { max_tokens: maxTokens = 128, temperature = 0, seed = 0 } = body;
  const generation = context.generate({ maxTokens, temperature, seed });
  const head = { id: `chatcmpl-${request.id}`, created: Math.floor(Date.now() / 1000), model: context.model.name };
  const reason = (finish: string) => (finish === "length" ? "length" : "stop");
  if (!body.stream) {
    const { text: content, finishReason, drawnCount } = await generation;
    const choice = { index: 0, message: { role: "assistant", content }, finish_reason: reason(finishReason) };
    const usage = { prompt_tokens: context.tokenCount - drawnCount, completion_tokens: drawnCount, total_tokens: context.tokenCount };
    return response.json(200, { ...head, object: "chat.completion", choices: [choice], usage });
  }
  const events = response.events();
  const send = (delta: object, finish_reason: string | null = null) =>
    events.send({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  await send({ role: "assistant", content: "" });
  const { finishReason } = await generation.stream((content) => send({ content }));
  await send({}, reason(finishReason));
  await events.send("[DONE]");
  events.finish();
}
