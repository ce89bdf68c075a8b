// NAME: a search. Writes several answers side by side, lets the model judge each, and sends the best.
//
// The question is computed once: each answer is a fork that shares its pages, and each verdict is a
// fork of an answer.
import { Context, runtime, session, type Branch, type OptionsOf } from "quire";

export const options = {
  prompt: {
    type: "string",
    default: "Think of a riddle about a river, and write it down.",
    description: "What the model answers",
    words: true,
  },
  n: { type: "integer", default: 4, minimum: 1, maximum: 64, description: "Number of answers" },
  generate: { type: "generation", default: { temperature: 0.9, maxTokens: 80 } },
} as const;

// How probable the model finds "yes", in a fork: the verdict is not part of the answer.
async function judged({ context, answer }: Branch) {
  const judge = await context.fork();
  judge.user("Is this a good answer? Say yes or no.");
  const { probabilities: [score = 0] } = await judge.choose(["yes", "no"]);
  return { score, text: answer.text };
}

export default async function program({ prompt, n, generate }: OptionsOf<typeof options>) {
  const question = await Context.create();
  question.user(prompt);
  const answers = await question.sample(n, generate);
  const verdicts = await Promise.all(answers.map(judged));
  for (const { score, text } of verdicts) runtime.log("info", `${score}  ${text}`);
  const best = verdicts.reduce((one, other) => (other.score > one.score ? other : one));
  session.send(`${best.text}\n`);
}
