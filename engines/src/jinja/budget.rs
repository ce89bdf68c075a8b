//! How much one rendering may do. Every loop over data that a template or a request controls
//! charges its work here first, so that a hostile template ends with an error within a second.

use super::error::{fail, Result};
use std::cell::Cell;

/// Steps of one rendering: expressions, statements, and items that a filter visits.
pub const STEPS_MAX: u64 = 10_000_000;
/// Characters of all texts that one rendering makes, together: each takes 4 bytes. A list item
/// counts as 8 characters, which is what it takes.
pub const CHARACTERS_MAX: u64 = 96 << 20;
/// How deep statements, expressions, macros and recursive loops nest while they run.
pub const NESTING_MAX: u32 = 400;
/// How deep lists and dicts nest. Python's own limit shows near 1000.
pub const VALUE_DEPTH_MAX: u16 = 200;
/// How many values a walk over one value may meet. Values share their parts, so that a template
/// could otherwise make one that takes forever to compare or to print.
pub const VALUE_WEIGHT_MAX: u64 = 1 << 24;
/// Characters that a step may look at.
const CHARACTERS_OF_A_STEP: u64 = 32;

#[derive(Default)]
pub struct Budget {
    steps: Cell<u64>,
    characters: Cell<u64>,
    nesting: Cell<u32>,
}

impl Budget {
    pub fn step(&self) -> Result<()> {
        self.steps(1)
    }

    pub fn steps(&self, count: u64) -> Result<()> {
        let used = self.steps.get().saturating_add(count);
        self.steps.set(used);
        if used > STEPS_MAX {
            return fail!("the template runs too long: more than {STEPS_MAX} steps");
        }
        Ok(())
    }

    /// Work on `count` characters that makes none.
    pub fn look(&self, count: usize) -> Result<()> {
        self.steps(count as u64 / CHARACTERS_OF_A_STEP)
    }

    /// Room for `count` more characters; call it before they are made.
    pub fn characters(&self, count: usize) -> Result<()> {
        let used = self.characters.get().saturating_add(count as u64);
        if used > CHARACTERS_MAX {
            return fail!(
                "the template makes too much text: more than {CHARACTERS_MAX} characters"
            );
        }
        self.characters.set(used);
        self.look(count)
    }

    pub fn items(&self, count: usize) -> Result<()> {
        self.characters(count.saturating_mul(8))
    }

    /// Runs `body` one level deeper.
    pub fn nested<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        let depth = self.nesting.get() + 1;
        if depth > NESTING_MAX {
            return fail!("the template nests too deeply: more than {NESTING_MAX} levels");
        }
        self.nesting.set(depth);
        let result = body();
        self.nesting.set(depth - 1);
        result
    }
}
