// agent_react: thinks, acts and reads what it observes, step by step, until it can answer. A grammar
// gives each step its form, so no model writes an action that cannot be read.
import { Context, session, type OptionsOf } from "quire";

export const options = {
  prompt: {
    type: "string",
    default: "Multiply 17 by 23 and add 4. Then divide the result by 5. What comes out?",
    description: "The question",
    words: true,
  },
  generate: { type: "generation", default: { maxTokens: 2048 } },
} as const;

const form = String.raw`
step: "Thought: " TEXT "\nAction: calculator[" /[-+*\/(). 0-9]{1,100}/ "]" | last_step
last_step: "Thought: " TEXT "\nAnswer: " TEXT
TEXT: /[^\n]{4,240}/`;
const stepCountMax = 8;

// Small models follow an example better than instructions.
const example = [
  "Answer in steps, and compute nothing yourself. What are 12 boxes of 5 eggs, if 7 broke?",
  "Thought: First I compute the eggs in the boxes.\nAction: calculator[12 * 5]",
  "12 * 5 = 60",
  "Thought: Then I take away those that broke.\nAction: calculator[60 - 7]",
  "60 - 7 = 53",
  "Thought: All is computed.\nAnswer: There are 53 eggs.",
];

// The value of an expression of numbers, + - * / and brackets; NaN if it is none.
function valueOf(expression: string): number {
  const tokens = expression.match(/\d*\.?\d+|[-+*/()]/g) ?? [];
  let at = 0;
  const number = (): number => {
    const token = tokens[at++];
    if (token === "-") return -number();
    if (token !== "(") return token === undefined ? Number.NaN : Number(token);
    const value = sum();
    return tokens[at++] === ")" ? value : Number.NaN;
  };
  const product = (): number => {
    let value = number();
    while (tokens[at] === "*" || tokens[at] === "/") {
      value = tokens[at++] === "*" ? value * number() : value / number();
    }
    return value;
  };
  const sum = (): number => {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") {
      value = tokens[at++] === "+" ? value + product() : value - product();
    }
    return value;
  };
  const value = sum();
  return at === tokens.length ? value : Number.NaN;
}

function observed(expression: string): string {
  const value = valueOf(expression);
  if (Number.isFinite(value)) return `${expression} = ${value}`;
  return `error: ${expression} is not an expression of numbers, + - * / and brackets`;
}

export default async function program({ prompt, generate }: OptionsOf<typeof options>) {
  const context = await Context.create();
  example.forEach((content, i) => context.add(i % 2 === 0 ? "user" : "assistant", content));
  context.user(prompt);
  for (let i = 1; i <= stepCountMax; i += 1) {
    // The last step is an answer, so that an agent that acts in circles comes to an end.
    const lark = `${form}\nstart: ${i < stepCountMax ? "step" : "last_step"}`;
    const step = await context.generate({ ...generate, lark }).stream(session.send);
    if (step.finishReason === "length") break;
    const action = /\nAction: calculator\[(.*)\]$/.exec(step.text);
    if (action === null) return;  // It is the answer.
    const observation = observed(action[1]!);
    context.user(observation);
    session.send(`\n${observation}\n`);
  }
  throw new RangeError("no room for an answer: give it more tokens (--max-tokens)");
}
