// NAME: a conversation. Each line that the client sends is a turn, and the answer streams back.
//
// One context holds the conversation next to the model, so each turn costs its own tokens only.
import { Context, session, type OptionsOf } from "quire";

export const options = {
  system: { type: "string", default: "You answer in two or three sentences.", description: "Instructions to the model" },
  generate: { type: "generation", default: { temperature: 0.7, maxTokens: 256 } },
} as const;

export default async function program({ system, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  context.system(system);
  let seed = BigInt(generate.seed);
  for await (const line of session.messages()) {
    context.user(line);
    await context.generate({ ...generate, seed }).stream(session.send);
    session.send("\n");
    seed += 1n;  // Another turn draws other numbers.
  }
}
