// Context.use, rightly and wrongly. The launch loads the adapters first and second, and first as again too.
import { Context, Model, session } from "quire";
import { equal, fails, holds } from "./check.ts";

const wrong = (value: unknown) => value as any;
const adapterSets: (string | Record<string, number>)[] = [{}, "first", "second", { first: 0.5 }, { first: 0.5, second: 1.5 }];

async function likeliest(context: Context): Promise<number[]> {
  return (await context.nextDistribution(8)).tokens;
}

async function written(adapters: string | Record<string, number>): Promise<Context> {
  const context = await Context.create();
  await context.use(adapters);
  await context.appendText("The sky is blue because the sea is.");
  return context;
}

// Each set gives an answer of its own, and the same set the same, however it is written.
async function sets() {
  const answers: string[] = [];
  for (const each of adapterSets) answers.push(String(await likeliest(await written(each))));
  equal(new Set(answers).size, adapterSets.length);
  equal(String(await likeliest(await written({ first: 1 }))), answers[1]);
  equal(String(await likeliest(await written("again"))), answers[1]);
  equal(String(await likeliest(await written({ second: 1.5, first: 0.5 }))), answers[4]);
  equal(String(await likeliest(await written({ first: 0, second: -0 }))), answers[0]);
  const opened = await Context.create(Model.open(`${Model.open().name}:first`));
  await opened.appendText("The sky is blue because the sea is.");
  equal(String(await likeliest(opened)), answers[1]);
}

// Tokens that were appended before keep what they have, and a fork what is in force.
async function switches() {
  const base = await written({});
  const changed = await base.fork();
  await changed.use("second");
  equal(await likeliest(changed), await likeliest(base));
  await changed.appendText(" The sea");
  await base.appendText(" The sea");
  holds(String(await likeliest(changed)) !== String(await likeliest(base)), "tokens to come are under the adapter");
  const fork = await changed.fork();
  await fork.appendText(" is");
  await changed.appendText(" is");
  equal(await likeliest(fork), await likeliest(changed));
}

async function refusals() {
  const context = await Context.create();
  equal(context.model.adapters(), ["again", "first", "second"]);
  await fails(() => context.use("third"), "QuireError: not-found", 'no adapter named "third"; it has: again, first, second');
  await fails(() => context.use({ first: NaN }), "QuireError: invalid-argument", 'the scale of adapter "first"');
  await fails(() => context.use({ first: -Infinity }), "QuireError: invalid-argument", "it must be a finite number");
  await fails(() => context.use({ first: 1, again: 2 }), "QuireError: invalid-argument", "are one adapter under two names");
  await fails(() => context.use("first\nfirst"), "QuireError: invalid-argument", "2 names and 1 scales");
  await fails(() => context.use(wrong({ first: "1" })), "TypeError: the scale of adapter first must be a number");
  for (const each of [undefined, null, 5, ["first"], () => "first"]) {
    await fails(() => context.use(wrong(each)), "TypeError: Context.use: argument 1 must be the name of an adapter");
  }
  await context.appendText("The sky is blue because the sea is.");
  equal(await likeliest(context), await likeliest(await written({})));
}

export default async function program() {
  for (const part of [sets, switches, refusals]) {
    await part();
    session.send(`${part.name}\n`);
  }
}
