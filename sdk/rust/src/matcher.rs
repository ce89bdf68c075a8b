//! Places in the texts of a grammar.
use crate::future::{nothing, to_u32, to_u32s};
use crate::host::{self, Handle};
use crate::raw;
use crate::{HostFuture, Result};
use std::rc::Rc;

/// How far a text has come in a [`Grammar`](crate::Grammar), and which tokens may come next. Copies are the same place;
/// [`fork`](Matcher::fork) makes another.
#[derive(Clone, Debug)]
pub struct Matcher {
    handle: Rc<Handle>,
}

impl Matcher {
    pub(crate) fn new(handle: Handle) -> Matcher {
        Matcher { handle: Rc::new(handle) }
    }
    /// For calls of [`raw`].
    pub fn handle(&self) -> i32 {
        self.handle.get()
    }
    /// Another matcher at the same place.
    pub fn fork(&self) -> Result<Matcher> {
        Handle::of_call(unsafe { raw::constraint::fork_matcher(self.handle()) }).map(Matcher::new)
    }
    /// The tokens that may come: bit i of word i / 32 for each id.
    pub fn token_mask(&self) -> HostFuture<Vec<u32>> {
        HostFuture::new(unsafe { raw::constraint::token_mask(self.handle()) }, to_u32s)
    }
    /// Goes on by `tokens`; true where the text is complete and nothing may follow. `invalid-argument`: one of them may
    /// not come, and the matcher stays where it is.
    pub async fn accept(&self, tokens: &[u32]) -> Result<bool> {
        let call = unsafe {
            raw::constraint::accept_tokens(self.handle(), tokens.as_ptr(), host::count(tokens))
        };
        Ok(HostFuture::new(call, to_u32).await? != 0)
    }
    /// Takes the last `count` tokens back.
    pub fn roll_back(&self, count: u32) -> HostFuture<()> {
        HostFuture::new(unsafe { raw::constraint::roll_back(self.handle(), count) }, nothing)
    }
    /// At most `count_max` tokens of which each is the only one that may come.
    pub fn forced(&self, count_max: u32) -> HostFuture<Vec<u32>> {
        HostFuture::new(
            unsafe { raw::constraint::forced_tokens(self.handle(), count_max) },
            to_u32s,
        )
    }
}
