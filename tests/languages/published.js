// The snippets of published.txt, with the effects that their page documents. It sends a line for each.
import { Context, session } from "quire";

function holds(is, what) {
  if (!is) throw new Error(what);
}

export default async function program() {
  let ctx = await Context.create();
  ctx.system('Long system prompt with lots of context for the task.');
  ctx.user('Question');
  await ctx.flush(); // commit the prompt; nothing has been generated yet
  holds(ctx.messages.length === 2, "nothing was generated");
  const totalLen = ctx.seqLen;
  const psize = ctx.pageSize;
  const { committedPageCount: committed, workingPageTokenCount: workingTokens } = ctx;
  // "committed pages x page size + tokens in the working page"
  holds(totalLen === committed * psize + workingTokens && committed > 0, "the counters add up");
  session.send(`flush ${totalLen} ${psize} ${committed} ${workingTokens}\n`);

  // "Two pages produced from the same prefix hash to the same value", whichever context produced them.
  const first = ctx;
  ctx = await Context.create();
  ctx.system('Long system prompt with lots of context for the task.');
  ctx.user('Question');
  await ctx.flush();
  holds(ctx.foundTokenCount === committed * psize, "the pages are shared");
  const fork = await first.fork();
  holds(fork.committedPageCount === committed, "a fork shares them too");
  session.send(`found ${ctx.foundTokenCount}\n`);

  ctx.append(new Array(2 * psize - workingTokens - 4).fill(5)); // So that the working page holds 12 tokens.
  await ctx.flush();
  const before = ctx.seqLen;
  const kept = ctx.committedPageCount;
  ctx.truncate(8); // drop the last 8 tokens from the working page(s)
  await ctx.flush();
  holds(ctx.seqLen === before - 8 && ctx.committedPageCount === kept, "eight tokens have gone, and no page");
  // "Committed pages cannot be truncated through this API."
  const refused = await ctx.truncate(psize).then(() => "", (error) => error.code);
  holds(refused === "out-of-range", "committed tokens stay");
  session.send(`truncate ${before} ${ctx.seqLen} ${ctx.tokenCount}\n`);

  // "Rust-only today" there: the four operations on working pages.
  const [n, k] = [2, 1];
  ctx = await Context.create();
  await ctx.reserveWorkingPages(n);
  holds(ctx.workingPageCount === n, "pages are there");
  const partial = await ctx.commitWorkingPages(k).then(() => "", (error) => error.code);
  holds(partial === "page-not-full", "a partial page is not committed");
  ctx.append(new Array(psize + 7).fill(5));
  await ctx.flush();
  holds(ctx.committedPageCount === 1 && ctx.workingPageTokenCount === 7, "flush commits what is full");
  await ctx.truncateWorkingPageTokens(n);
  holds(ctx.workingPageTokenCount === 5, "tokens have gone");
  await ctx.releaseWorkingPages(ctx.workingPageCount);
  holds(ctx.workingPageCount === 0 && ctx.seqLen === psize, "pages have gone");
  session.send(`manual ${ctx.committedPageCount} ${ctx.workingPageCount} ${ctx.seqLen}\n`);
}
