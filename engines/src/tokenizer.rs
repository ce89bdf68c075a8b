//! Byte-level BPE from the parts that a GGUF file names, and whatever a tokenizer.json describes.
//!
//! Added tokens ("<|im_end|>") are found by the caller, who knows which of them a text may spell:
//! `encode` takes the text cut into pieces, each either plain or already one token.

use crate::boundary::{guard, Bytes, Failure, Ids, Offsets, Outcome, Status, Text};
use crate::pipeline::{behavior_of, leaves, pattern_of, Normalizers, PreTokenizers};
use crate::words::{Words, BYTE_LEVEL_PATTERN};
use std::collections::HashSet;
use tokenizers::models::bpe::{Vocab, BPE};
use tokenizers::tokenizer::normalizer::{NormalizedString, Range};
use tokenizers::{Model, ModelWrapper, PreTokenizedString, SplitDelimiterBehavior, Token};

/// A piece of a text to encode; the numbers are byte offsets. `token` negative: plain text.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Piece {
    begin: usize,
    end: usize,
    token: i64,
}

/// The parts of byte-level BPE.
#[repr(C)]
pub struct BpeParts {
    tokens: *const Bytes,
    token_count: usize,
    merges: *const Bytes,
    merge_count: usize,
    patterns: *const Bytes,
    pattern_count: usize,
    ignore_merges: bool,
    is_raw: bool,
    escapes_spaces: bool,
    whole_line_ends: bool,
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
    normalized: bool,
    normalized_text: Bytes,
}

/// How a token's text becomes bytes; `quire_alphabet` in the header.
#[repr(u32)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    ByteLevel = 0,
    SentencePiece = 1,
}

enum Encoder {
    ByteLevel(Box<ByteLevel>),
    /// Whatever else a tokenizer.json describes.
    Json {
        tokenizer: Box<tokenizers::Tokenizer>,
        pre_tokenizers: PreTokenizers,
        unknown: Option<u32>,
    },
}

/// An entry of "added_tokens", and what the normalizer makes of its text if it is to be found in
/// normalized text.
struct Added {
    token: tokenizers::AddedToken,
    id: u32,
    normalized_text: String,
}

/// How a word is spelled before it is merged.
enum Spelling {
    /// Each byte as a character of GPT-2's alphabet.
    Bytes(Box<[char; 256]>),
    /// As it is, but for what a file asks; see `quire_bpe_parts`.
    Raw { escapes_spaces: bool, whole_line_ends: bool },
}

/// Text is cut into words, spelled, and merged.
struct ByteLevel {
    words: Words,
    spelling: Spelling,
    model: BPE,
    special: HashSet<u32>,
}

pub struct Tokenizer {
    encoder: Encoder,
    normalizers: Normalizers,
    added: Vec<Added>,
    alphabet: Alphabet,
    prefix: Vec<u32>,
    id_end: u32,
}

/// More tokens than any model has; keeps a hostile id from sizing a table.
const ID_MAX: u32 = 1 << 24;

/// GPT-2's reversible alphabet: printable bytes stand for themselves, the rest for U+0100 on.
fn byte_alphabet() -> Box<[char; 256]> {
    let mut next = 256u32;
    Box::new(std::array::from_fn(|byte| {
        let byte = byte as u32;
        if matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff) {
            return char::from_u32(byte).unwrap();
        }
        next += 1;
        char::from_u32(next - 1).unwrap()
    }))
}

unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, count)
    }
}

fn build_bpe(tokens: &[Bytes], merges: &[Bytes], parts: &BpeParts) -> Outcome<BPE> {
    let vocabulary = vocabulary_of(tokens)?;
    let longest = vocabulary.keys().map(String::len).max().unwrap_or(0);
    let mut pairs = Vec::with_capacity(merges.len());
    for (rank, merge) in merges.iter().enumerate() {
        let (left, right) = merge_sides(rank, unsafe { merge.as_str("a merge")? })?;
        if left.len() + right.len() > longest {
            return Err(unknown_in_merge(rank, left, right, &vocabulary));
        }
        pairs.push((left.to_owned(), right.to_owned()));
    }
    // The library looks every side up again, so what is wrong is only searched for if it refuses.
    BPE::builder()
        .vocab_and_merges(vocabulary, pairs)
        .ignore_merges(parts.ignore_merges)
        .byte_fallback(parts.is_raw)
        .build()
        .map_err(|error| unknown_in_merges(tokens, merges, error))
}

fn vocabulary_of(tokens: &[Bytes]) -> Outcome<Vocab> {
    let mut vocabulary = Vocab::with_capacity(tokens.len());
    for (id, token) in tokens.iter().enumerate() {
        let text = unsafe { token.as_str("a token")? };
        if !text.is_empty() {
            vocabulary.insert(text.to_owned(), id as u32);
        }
    }
    Ok(vocabulary)
}

