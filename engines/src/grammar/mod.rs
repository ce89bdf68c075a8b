//! Constrained decoding through C functions: grammars that say which tokens may come next, by
//! llguidance.
//!
//! `vocabulary.rs` is made once for a model. `compile.rs` makes a `Grammar` of a source, and
//! `matcher.rs` is a place in one. Sources come from programs that may mean harm, so every step has a
//! limit: `source.rs` looks at a source before a parser does, `clock.rs` ends what takes too long.
//! `fits.rs` asks a schema itself about a text.

mod clock;
mod compile;
mod decimal;
mod ecma;
mod failure;
mod fits;
mod formats;
mod json;
mod lark;
mod matcher;
mod number;
mod pace;
mod schema;
mod source;
mod vocabulary;

use crate::boundary::{guard, Bytes, Failure, Ids, Outcome, Status, Text};
use compile::Grammar;
use matcher::Matcher;
use std::sync::Arc;
use vocabulary::Shared;

/// How a source is written; `quire_grammar_kind` in the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrammarKind {
    JsonSchema,
    Regex,
    Lark,
}

impl GrammarKind {
    fn from_number(number: u32) -> Outcome<Self> {
        match number {
            0 => Ok(GrammarKind::JsonSchema),
            1 => Ok(GrammarKind::Regex),
            2 => Ok(GrammarKind::Lark),
            other => Err(Failure::invalid(format!("{other} is not a kind of grammar"))),
        }
    }

    fn name(self) -> &'static str {
        match self {
            GrammarKind::JsonSchema => "JSON schema",
            GrammarKind::Regex => "regular expression",
            GrammarKind::Lark => "Lark grammar",
        }
    }
}

/// Limits of one grammar; `quire_grammar_limits` in the header.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Limits {
    pub source_bytes_max: usize,
    pub grammar_bytes_max: usize,
    pub matcher_bytes_max: usize,
    pub compile_us_max: u64,
    pub mask_us_max: u64,
    pub text_bytes_max: usize,
    pub fits_us_max: u64,
}

/// Encodes UTF-8 text inside a longer one as the model's tokenizer does; writes at most `capacity`
/// ids and returns how many there are.
pub type EncodeCallback = unsafe extern "C" fn(
    context: *const std::ffi::c_void,
    text: Bytes,
    ids: *mut u32,
    capacity: usize,
) -> usize;

/// The parts of a vocabulary; `quire_grammar_vocabulary_parts` in the header.
#[repr(C)]
pub struct VocabularyParts {
    tokens: *const Bytes,
    token_count: usize,
    stop_ids: *const u32,
    stop_count: usize,
    encode: Option<EncodeCallback>,
    encode_context: *const std::ffi::c_void,
}

pub struct Vocabulary(Arc<Shared>);

unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, count)
    }
}

unsafe fn delete<T>(object: *mut T) {
    if !object.is_null() {
        drop(Box::from_raw(object));
    }
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_vocabulary_create(
    parts: *const VocabularyParts,
    out: *mut *mut Vocabulary,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let vocabulary = Vocabulary(Arc::new(Shared::create(&*parts)?));
        out.write(Box::into_raw(Box::new(vocabulary)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_vocabulary_delete(vocabulary: *mut Vocabulary) {
    delete(vocabulary);
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_compile(
    vocabulary: *const Vocabulary,
    kind: u32,
    source: Bytes,
    limits: *const Limits,
    out: *mut *mut Grammar,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let kind = GrammarKind::from_number(kind)?;
        let source = source.as_str(kind.name())?;
        let grammar = Grammar::compile(&(*vocabulary).0, kind, source, &*limits)?;
        out.write(Box::into_raw(Box::new(grammar)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_delete(grammar: *mut Grammar) {
    delete(grammar);
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_bytes(grammar: *const Grammar) -> usize {
    (*grammar).bytes()
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_fits(
    grammar: *const Grammar,
    text: Bytes,
    out: *mut bool,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write((*grammar).fits(text.as_slice())?);
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_grammar_matcher(
    grammar: *const Grammar,
    out: *mut *mut Matcher,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Box::into_raw(Box::new((*grammar).matcher()?)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_fork(
    matcher: *const Matcher,
    out: *mut *mut Matcher,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Box::into_raw(Box::new((*matcher).fork())));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_delete(matcher: *mut Matcher) {
    delete(matcher);
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_mask(
    matcher: *mut Matcher,
    words: *mut u32,
    word_count: usize,
    error: *mut Text,
) -> Status {
    guard(error, || (*matcher).fill(std::slice::from_raw_parts_mut(words, word_count)))
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_accept(
    matcher: *mut Matcher,
    tokens: *const u32,
    token_count: usize,
    error: *mut Text,
) -> Status {
    guard(error, || (*matcher).accept(slice(tokens, token_count)))
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_roll_back(
    matcher: *mut Matcher,
    count: usize,
    error: *mut Text,
) -> Status {
    guard(error, || (*matcher).roll_back(count))
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_forced(
    matcher: *mut Matcher,
    most: usize,
    out: *mut Ids,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Ids::from_vec((*matcher).forced(most)?));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_may_end(matcher: *const Matcher) -> bool {
    (*matcher).may_end()
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_is_complete(matcher: *const Matcher) -> bool {
    (*matcher).is_complete()
}

#[no_mangle]
pub unsafe extern "C" fn quire_matcher_bytes(matcher: *const Matcher) -> usize {
    (*matcher).grown_bytes()
}

#[cfg(test)]
mod fits_test;
#[cfg(test)]
mod tests;
