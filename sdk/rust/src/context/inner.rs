//! The working pages of a context, by hand.
use super::{Context, Counters};
use crate::{raw, Result};
use std::cell::RefCell;

/// The published operations on working pages, for loops that are written by hand: flush and generate do all of
/// it. Counters are those of the context's last command that was answered without an error.
pub struct Inner<'a> {
    context: RefCell<&'a mut Context>,
}

impl<'a> Inner<'a> {
    pub(super) fn of(context: &'a mut Context) -> Inner<'a> {
        Inner { context: RefCell::new(context) }
    }

    /// Full pages that the context holds and that are named by their content.
    pub fn committed_page_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::committed_page_count)
    }
    /// Pages that only this context writes, reserved ones too.
    pub fn working_page_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::working_page_count)
    }
    /// Tokens written to working pages.
    pub fn working_page_token_count(&self) -> u32 {
        self.context.borrow().counter(raw::context::working_page_token_count)
    }
    /// Allocates `count` more working pages, all or none. `no-free-page`, `quota-exceeded`.
    pub fn reserve_working_pages(&self, count: u32) -> Result<Counters> {
        let context = self.context.borrow();
        context.settle()?;
        context.edit(raw::context::reserve_working_pages, count)
    }
    /// Commits the first `count` working pages. `page-not-full` when one of them has a slot that was not written.
    pub fn commit_working_pages(&self, count: u32) -> Result<Counters> {
        let context = self.context.borrow();
        context.settle()?;
        context.edit(raw::context::commit_working_pages, count)
    }
    /// Frees the last `count` with the tokens written to them; what is queued moves up. `out-of-range` when there
    /// are fewer.
    pub fn release_working_pages(&self, count: u32) -> Result<Counters> {
        self.forget_written(raw::context::release_working_pages, count)
    }
    /// Drops the last `count` tokens written to working pages; the pages stay, what is queued moves up.
    pub fn truncate_working_page_tokens(&self, count: u32) -> Result<Counters> {
        self.forget_written(raw::context::truncate_working_page_tokens, count)
    }
    fn forget_written(
        &self,
        call: unsafe extern "C" fn(i32, u32) -> i32,
        count: u32,
    ) -> Result<Counters> {
        let mut context = self.context.borrow_mut();
        context.settle()?;
        // The tokens that are written now: a step that was dropped may have gone on unseen.
        let before = context.edit(raw::context::truncate, 0)?;
        let after = context.edit(call, count)?;
        context.forget_tokens(after.seq_len, before.seq_len);
        Ok(after)
    }
}