/// The merge that the library refused, and the reason.
fn unknown_in_merges(tokens: &[Bytes], merges: &[Bytes], refused: tokenizers::Error) -> Failure {
    let search = || -> Outcome<Option<Failure>> {
        let vocabulary = vocabulary_of(tokens)?;
        for (rank, merge) in merges.iter().enumerate() {
            let (left, right) = merge_sides(rank, unsafe { merge.as_str("a merge")? })?;
            let known = |part: &str| vocabulary.contains_key(part);
            if !known(left) || !known(right) || !known(&format!("{left}{right}")) {
                return Ok(Some(unknown_in_merge(rank, left, right, &vocabulary)));
            }
        }
        Ok(None)
    };
    match search() {
        Ok(None) => Failure::invalid(refused.to_string()),
        Ok(Some(failure)) | Err(failure) => failure,
    }
}

/// A left side may begin with a space, so a space there is not the separator.
fn merge_sides(rank: usize, text: &str) -> Outcome<(&str, &str)> {
    let first = text.chars().next().map_or(0, char::len_utf8);
    let cut = text[first..].find(' ').map(|at| at + first).ok_or_else(|| {
        Failure::invalid(format!("merge {rank} (\"{text}\") has no space between its two sides"))
    })?;
    Ok((&text[..cut], &text[cut + 1..]))
}

fn unknown_in_merge(rank: usize, left: &str, right: &str, vocabulary: &Vocab) -> Failure {
    let joined = format!("{left}{right}");
    let part = [left, right, &joined].into_iter().find(|part| !vocabulary.contains_key(*part));
    Failure::invalid(format!(
        "merge {rank} (\"{left} {right}\") names \"{}\", which is no token",
        part.unwrap_or(&joined)
    ))
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
        let model = build_bpe(tokens, slice(parts.merges, parts.merge_count), parts)?;
        let spelling = match parts.is_raw {
            true => Spelling::Raw {
                escapes_spaces: parts.escapes_spaces,
                whole_line_ends: parts.whole_line_ends,
            },
            false => Spelling::Bytes(byte_alphabet()),
        };
        let alphabet = match parts.is_raw {
            true => Alphabet::SentencePiece,
            false => Alphabet::ByteLevel,
        };
        let mut patterns = Vec::new();
        for pattern in slice(parts.patterns, parts.pattern_count) {
            patterns.push(pattern.as_str("a pre-tokenizer's pattern")?);
        }
        Ok(Tokenizer {
            encoder: Encoder::ByteLevel(Box::new(ByteLevel {
                words: Words::from_patterns(patterns)?,
                spelling,
                model,
                special: HashSet::new(),
            })),
            normalizers: Normalizers::default(),
            added: Vec::new(),
            alphabet,
            prefix: Vec::new(),
            id_end: tokens.len() as u32,
        })
    }

    fn from_json(json: &[u8]) -> Outcome<Self> {
        let malformed =
            |error: serde_json::Error| Failure::invalid(format!("tokenizer.json: {error}"));
        let mut value: serde_json::Value = serde_json::from_slice(json).map_err(malformed)?;
        let alphabet = check_json(&value)?;
        // The library needs neither: the steps run in pipeline.rs, and their patterns are read there.
        let mut take = |key| value.get_mut(key).map(serde_json::Value::take).unwrap_or_default();
        let (normalizer, pre_tokenizer) = (take("normalizer"), take("pre_tokenizer"));
        let unknown_token = value["model"]["unk_token"].as_str().map(str::to_owned);
        let unknown_id = value["model"]["unk_id"].as_u64().and_then(|id| u32::try_from(id).ok());
        let mut tokenizer: tokenizers::Tokenizer =
            serde_json::from_value(value).map_err(malformed)?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?;
        let prefix = tokenizer
            .encode_fast("", true)
            .map_err(|error| Failure::invalid(format!("tokenizer.json: {error}")))?
            .get_ids()
            .to_vec();
        let normalizers = Normalizers::from_json(&normalizer)?;
        let added = added_of(&tokenizer, &normalizers)?;
        let unknown = match unknown_token {
            Some(text) => tokenizer.token_to_id(&text),
            None => unknown_id,
        };
        let largest = tokenizer.get_vocab(true).into_values().max();
        let Some(largest) = largest else {
            return Err(Failure::invalid("tokenizer.json: the vocabulary is empty"));
        };
        if largest >= ID_MAX {
            return Err(Failure::invalid(format!(
                "tokenizer.json: token id {largest} is not below {ID_MAX}"
            )));
        }
        let special = added.iter().filter(|added| added.token.special).map(|added| added.id);
        let special = special.filter(|id| Some(*id) != unknown).collect();
        let encoder = match byte_level_of(&pre_tokenizer, &tokenizer, special)? {
            Some(byte_level) => Encoder::ByteLevel(Box::new(byte_level)),
            None => Encoder::Json {
                tokenizer: Box::new(tokenizer),
                pre_tokenizers: PreTokenizers::from_json(&pre_tokenizer)?,
                unknown,
            },
        };
        Ok(Tokenizer { encoder, normalizers, added, alphabet, prefix, id_end: largest + 1 })
    }

    fn token(&self, id: u32) -> Option<String> {
        if let Ok(index) = self.added.binary_search_by_key(&id, |added| added.id) {
            return Some(self.added[index].token.content.clone());
        }
        match &self.encoder {
            Encoder::ByteLevel(byte_level) => byte_level.model.id_to_token(id),
            Encoder::Json { tokenizer, .. } => tokenizer.id_to_token(id),
        }
    }

    fn encode(&self, text: &str, pieces: &[Piece]) -> Outcome<Vec<u32>> {
        check_pieces(text, pieces)?;
        match &self.encoder {
            Encoder::ByteLevel(byte_level) => byte_level.encode(text, pieces),
            Encoder::Json { tokenizer, pre_tokenizers, unknown } => {
                encode_json(tokenizer, pre_tokenizers, *unknown, text, pieces)
                    .map_err(library_failure)
            }
        }
    }

    fn normalize(&self, text: &str) -> Outcome<NormalizedString> {
        let mut normalized = NormalizedString::from(text);
        self.normalizers.normalize(&mut normalized).map_err(library_failure)?;
        Ok(normalized)
    }
}

