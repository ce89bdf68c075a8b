// NAME: asks the model for an answer.
//
// It runs inside the server, next to the model. Change the options of `generate`, fork the context, take
// the answer token by token, call tools between them: the loop is yours.
import { Context, runtime, session, type OptionsOf } from "quire";

export const options = {
  prompt: { type: "string", default: "Say hello in five words.", description: "What the model answers", words: true },
  generate: { type: "generation", default: { maxTokens: 64 } },  // --max-tokens, --temperature, --seed and the like.
} as const;

export default async function program({ prompt, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  context.user(prompt);
  const answer = await context.generate(generate).stream(session.send);
  runtime.log("info", `${answer.tokens.length} tokens`);
}
