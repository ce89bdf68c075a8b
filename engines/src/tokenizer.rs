//! Byte-level BPE from the parts that a GGUF file names, and whatever a tokenizer.json describes.
//!
//! Added tokens ("<|im_end|>") are found by the caller, who knows which of them a text may spell:
//! `encode` takes the text cut into pieces, each either plain or already one token.

use crate::boundary::{guard, Bytes, Failure, Ids, Outcome, Status, Text};
use fancy_regex::Regex;
use std::collections::HashMap;
use tokenizers::models::bpe::{Vocab, BPE};
use tokenizers::tokenizer::normalizer::Range;
use tokenizers::{Model, ModelWrapper, Normalizer, PreTokenizedString, PreTokenizer, Token};

/// A piece of a text to encode; the numbers are byte offsets. `token` negative: plain text.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Piece {
    begin: usize,
    end: usize,
    token: i64,
}

/// What byte-level BPE is made of.
#[repr(C)]
pub struct BpeParts {
    tokens: *const Bytes,
    token_count: usize,
    merges: *const Bytes,
    merge_count: usize,
    patterns: *const Bytes,
    pattern_count: usize,
    ignore_merges: bool,
}

/// An entry of "added_tokens". The text is the tokenizer's and lives as long as it does.
#[repr(C)]
pub struct AddedToken {
    text: Bytes,
    id: u32,
    special: bool,
    single_word: bool,
    strip_left: bool,
    strip_right: bool,
}

/// How a token's text becomes bytes; `quire_alphabet` in the header.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    ByteLevel = 0,
    SentencePiece = 1,
}

enum Encoder {
    /// Each pattern in turn cuts what the one before left; then bytes become the byte alphabet.
    ByteLevel {
        patterns: Vec<Regex>,
        model: BPE,
        alphabet: [char; 256],
    },
    Json(Box<tokenizers::Tokenizer>),
}

pub struct Tokenizer {
    encoder: Encoder,
    added: Vec<(tokenizers::AddedToken, u32)>,
    alphabet: Alphabet,
    prefix: Vec<u32>,
    id_end: u32,
}

/// More tokens than any model has; keeps a hostile id from sizing a table.
const ID_MAX: u32 = 1 << 24;

/// GPT-2's reversible alphabet: printable bytes stand for themselves, the rest for U+0100 on.
fn byte_alphabet() -> [char; 256] {
    let mut next = 256u32;
    std::array::from_fn(|byte| {
        let byte = byte as u32;
        if matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) {
            return char::from_u32(byte).unwrap();
        }
        next += 1;
        char::from_u32(next - 1).unwrap()
    })
}

unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, count)
    }
}

fn build_bpe(tokens: &[Bytes], merges: &[Bytes], ignore_merges: bool) -> Outcome<BPE> {
    let mut vocabulary = Vocab::with_capacity(tokens.len());
    for (id, token) in tokens.iter().enumerate() {
        let text = unsafe { token.as_str(&format!("token {id}"))? };
        // Of two tokens with one text the later is the one that text encodes to, as in llama.cpp.
        vocabulary.insert(text.to_owned(), id as u32);
    }
    let mut pairs = Vec::with_capacity(merges.len());
    for (rank, merge) in merges.iter().enumerate() {
        let text = unsafe { merge.as_str(&format!("merge {rank}"))? };
        // A left side may begin with a space, so that space is not the separator.
        let first = text.chars().next().map_or(0, char::len_utf8);
        let cut = text[first..].find(' ').map(|at| at + first).ok_or_else(|| {
            Failure::invalid(format!(
                "merge {rank} (\"{text}\") has no space between its two sides"
            ))
        })?;
        let (left, right) = (&text[..cut], &text[cut + 1..]);
        for part in [left, right, &format!("{left}{right}")] {
            if !vocabulary.contains_key(part) {
                return Err(Failure::invalid(format!(
                    "merge {rank} (\"{text}\") names \"{part}\", which is no token"
                )));
            }
        }
        pairs.push((left.to_owned(), right.to_owned()));
    }
    BPE::builder()
        .vocab_and_merges(vocabulary, pairs)
        .ignore_merges(ignore_merges)
        .build()
        .map_err(|error| Failure::invalid(error.to_string()))
}

