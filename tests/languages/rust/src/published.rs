//! The snippets of published.txt, with the effects that their page documents. It sends a line for each.
use quire::{session, Context, ErrorCode, Result};

#[rustfmt::skip]
async fn flushed() -> Result<Context> {
    let mut ctx = Context::create()?;
    ctx.system("Long system prompt with lots of context for the task.");
    ctx.user("Question");
    ctx.flush().await?; // commit the prompt; nothing has been generated yet
    assert_eq!(ctx.messages().len(), 2);
    Ok(ctx)
}

#[rustfmt::skip]
async fn layout() -> Result<(u32, u32)> {
    let mut ctx = flushed().await?;
    let total_len = ctx.seq_len();
    let psize = ctx.page_size();
    // Lower-level counts via the raw handle:
    let committed = ctx.inner().committed_page_count();
    let working = ctx.inner().working_page_count();
    let working_tokens = ctx.inner().working_page_token_count();
    // "committed pages x page size + tokens in the working page"
    assert_eq!(total_len, committed * psize + working_tokens);
    assert!(committed > 0 && working == u32::from(working_tokens > 0));
    session::send(&format!("flush {total_len} {psize} {committed} {working_tokens}\n"))?;
    // "Two pages produced from the same prefix hash to the same value", whichever context produced them.
    let again = flushed().await?;
    assert_eq!(again.found_token_count(), committed * psize);
    let mut fork = ctx.fork().await?;
    assert_eq!(fork.inner().committed_page_count(), committed);
    session::send(&format!("found {}\n", again.found_token_count()))?;
    Ok((psize, working_tokens))
}

#[rustfmt::skip]
#[allow(unused_must_use)]
async fn truncated(psize: u32, working_tokens: u32) -> Result<()> {
    let mut ctx = flushed().await?;
    ctx.append(&vec![5; (2 * psize - working_tokens - 4) as usize])?; // So that the working page holds 12 tokens.
    ctx.flush().await?;
    let (before, kept) = (ctx.seq_len(), ctx.inner().committed_page_count());
    ctx.truncate(8); // drop the last 8 tokens from the working page(s)
    assert_eq!((ctx.seq_len(), ctx.inner().committed_page_count()), (before - 8, kept));
    // "Committed pages cannot be truncated through this API."
    assert_eq!(ctx.truncate(psize).unwrap_err().code, ErrorCode::OutOfRange);
    session::send(&format!("truncate {before} {} {}\n", ctx.seq_len(), ctx.token_count()))
}

#[rustfmt::skip]
#[allow(unused_must_use)]
async fn manual(psize: u32) -> Result<()> {
    let mut ctx = Context::create()?;
    let (n, k) = (2, 0);
    let raw = ctx.inner();
    raw.reserve_working_pages(n)?; // pre-allocate n working pages
    assert_eq!(raw.working_page_count(), n);
    assert_eq!(raw.commit_working_pages(1).unwrap_err().code, ErrorCode::PageNotFull);
    raw.commit_working_pages(k)?; // promote the first k full working pages to committed
    drop(raw);
    ctx.append(&vec![5; psize as usize + 7])?;
    ctx.flush().await?;
    let raw = ctx.inner();
    assert_eq!((raw.committed_page_count(), raw.working_page_token_count()), (1, 7));
    raw.truncate_working_page_tokens(n); // drop the last n tokens within the working pages
    assert_eq!(raw.working_page_token_count(), 5);
    let n = raw.working_page_count();
    raw.release_working_pages(n); // free n working pages from the tail
    assert_eq!(raw.working_page_count(), 0);
    let committed = raw.committed_page_count();
    drop(raw);
    assert_eq!(ctx.seq_len(), psize);
    session::send(&format!("manual {committed} 0 {}\n", ctx.seq_len()))
}

pub async fn program() -> Result<()> {
    let (psize, working_tokens) = layout().await?;
    truncated(psize, working_tokens).await?;
    manual(psize).await
}
