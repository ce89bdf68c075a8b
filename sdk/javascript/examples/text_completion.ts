// text_completion: goes on with a text, or answers it.
import { Context, session, type OptionsOf } from "quire";

export const options = {
  prompt: { type: "string", default: "The sky is blue because", description: "The text", words: true },
  system: { type: "string", default: "", description: "Instructions to the model, with --chat" },
  chat: { type: "boolean", description: "Answer the prompt instead of continuing it" },
  generate: { type: "generation" },
} as const;

export default async function program({ prompt, system, chat, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  if (chat) {
    if (system !== "") context.system(system);
    context.user(prompt);
  } else {
    await context.appendText(prompt);
  }
  await context.generate(generate).stream(session.send);
}
