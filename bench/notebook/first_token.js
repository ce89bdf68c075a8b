// first_token: how much longer a turn takes whose earlier text is found, than one on a context that was never left.
//
// Turns of two conversations alternate: one goes on in its context, one begins anew with all its text. Both compute as many
// new tokens after as many earlier ones. Prints the medians, and the median of the ratios; then how long a fork takes.
import { Context, session } from "quire";

export const options = {
  turns: { type: "integer", default: 12, minimum: 2, description: "Turns of each conversation" },
  tokens: { type: "integer", default: 400, minimum: 1, description: "New tokens of a turn" },
  first: { type: "integer", default: 1000, description: "The first token of the vocabulary that prompts have" },
  end: { type: "integer", default: 20000, description: "The last of them, and one" },
};

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

export default async function program({ turns, tokens, first, end }) {
  const some = () => Array.from({ length: tokens }, () => first + Math.floor(Math.random() * (end - first)));
  const timed = async (context, added) => {
    const begin = performance.now();
    context.append(added);
    await context.nextDistribution(1);
    return performance.now() - begin;
  };
  const live = await Context.create();
  let text = [];
  const onward = [];
  const found = [];
  for (let turn = 0; turn < turns; turn++) {
    const goOn = async () => onward.push(await timed(live, some()));
    const beginAnew = async () => {
      text = text.concat(some());
      const context = await Context.create();
      found.push(await timed(context, text));
    };
    for (const take of turn % 2 === 0 ? [goOn, beginAnew] : [beginAnew, goOn]) await take();
  }
  const ratio = median(found.slice(1).map((each, turn) => each / onward[turn + 1]));
  session.send(`on a context that goes on ${median(onward).toFixed(0)} ms, found ${median(found).toFixed(0)} ms, ratio ${ratio.toFixed(3)}\n`);
  const forks = [];
  const firsts = [];
  for (let each = 0; each < 16; each++) {
    const begin = performance.now();
    const fork = await live.fork();
    forks.push(performance.now() - begin);
    firsts.push(await timed(fork, [first]));
  }
  session.send(`a fork of ${turns * tokens} tokens ${median(forks).toFixed(2)} ms, its first token ${median(firsts).toFixed(0)} ms\n`);
}