impl Tokenizer {
    unsafe fn from_parts(parts: &BpeParts) -> Outcome<Self> {
        let tokens = slice(parts.tokens, parts.token_count);
        if tokens.is_empty() || tokens.len() > ID_MAX as usize {
            return Err(Failure::invalid(format!(
                "a vocabulary of {} tokens (1 to {ID_MAX} are possible)",
                tokens.len()
            )));
        }
        let model = build_bpe(tokens, slice(parts.merges, parts.merge_count), parts.ignore_merges)?;
        let mut patterns = Vec::new();
        for pattern in slice(parts.patterns, parts.pattern_count) {
            let text = pattern.as_str("a pre-tokenizer's pattern")?;
            patterns.push(Regex::new(text).map_err(|error| Failure::invalid(error.to_string()))?);
        }
        Ok(Tokenizer {
            encoder: Encoder::ByteLevel { patterns, model, alphabet: byte_alphabet() },
            added: Vec::new(),
            alphabet: Alphabet::ByteLevel,
            prefix: Vec::new(),
            id_end: tokens.len() as u32,
        })
    }

    fn from_json(json: &[u8]) -> Outcome<Self> {
        let value: serde_json::Value = serde_json::from_slice(json)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?;
        let alphabet = check_json(&value)?;
        let mut tokenizer = tokenizers::Tokenizer::from_bytes(json)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?;
        let prefix = tokenizer
            .encode_fast("", true)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?
            .get_ids()
            .to_vec();
        let mut added: Vec<_> = tokenizer
            .get_added_tokens_decoder()
            .into_iter()
            .map(|(id, token)| (token, id))
            .collect();
        added.sort_by_key(|(_, id)| *id);
        let largest = tokenizer.get_vocab(true).into_values().max();
        let Some(largest) = largest else {
            return Err(Failure::invalid("tokenizer.json: the vocabulary is empty"));
        };
        if largest >= ID_MAX {
            return Err(Failure::invalid(format!(
                "tokenizer.json: token id {largest} is not below {ID_MAX}"
            )));
        }
        Ok(Tokenizer {
            encoder: Encoder::Json(Box::new(tokenizer)),
            added,
            alphabet,
            prefix,
            id_end: largest + 1,
        })
    }

    fn token(&self, id: u32) -> Option<String> {
        match &self.encoder {
            Encoder::ByteLevel { model, .. } => model.id_to_token(id),
            Encoder::Json(tokenizer) => tokenizer.id_to_token(id),
        }
    }

    fn encode(&self, text: &str, pieces: &[Piece]) -> Outcome<Vec<u32>> {
        check_pieces(text, pieces)?;
        match &self.encoder {
            Encoder::ByteLevel { patterns, model, alphabet } => {
                let mut ids = Vec::with_capacity(text.len() / 3 + 1);
                let mut word = String::new();
                for piece in pieces {
                    if piece.token >= 0 {
                        ids.push(piece.token as u32);
                        continue;
                    }
                    cut(&text[piece.begin..piece.end], patterns, &mut |part| {
                        word.clear();
                        word.extend(part.bytes().map(|byte| alphabet[byte as usize]));
                        let tokens = model.tokenize(&word).map_err(library_failure)?;
                        ids.extend(tokens.iter().map(|token| token.id));
                        Ok(())
                    })?;
                }
                Ok(ids)
            }
            Encoder::Json(tokenizer) => {
                encode_json(tokenizer, text, pieces).map_err(library_failure)
            }
        }
    }
}

fn library_failure(error: tokenizers::Error) -> Failure {
    Failure::invalid(format!("tokenizing: {error}"))
}

fn check_pieces(text: &str, pieces: &[Piece]) -> Outcome<()> {
    let mut at = 0;
    for piece in pieces {
        let whole = piece.begin == at && piece.begin <= piece.end && piece.end <= text.len();
        if !whole || !text.is_char_boundary(piece.end) {
            return Err(Failure::new(
                Status::Internal,
                format!("piece {}..{} does not continue at {at}", piece.begin, piece.end),
            ));
        }
        at = piece.end;
    }
    if at != text.len() {
        return Err(Failure::new(
            Status::Internal,
            format!("pieces end at {at} of {}", text.len()),
        ));
    }
    Ok(())
}

