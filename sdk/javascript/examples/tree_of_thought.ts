// tree_of_thought: works towards an answer in steps, of which the most promising are followed.
import { Context, session, type OptionsOf } from "quire";

export const options = {
  prompt: {
    type: "string",
    default: "All but 9 of a farmer's 17 sheep run away. How many are left?",
    description: "The question",
    words: true,
  },
  depth: { type: "integer", default: 2, minimum: 1, maximum: 16, description: "Steps before the answer" },
  width: { type: "integer", default: 3, minimum: 1, maximum: 64, description: "Ways to take each step that are tried" },
  keep: { type: "integer", default: 2, minimum: 1, maximum: 64, description: "Thoughts that are followed to the next step" },
  answerTokens: { type: "integer", default: 128, minimum: 0, description: "Tokens of the answer at most" },
  step: { type: "generation", default: { temperature: 0.8, maxTokens: 48 } },
} as const;

type Given = OptionsOf<typeof options>;

interface Thought {
  context: Context;
  promise: number;
}

// The model judges in a fork, so that its verdict is not part of the thought.
async function judged(context: Context): Promise<Thought> {
  const judge = await context.fork();
  judge.user("Does this lead to the right answer? Say sure, maybe or never.");
  const { probabilities } = await judge.choose(["sure", "maybe", "never"]);
  return { context, promise: probabilities[0]! + 0.5 * probabilities[1]! };
}

// All ways to take the next step, computed and judged side by side.
async function grow(thoughts: Thought[], { width, keep, step }: Given): Promise<Thought[]> {
  const proposals = await Promise.all(thoughts.map(({ context }) => {
    context.user("Take the next step, in one sentence.");
    return context.sample(width, step);
  }));
  const grown = await Promise.all(proposals.flat().map((branch) => judged(branch.context)));
  return grown.sort((left, right) => right.promise - left.promise).slice(0, keep);
}

export default async function program(given: Given) {
  const { prompt, depth, width, answerTokens, step } = given;
  const root = await Context.create();
  root.system(`Work towards an answer to: ${prompt}`);
  let thoughts: Thought[] = [{ context: root, promise: 0 }];
  for (let i = 0; i < depth; i += 1) {
    // The next step draws other numbers.
    const seeded = { ...step, seed: Number(step.seed) + i * width };
    thoughts = await grow(thoughts, { ...given, step: seeded });
  }
  const best = thoughts[0]!.context;
  best.user("Now give the final answer.");
  const { ignoreStopTokens } = step;
  await best.generate({ maxTokens: answerTokens, ignoreStopTokens }).stream(session.send);
}
