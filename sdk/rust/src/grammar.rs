//! Grammars: the form that a text must have.
use crate::future::{to_handle, to_u32};
use crate::host::{self, Handle};
use crate::raw;
use crate::{HostFuture, Matcher, Model, Result};
use std::rc::Rc;

/// The form that a text must have: a JSON schema, a regular expression or a grammar in Lark's
/// notation, compiled for one model. Copies are the same one. A generation under a grammar draws
/// only tokens with which the text can still become one of its texts, and ends where nothing may
/// follow.
///
/// `invalid-argument` says where the source is wrong and why, `not-supported` what is not supported.
#[derive(Clone, Debug)]
pub struct Grammar {
    handle: Rc<Handle>,
}

impl Grammar {
    /// Texts that are JSON and fit the schema.
    pub async fn json_schema(model: &Model, schema: &str) -> Result<Grammar> {
        Grammar::compile(model, 0, schema).await
    }
    /// Texts that match the expression as a whole.
    pub async fn regex(model: &Model, expression: &str) -> Result<Grammar> {
        Grammar::compile(model, 1, expression).await
    }
    /// Texts of a grammar in Lark's notation.
    pub async fn lark(model: &Model, source: &str) -> Result<Grammar> {
        Grammar::compile(model, 2, source).await
    }

    async fn compile(model: &Model, kind: u32, source: &str) -> Result<Grammar> {
        let call = unsafe {
            raw::constraint::compile_grammar(
                model.handle(),
                kind,
                source.as_ptr(),
                host::count(source.as_bytes()),
            )
        };
        let handle = HostFuture::new(call, to_handle).await?;
        Ok(Grammar { handle: Rc::new(handle) })
    }

    /// Whether `text` is one of its texts as a whole, also if no model wrote it.
    pub async fn fits(&self, text: &str) -> Result<bool> {
        let call = unsafe {
            raw::constraint::fits(self.handle.get(), text.as_ptr(), host::count(text.as_bytes()))
        };
        Ok(HostFuture::new(call, to_u32).await? != 0)
    }

    /// A place in it, at its beginning.
    pub fn matcher(&self) -> Result<Matcher> {
        Handle::of_call(unsafe { raw::constraint::create_matcher(self.handle.get()) })
            .map(Matcher::new)
    }
    /// For calls of [`raw`].
    pub fn handle(&self) -> i32 {
        self.handle.get()
    }
}
