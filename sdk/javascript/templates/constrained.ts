// NAME: reads facts out of a text. The answer is JSON that follows a schema, whatever the model.
//
// Under a grammar the model draws only tokens with which the answer can still become one of its
// texts. `regex` and `lark` take other notations.
import { Context, session, type OptionsOf } from "quire";

const schema = {
  type: "object",
  properties: {
    name: { type: "string", maxLength: 60 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    trade: { enum: ["baker", "carpenter", "teacher", "other"] },
  },
  required: ["name", "age", "trade"],
  additionalProperties: false,
};

export const options = {
  text: {
    type: "string",
    default: "Ada Kowalski, 41, bakes bread in the old mill.",
    description: "A text about a person",
    words: true,
  },
  generate: { type: "generation", default: { maxTokens: 200 } },
} as const;

export default async function program({ text, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  context.system("Answer with one JSON object: the name, the age and the trade of the person.");
  context.user(text);
  const answer = await context.generate({ ...generate, schema });
  if (answer.finishReason === "length") {
    throw new RangeError(`the answer is not complete after ${answer.tokens.length} tokens: give it more (--max-tokens)`);
  }
  const person = JSON.parse(answer.text) as { name: string; age: number; trade: string };
  session.send(`${person.name} is ${person.age}, trade: ${person.trade}\n`);
}
