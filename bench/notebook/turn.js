// turn: one turn of a conversation that lives in a snapshot: opened, cut, added to, gone on with and saved.
import { Context, session } from "quire";

export const options = {
  name: { type: "string", default: "", description: "The snapshot" },
  keep: { type: "integer", default: -1, description: "How many of its tokens stay; -1: all" },
  tokens: { type: "string", default: "[]", description: "JSON: the tokens that the turn adds" },
  count: { type: "integer", default: 16, description: "How many tokens the model adds" },
  as: { type: "string", default: "", description: "The snapshot that it becomes, if another" },
};

export default async function program({ name, keep, tokens, count, as }) {
  const context = await Context.openOrCreate(name);
  if (keep >= 0) await context.rewind(keep);
  context.append(JSON.parse(tokens));
  await context.generate({ maxTokens: count, temperature: 0, ignoreStopTokens: true }).collect();
  await context.save(as === "" ? name : as, { overwrite: true });
  const { seqLen } = await context.flush();
  session.send(String(seqLen));
}