/// By id.
fn added_of(tokenizer: &tokenizers::Tokenizer, normalizers: &Normalizers) -> Outcome<Vec<Added>> {
    let mut added = Vec::new();
    for (id, token) in tokenizer.get_added_tokens_decoder() {
        let mut text = NormalizedString::from(token.content.as_str());
        if token.normalized {
            normalizers.normalize(&mut text).map_err(library_failure)?;
        }
        added.push(Added { token, id, normalized_text: text.get().to_owned() });
    }
    added.sort_by_key(|added| added.id);
    Ok(added)
}

/// For each byte of the normalized text, where the characters begin and end that it comes from.
fn origins(normalized: &NormalizedString) -> (Vec<usize>, Vec<usize>) {
    let text = normalized.get();
    let (mut begins, mut ends) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    for (at, character) in text.char_indices() {
        let range = Range::Normalized(at..at + character.len_utf8());
        let origin = normalized.convert_offsets(range).unwrap_or(0..0);
        begins.resize(at + character.len_utf8(), origin.start);
        ends.resize(at + character.len_utf8(), origin.end);
    }
    (begins, ends)
}

impl ByteLevel {
    fn encode(&self, text: &str, pieces: &[Piece]) -> Outcome<Vec<u32>> {
        let mut ids = Vec::with_capacity(text.len() / 3 + 1);
        let mut spelled = String::new();
        for piece in pieces {
            if piece.token >= 0 {
                ids.push(piece.token as u32);
                continue;
            }
            self.words.cut(&text[piece.begin..piece.end], &mut |word| {
                spelled.clear();
                match &self.spelling {
                    Spelling::Bytes(alphabet) => {
                        spelled.extend(word.bytes().map(|byte| alphabet[byte as usize]));
                    }
                    Spelling::Raw { escapes_spaces, whole_line_ends } => {
                        let is_line_ends =
                            *whole_line_ends && word.bytes().all(|byte| byte == b'\n');
                        if let Some(id) = self.model.token_to_id(word).filter(|_| is_line_ends) {
                            ids.push(id);
                            return Ok(());
                        }
                        let escape =
                            |each| if each == ' ' && *escapes_spaces { '\u{2581}' } else { each };
                        spelled.extend(word.chars().map(escape));
                    }
                }
                self.encode_word(&spelled, &mut ids).map_err(library_failure)
            })?;
        }
        Ok(ids)
    }

    fn encode_word(&self, word: &str, ids: &mut Vec<u32>) -> tokenizers::Result<()> {
        let is_special = |token: &Token| self.special.contains(&token.id);
        let tokens = self.model.tokenize(word)?;
        if !tokens.iter().any(is_special) {
            ids.extend(tokens.iter().map(|token| token.id));
            return Ok(());
        }
        let apart = tokenize_apart(word, |text| self.model.tokenize(text), is_special)?;
        ids.extend(apart.iter().map(|token| token.id));
        Ok(())
    }
}