/// Cuts `text` at every match of the first pattern, what lies between matches included, and each
/// part by the remaining patterns.
fn cut(text: &str, patterns: &[Regex], each: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<()> {
    let Some((pattern, rest)) = patterns.split_first() else {
        return if text.is_empty() { Ok(()) } else { each(text) };
    };
    let mut at = 0;
    for found in pattern.find_iter(text) {
        let found =
            found.map_err(|error| Failure::invalid(format!("cutting into words: {error}")))?;
        cut(&text[at..found.start()], rest, each)?;
        cut(found.as_str(), rest, each)?;
        at = found.end();
    }
    cut(&text[at..], rest, each)
}

fn encode_json(
    tokenizer: &tokenizers::Tokenizer,
    text: &str,
    pieces: &[Piece],
) -> tokenizers::Result<Vec<u32>> {
    let mut work = PreTokenizedString::from(text);
    work.split(|_, whole| {
        let mut parts = Vec::with_capacity(pieces.len());
        for piece in pieces.iter().filter(|piece| piece.begin < piece.end) {
            let part = whole
                .slice(Range::Normalized(piece.begin..piece.end))
                .ok_or("a piece does not lie in its text")?;
            let token = (piece.token >= 0)
                .then(|| vec![Token::new(piece.token as u32, String::new(), (0, 0))]);
            parts.push((part, token));
        }
        Ok(parts)
    })?;
    if let Some(normalizer) = tokenizer.get_normalizer() {
        work.normalize(|part| normalizer.normalize(part))?;
    }
    if let Some(pre_tokenizer) = tokenizer.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut work)?;
    }
    let model: &ModelWrapper = tokenizer.get_model();
    work.tokenize(|part| model.tokenize(part.get()))?;
    let encoding = work.into_encoding(None, 0, tokenizers::OffsetType::None)?;
    Ok(encoding.get_ids().to_vec())
}

/// Says how the file's tokens become bytes, and refuses what would be decoded wrongly.
fn check_json(value: &serde_json::Value) -> Outcome<Alphabet> {
    let model = &value["model"];
    for key in ["continuing_subword_prefix", "end_of_word_suffix"] {
        if model[key].as_str().is_some_and(|text| !text.is_empty()) {
            return Err(Failure::new(
                Status::NotSupported,
                format!("tokenizer.json: a model with \"{key}\" is not supported"),
            ));
        }
    }
    let mut kinds = HashMap::new();
    collect_types(&value["decoder"], &mut kinds);
    if kinds.contains_key("ByteLevel") {
        return Ok(Alphabet::ByteLevel);
    }
    if kinds.contains_key("Metaspace") || kinds.contains_key("ByteFallback") {
        return Ok(Alphabet::SentencePiece);
    }
    let named = value["decoder"]["type"].as_str().unwrap_or("none");
    Err(Failure::new(
        Status::NotSupported,
        format!(
            "tokenizer.json: decoder \"{named}\" is not supported (ByteLevel, Metaspace and \
         ByteFallback are)"
        ),
    ))
}

fn collect_types(value: &serde_json::Value, kinds: &mut HashMap<String, ()>) {
    if let Some(kind) = value["type"].as_str() {
        kinds.insert(kind.to_owned(), ());
    }
    if let Some(decoders) = value["decoders"].as_array() {
        decoders.iter().for_each(|decoder| collect_types(decoder, kinds));
    }
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_from_parts(
    parts: *const BpeParts,
    out: *mut *mut Tokenizer,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Box::into_raw(Box::new(Tokenizer::from_parts(&*parts)?)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_from_json(
    json: Bytes,
    out: *mut *mut Tokenizer,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Box::into_raw(Box::new(Tokenizer::from_json(json.as_slice())?)));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_delete(tokenizer: *mut Tokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_id_end(tokenizer: *const Tokenizer) -> u32 {
    (*tokenizer).id_end
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_alphabet(tokenizer: *const Tokenizer) -> Alphabet {
    (*tokenizer).alphabet
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_added_count(tokenizer: *const Tokenizer) -> usize {
    (*tokenizer).added.len()
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_added(
    tokenizer: *const Tokenizer,
    index: usize,
    out: *mut AddedToken,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let (token, id) = (&(*tokenizer).added)
            .get(index)
            .ok_or_else(|| Failure::invalid(format!("no added token {index}")))?;
        out.write(AddedToken {
            text: Bytes::borrow(token.content.as_bytes()),
            id: *id,
            special: token.special,
            single_word: token.single_word,
            strip_left: token.lstrip,
            strip_right: token.rstrip,
        });
        Ok(())
    })
}

/// The token's text; empty where the id names none.
#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_token(
    tokenizer: *const Tokenizer,
    id: u32,
    out: *mut Text,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let text = (*tokenizer).token(id).unwrap_or_default();
        out.write(Text::from_vec(text.into_bytes()));
        Ok(())
    })
}

/// The tokens that the file puts around an empty text.
#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_prefix(
    tokenizer: *const Tokenizer,
    out: *mut Ids,
    error: *mut Text,
) -> Status {
    guard(error, || {
        out.write(Ids::from_vec((*tokenizer).prefix.clone()));
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_encode(
    tokenizer: *const Tokenizer,
    text: Bytes,
    pieces: *const Piece,
    piece_count: usize,
    out: *mut Ids,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let ids = (*tokenizer).encode(text.as_str("the text")?, slice(pieces, piece_count))?;
        out.write(Ids::from_vec(ids));
        Ok(())
    })
}