/// For plain text that has merged to a special token: nothing in it merges.
fn tokenize_apart(
    text: &str,
    tokenize: impl Fn(&str) -> tokenizers::Result<Vec<Token>>,
    is_special: impl Fn(&Token) -> bool,
) -> tokenizers::Result<Vec<Token>> {
    let mut apart = Vec::new();
    let mut buffer = [0; 4];
    for character in text.chars() {
        let tokens = tokenize(character.encode_utf8(&mut buffer))?;
        apart.extend(tokens.into_iter().filter(|token| !is_special(token)));
    }
    Ok(apart)
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

/// The file's pipeline as byte-level BPE, if it is one of the shape that published models have.
fn byte_level_of(
    pre_tokenizer: &serde_json::Value,
    tokenizer: &tokenizers::Tokenizer,
    special: HashSet<u32>,
) -> Outcome<Option<ByteLevel>> {
    let ModelWrapper::BPE(model) = tokenizer.get_model() else { return Ok(None) };
    let steps = leaves(pre_tokenizer, "pretokenizers");
    let Some((last, cuts)) = steps.split_last() else { return Ok(None) };
    if last["type"] != "ByteLevel" || last["add_prefix_space"] != false {
        return Ok(None);
    }
    let mut words = Words::default();
    for step in cuts {
        match (step["type"].as_str(), pattern_of(step)) {
            (Some("Split"), Some(pattern)) => {
                words.add_pattern(&pattern, behavior_of(step)?, step["invert"] == true)?;
            }
            (Some("Digits"), _) => words.add_digits(step["individual_digits"] == true),
            _ => return Ok(None),
        }
    }
    if last["use_regex"] != false {
        words.add_pattern(BYTE_LEVEL_PATTERN, SplitDelimiterBehavior::Isolated, false)?;
    }
    let spelling = Spelling::Bytes(byte_alphabet());
    Ok(Some(ByteLevel { words, spelling, model: model.clone(), special }))
}

fn encode_json(
    tokenizer: &tokenizers::Tokenizer,
    pre_tokenizers: &PreTokenizers,
    unknown: Option<u32>,
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
    pre_tokenizers.pre_tokenize(&mut work)?;
    let model: &ModelWrapper = tokenizer.get_model();
    let added = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    let is_special = |token: &Token| {
        Some(token.id) != unknown && added.get(&token.id).is_some_and(|added| added.special)
    };
    work.tokenize(|part| {
        let tokens = model.tokenize(part.get())?;
        if !tokens.iter().any(is_special) {
            return Ok(tokens);
        }
        tokenize_apart(part.get(), |text| model.tokenize(text), is_special)
    })?;
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
    if model["dropout"].as_f64().is_some_and(|dropout| dropout != 0.0) {
        return Err(Failure::new(
            Status::NotSupported,
            "tokenizer.json: a model with \"dropout\" gives other tokens each time",
        ));
    }
    let mut kinds = HashSet::new();
    collect_types(&value["decoder"], &mut kinds);
    if kinds.contains("ByteLevel") {
        return Ok(Alphabet::ByteLevel);
    }
    if kinds.contains("Metaspace") || kinds.contains("ByteFallback") {
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

fn collect_types(value: &serde_json::Value, kinds: &mut HashSet<String>) {
    if let Some(kind) = value["type"].as_str() {
        kinds.insert(kind.to_owned());
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
        let Added { token, id, normalized_text } = (&(*tokenizer).added)
            .get(index)
            .ok_or_else(|| Failure::invalid(format!("no added token {index}")))?;
        out.write(AddedToken {
            text: Bytes::borrow(token.content.as_bytes()),
            id: *id,
            special: token.special,
            single_word: token.single_word,
            strip_left: token.lstrip,
            strip_right: token.rstrip,
            normalized: token.normalized,
            normalized_text: Bytes::borrow(normalized_text.as_bytes()),
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
pub unsafe extern "C" fn quire_tokenizer_normalizes(tokenizer: *const Tokenizer) -> bool {
    !(*tokenizer).normalizers.is_empty()
}

#[no_mangle]
pub unsafe extern "C" fn quire_tokenizer_normalize(
    tokenizer: *const Tokenizer,
    text: Bytes,
    out: *mut Text,
    begins: *mut Offsets,
    ends: *mut Offsets,
    error: *mut Text,
) -> Status {
    guard(error, || {
        let normalized = (*tokenizer).normalize(text.as_str("the text")?)?;
        if !begins.is_null() && !ends.is_null() {
            let origins = origins(&normalized);
            begins.write(Offsets::from_vec(origins.0));
            ends.write(Offsets::from_vec(origins.1));
        }
        out.write(Text::from_vec(normalized.get().to_owned().into_bytes()));
        Ok(())
    })
}

/// Whether `code` is a character of words, as the library asks beside a "single_word" token.
#[no_mangle]
pub extern "C" fn quire_is_word_character(code: u32) -> bool {
    char::from_u32(code).is_some_and(regex_syntax::is_word_character)
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
