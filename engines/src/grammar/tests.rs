//! Masks, walks and refusals over a vocabulary of bytes and a few words.

use super::compile::Grammar;
use super::matcher::Matcher;
use super::vocabulary::Shared;
use super::*;
use std::time::{Duration, Instant};

pub const WORDS: [&str; 9] = ["12", "123", "true", "\": ", "{\"", "name", "ab", "null", "ab"];
const STOP: u32 = 265;
const CONTROL: u32 = 266;
pub const TOKEN_COUNT: u32 = 267;

/// Each byte is a token; then a few words (one of them twice), a token that ends a text, and one that
/// no text spells.
pub fn vocabulary_with(encode: Option<EncodeCallback>) -> Arc<Shared> {
    let mut tokens: Vec<Vec<u8>> = (0..=255u8).map(|byte| vec![byte]).collect();
    tokens.extend(WORDS.iter().map(|word| word.as_bytes().to_vec()));
    tokens.push(b"<|end|>".to_vec());
    tokens.push(Vec::new());
    let borrowed: Vec<Bytes> = tokens.iter().map(|token| Bytes::borrow(token)).collect();
    let stops = [STOP];
    let parts = VocabularyParts {
        tokens: borrowed.as_ptr(),
        token_count: borrowed.len(),
        stop_ids: stops.as_ptr(),
        stop_count: stops.len(),
        encode,
        encode_context: std::ptr::null(),
    };
    Arc::new(unsafe { Shared::create(&parts).unwrap() })
}

pub fn vocabulary() -> Arc<Shared> {
    vocabulary_with(None)
}

pub const LIMITS: Limits = Limits {
    source_bytes_max: 256 << 10,
    grammar_bytes_max: 64 << 20,
    matcher_bytes_max: 64 << 20,
    compile_us_max: 1_000_000,
    mask_us_max: 20_000,
    text_bytes_max: 1 << 20,
    fits_us_max: 100_000,
};

pub fn compile(vocabulary: &Arc<Shared>, kind: GrammarKind, source: &str) -> Outcome<Grammar> {
    Grammar::compile(vocabulary, kind, source, &LIMITS)
}

pub fn grammar_of(vocabulary: &Arc<Shared>, kind: GrammarKind, source: &str) -> Grammar {
    compile(vocabulary, kind, source).unwrap_or_else(|failure| panic!("{source}: {failure:?}"))
}

fn matcher_of(kind: GrammarKind, source: &str) -> Matcher {
    grammar_of(&vocabulary(), kind, source).matcher().unwrap()
}

fn refusal(kind: GrammarKind, source: &str) -> Failure {
    compile(&vocabulary(), kind, source).err().expect("the source must be refused")
}

pub fn mask_of(matcher: &mut Matcher) -> Outcome<Vec<u32>> {
    let mut words = [u32::MAX; TOKEN_COUNT as usize / 32 + 3];
    matcher.fill(&mut words)?;
    let is_set = |id: &u32| words[*id as usize / 32] >> (id % 32) & 1 != 0;
    Ok((0..words.len() as u32 * 32).filter(is_set).collect())
}

pub fn allowed(matcher: &mut Matcher) -> Vec<u32> {
    mask_of(matcher).unwrap()
}

fn ids(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

/// Numbers for tests: the same ones for a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }
}

#[test]
fn a_mask_holds_exactly_the_tokens_that_the_expression_allows() {
    let mut matcher = matcher_of(GrammarKind::Regex, "[0-9]{4}");
    let digits: Vec<u32> = (b'0'..=b'9').map(u32::from).collect();
    let mut first = digits.clone();
    first.extend([256, 257]); // "12" and "123".
    assert_eq!(allowed(&mut matcher), first);
    matcher.accept(&[257]).unwrap();
    assert_eq!(allowed(&mut matcher), digits);
    assert!(!matcher.may_end() && !matcher.is_complete());
    matcher.accept(&ids("9")).unwrap();
    assert!(matcher.may_end() && matcher.is_complete());
    assert_eq!(allowed(&mut matcher), [STOP]);
    matcher.accept(&[STOP]).unwrap();
    assert!(!matcher.may_end() && matcher.is_complete());
    assert_eq!(allowed(&mut matcher), [0u32; 0]);
    assert!(matcher.accept(&[STOP]).is_err());
}

#[test]
fn a_grammar_that_may_end_or_go_on_allows_the_stop_token_beside_others() {
    let mut matcher = matcher_of(GrammarKind::Regex, "ab?");
    matcher.accept(&ids("a")).unwrap();
    assert_eq!(allowed(&mut matcher), [u32::from(b'b'), STOP]);
    assert!(matcher.may_end() && !matcher.is_complete());
    matcher.accept(&[STOP]).unwrap();
    matcher.roll_back(1).unwrap();
    matcher.accept(&ids("b")).unwrap();
    assert!(matcher.is_complete());
    matcher.roll_back(2).unwrap();
    assert_eq!(allowed(&mut matcher), [u32::from(b'a'), 262, 264]); // "ab" twice.
}

#[test]
fn a_token_that_is_not_allowed_leaves_the_matcher_as_it_was() {
    let mut matcher = matcher_of(GrammarKind::Regex, "ab?c+");
    let before = allowed(&mut matcher);
    let failure = matcher.accept(&ids("abx")).unwrap_err();
    assert_eq!(failure.status, Status::Invalid);
    assert_eq!(failure.message, "the grammar does not allow token 120 at index 2");
    assert_eq!(allowed(&mut matcher), before);
    for tokens in [vec![97, 99, STOP, 99], vec![97, STOP], vec![CONTROL], vec![9999, 97]] {
        assert_eq!(matcher.accept(&tokens).unwrap_err().status, Status::Invalid, "{tokens:?}");
        assert_eq!(allowed(&mut matcher), before);
    }
    matcher.accept(&[97, 98, 99, STOP]).unwrap();
    assert_eq!(matcher.roll_back(5).unwrap_err().status, Status::Invalid);
    matcher.roll_back(4).unwrap();
    assert_eq!(allowed(&mut matcher), before);
}

/// Each kind of grammar, small enough to walk at random.
pub const SMALL: [(GrammarKind, &str); 8] = [
    (GrammarKind::Regex, "(ab|a|b12)*[0-9]{0,5}"),
    (GrammarKind::Regex, "(true|null|[a-c]+)(,(true|null|[a-c]+)){0,3}"),
    (GrammarKind::Regex, "(é|€|😀|a){1,6}"),
    (GrammarKind::Lark, "start: x+\nx: \"a\" \"b\"? | \"12\" y\ny: \"3\" | \"n\" x \"m\""),
    (GrammarKind::Lark, "start: e\ne: e \"+\" e | \"(\" e \")\" | /[0-9]+/\n%ignore / /"),
    (
        GrammarKind::JsonSchema,
        r#"{"type": "object", "properties": {"name": {"type": "string", "maxLength": 4},
            "age": {"type": "integer"}, "ok": {"enum": [true, null, "ab"]}},
            "required": ["name"], "additionalProperties": false}"#,
    ),
    (GrammarKind::JsonSchema, r#"{"type": "array", "items": {"type": "number"}, "maxItems": 3}"#),
    (GrammarKind::JsonSchema, "true"),
];

#[test]
fn on_random_walks_a_token_is_accepted_exactly_if_the_mask_holds_it_or_a_number_is_long() {
    let vocabulary = vocabulary();
    for (number, (kind, source)) in SMALL.into_iter().enumerate() {
        let grammar = grammar_of(&vocabulary, kind, source);
        for seed in 0..12 {
            let mut random = Random(seed * 31 + number as u64);
            let mut matcher = grammar.matcher().unwrap();
            for step in 0..25 {
                let mask = allowed(&mut matcher);
                let why = || format!("{source}, seed {seed}, step {step}");
                assert_eq!(mask.contains(&STOP), matcher.may_end(), "{}", why());
                for token in 0..TOKEN_COUNT {
                    let is_accepted = matcher.accept(&[token]).is_ok();
                    // A mask ends long numbers, which may still be written.
                    let may_be_left_out = kind == GrammarKind::JsonSchema
                        && u8::try_from(token).map_or(token <= 257, number::is_of_number);
                    let is_allowed = mask.contains(&token) || (may_be_left_out && is_accepted);
                    assert_eq!(is_accepted, is_allowed, "{}, {token}", why());
                    if is_accepted {
                        matcher.roll_back(1).unwrap();
                    }
                }
                assert_eq!(allowed(&mut matcher), mask, "{}", why());
                if mask.is_empty() {
                    break;
                }
                matcher.accept(&[mask[random.below(mask.len())]]).unwrap();
            }
        }
    }
}

#[test]
fn a_number_that_is_drawn_ends_and_a_longer_one_that_is_written_fits() {
    let vocabulary = vocabulary();
    for (source, first, longest) in [
        ("{\"type\": \"integer\"}", "", 20),
        ("{\"type\": \"number\"}", "1.", 18),
        ("{}", "0.0", 40),
        ("{\"type\": \"array\", \"items\": {\"type\": \"number\"}}", "[1e", 6),
    ] {
        let grammar = grammar_of(&vocabulary, GrammarKind::JsonSchema, source);
        let mut matcher = grammar.matcher().unwrap();
        matcher.accept(&ids(first)).unwrap();
        let mut bytes = first.len();
        while allowed(&mut matcher).contains(&u32::from(b'1')) {
            matcher.accept(&[u32::from(b'1')]).unwrap();
            bytes += 1;
            assert!(bytes <= longest, "{source}: {first} goes on for {bytes} bytes");
        }
        assert!(!allowed(&mut matcher).is_empty(), "{source}: nothing follows {first}");
        matcher.accept(&ids("11111")).unwrap();
    }
    // A schema that wants more digits gets them.
    let source = r#"{"const": 1234567890123456789012345}"#;
    if let Ok(grammar) = compile(&vocabulary, GrammarKind::JsonSchema, source) {
        let mut matcher = grammar.matcher().unwrap();
        while !matcher.is_complete() && !matcher.may_end() {
            let choices = allowed(&mut matcher);
            matcher.accept(&choices[..1]).unwrap();
        }
    }
}

#[test]
fn rolling_back_and_forking_give_the_masks_of_the_same_tokens() {
    let vocabulary = vocabulary();
    for (number, (kind, source)) in SMALL.into_iter().enumerate() {
        let grammar = grammar_of(&vocabulary, kind, source);
        for seed in 0..40 {
            let mut random = Random(seed * 77 + number as u64);
            let mut matcher = grammar.matcher().unwrap();
            let mut masks = vec![allowed(&mut matcher)];
            for _ in 0..40 {
                match random.below(4) {
                    0 => {
                        let count = random.below(masks.len().min(5));
                        matcher.roll_back(count).unwrap();
                        masks.truncate(masks.len() - count);
                    }
                    1 => {
                        let mut fork = matcher.fork();
                        std::mem::swap(&mut fork, &mut matcher);
                        let mask = allowed(&mut fork);
                        if !mask.is_empty() {
                            fork.accept(&[mask[random.below(mask.len())]]).unwrap();
                            allowed(&mut fork);
                        }
                    }
                    _ => {
                        let mask = masks.last().unwrap();
                        if mask.is_empty() {
                            continue;
                        }
                        matcher.accept(&[mask[random.below(mask.len())]]).unwrap();
                        masks.push(allowed(&mut matcher));
                        continue;
                    }
                }
                assert_eq!(&allowed(&mut matcher), masks.last().unwrap(), "{source}, seed {seed}");
            }
        }
    }
}

#[test]
fn random_walks_through_a_schema_end_in_valid_instances_without_white_space() {
    let schema = r#"{"type": "object",
        "properties": {"id": {"type": "integer", "minimum": 0, "maximum": 99},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2},
        "ok": {"type": "boolean"}}, "required": ["id", "tags", "ok"],
        "additionalProperties": false}"#;
    let grammar = grammar_of(&vocabulary(), GrammarKind::JsonSchema, schema);
    let mut random = Random(7);
    for _ in 0..200 {
        let mut matcher = grammar.matcher().unwrap();
        let mut text = Vec::new();
        while !matcher.is_complete() {
            let choices = allowed(&mut matcher);
            let token = choices[random.below(choices.len())];
            matcher.accept(&[token]).unwrap();
            match token {
                0..=255 => text.push(token as u8),
                _ => text.extend_from_slice(WORDS[token as usize - 256].as_bytes()),
            }
        }
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(serde_json::to_vec(&value).unwrap(), text);
        assert!((0..=99).contains(&value["id"].as_i64().unwrap()), "{value}");
        assert!(value["ok"].is_boolean(), "{value}");
        let tags = value["tags"].as_array().unwrap();
        assert!(tags.len() <= 2 && tags.iter().all(|tag| *tag == "red" || *tag == "green"));
    }
}

#[test]
fn a_matcher_that_goes_to_and_fro_for_long_holds_no_more_than_it_needs() {
    let vocabulary = vocabulary_with(Some(encode_longest));
    let source = r#"{"type": "array", "items": {"type": "string", "maxLength": 5}}"#;
    let mut matcher = grammar_of(&vocabulary, GrammarKind::JsonSchema, source).matcher().unwrap();
    matcher.accept(&ids("[")).unwrap();
    let mut walk = |count: usize| {
        for _ in 0..count {
            matcher.accept(&ids("\"name\",")).unwrap();
            allowed(&mut matcher);
            matcher.forced(4).unwrap();
            matcher.fork().accept(&ids("\"")).unwrap();
            matcher.roll_back(7).unwrap();
        }
        matcher.grown_bytes()
    };
    let first = walk(100);
    let later = walk(20_000);
    assert!(later < first + (64 << 10), "{first}, then {later} bytes");
}

#[test]
fn a_matcher_that_breaks_the_lexer_harms_no_other() {
    let vocabulary = vocabulary();
    let grammar = grammar_of(&vocabulary, GrammarKind::Regex, "(ab|a)*[0-9]{0,5}");
    let mut other = grammar.matcher().unwrap();
    other.accept(&ids("aba1")).unwrap();
    let mask = allowed(&mut other);
    let mut fork = other.fork();
    let mut broken = grammar.matcher().unwrap();
    let failure = broken.break_shared_lexer().unwrap_err();
    assert_eq!(failure.status, Status::Internal);
    assert_eq!(mask_of(&mut broken).unwrap_err().message, failure.message);
    assert_eq!(broken.fork().accept(&ids("a")).unwrap_err().message, failure.message);
    assert!(!broken.may_end() && !broken.is_complete());
    for matcher in [&mut other, &mut fork] {
        assert_eq!(allowed(matcher), mask);
        matcher.accept(&ids("2")).unwrap();
        matcher.roll_back(5).unwrap();
        matcher.accept(&ids("ab")).unwrap();
    }
    assert_eq!(allowed(&mut grammar.matcher().unwrap()).len(), 16);
}

/// An encoder that takes the longest word at each place.
unsafe extern "C" fn encode_longest(
    _context: *const std::ffi::c_void,
    text: Bytes,
    ids: *mut u32,
    capacity: usize,
) -> usize {
    let mut text = text.as_slice();
    let mut count = 0;
    while !text.is_empty() {
        let word = WORDS
            .iter()
            .enumerate()
            .filter(|(_, word)| text.starts_with(word.as_bytes()))
            .max_by_key(|(at, word)| (word.len(), usize::MAX - at));
        let (id, length) =
            word.map_or((u32::from(text[0]), 1), |(at, word)| (256 + at as u32, word.len()));
        if count < capacity {
            ids.add(count).write(id);
        }
        count += 1;
        text = &text[length..];
    }
    count
}

#[test]
fn forced_tokens_are_what_the_encoder_makes_of_the_text_that_must_follow() {
    let vocabulary = vocabulary_with(Some(encode_longest));
    let grammar = grammar_of(&vocabulary, GrammarKind::Regex, "namexab12=(p|q)");
    let mut matcher = grammar.matcher().unwrap();
    let mask = allowed(&mut matcher);
    let forced = [261, u32::from(b'x'), 262, 256, u32::from(b'=')];
    assert_eq!(matcher.forced(100).unwrap(), forced);
    assert_eq!(matcher.forced(2).unwrap(), forced[..2]);
    assert!(matcher.forced(0).unwrap().is_empty());
    assert_eq!(allowed(&mut matcher), mask);
    assert_eq!(mask, [u32::from(b'n'), 261]);
    matcher.accept(&forced).unwrap();
    assert!(matcher.forced(100).unwrap().is_empty());
    assert_eq!(allowed(&mut matcher), ids("pq"));
}

#[test]
fn on_random_walks_forced_tokens_follow_and_no_other_text_does() {
    let vocabulary = vocabulary_with(Some(encode_longest));
    for (number, (kind, source)) in SMALL.into_iter().enumerate() {
        let grammar = grammar_of(&vocabulary, kind, source);
        for seed in 0..20 {
            let mut random = Random(seed * 13 + number as u64);
            let mut matcher = grammar.matcher().unwrap();
            for step in 0..30 {
                let forced = matcher.forced(8).unwrap();
                let mask = allowed(&mut matcher);
                let why = || format!("{source}, seed {seed}, step {step}: {forced:?}");
                if let Some(first) = forced.first() {
                    assert!(mask.contains(first), "{}", why());
                    let byte = |token: u32| match token {
                        0..=255 => token as u8,
                        _ => WORDS[token as usize - 256].as_bytes()[0],
                    };
                    assert!(mask.iter().all(|token| byte(*token) == byte(*first)), "{}", why());
                    matcher.accept(&forced).unwrap_or_else(|e| panic!("{} {e:?}", why()));
                    matcher.roll_back(forced.len() - random.below(forced.len() + 1)).unwrap();
                } else if mask.is_empty() {
                    break;
                } else {
                    matcher.accept(&[mask[random.below(mask.len())]]).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_place_that_no_token_leads_on_from_has_an_empty_mask_and_can_be_left_by_rolling_back() {
    let tokens: Vec<&[u8]> = vec![b"a", b"b", b""];
    let borrowed: Vec<Bytes> = tokens.iter().map(|token| Bytes::borrow(token)).collect();
    let parts = VocabularyParts {
        tokens: borrowed.as_ptr(),
        token_count: borrowed.len(),
        stop_ids: &2,
        stop_count: 1,
        encode: None,
        encode_context: std::ptr::null(),
    };
    let vocabulary = Arc::new(unsafe { Shared::create(&parts).unwrap() });
    let mut matcher = grammar_of(&vocabulary, GrammarKind::Regex, "ac|bb").matcher().unwrap();
    matcher.accept(&[0]).unwrap();
    for _ in 0..2 {
        assert_eq!(allowed(&mut matcher), [0u32; 0]);
        assert!(matcher.accept(&[1]).is_err());
    }
    matcher.roll_back(1).unwrap();
    matcher.accept(&[1, 1]).unwrap();
    assert_eq!(allowed(&mut matcher), [2]);
}

#[test]
fn sources_that_are_wrong_are_refused_with_what_is_wrong() {
    let cases = [
        (GrammarKind::Regex, "", Status::Invalid, "the regular expression is empty"),
        (GrammarKind::Regex, "a\n(b", Status::Invalid, "line 2, column 1: unclosed group"),
        (GrammarKind::Lark, "start: a b", Status::Invalid, "Lark grammar: line 1, column "),
        (GrammarKind::Regex, "a[^\\s\\S]", Status::Invalid, "no text matches"),
        (GrammarKind::JsonSchema, "false", Status::Invalid, "no text matches"),
        (GrammarKind::JsonSchema, "[]", Status::Invalid, "neither an object"),
        (GrammarKind::JsonSchema, r##"{"$ref": "#"}"##, Status::Invalid, "no text matches"),
        (
            GrammarKind::Lark,
            "root ::= \"a\"\n",
            Status::NotSupported,
            "line 1, column 1: this is GBNF",
        ),
        (
            GrammarKind::JsonSchema,
            "{\"type\": ",
            Status::Invalid,
            "JSON schema: EOF while parsing a value at line 1 column 9",
        ),
        (GrammarKind::JsonSchema, "{\"type\": \"strin\"}", Status::Invalid, "JSON schema: "),
        (
            GrammarKind::JsonSchema,
            "{\"type\": \"array\", \"uniqueItems\": true}",
            Status::NotSupported,
            "\"uniqueItems\" is not supported (at #)",
        ),
        (
            GrammarKind::JsonSchema,
            "{\"$ref\": \"https://example.com/schema.json\"}",
            Status::NotSupported,
            "\"https://example.com/schema.json\", which names another document",
        ),
    ];
    for (kind, source, status, words) in cases {
        let failure = refusal(kind, source);
        assert_eq!(failure.status, status, "{source}: {}", failure.message);
        assert!(failure.message.contains(words), "{source}: {}", failure.message);
        assert!(!failure.message.contains("<non"), "{}", failure.message);
    }
}

pub fn accepts(grammar: &Grammar, text: &str) -> bool {
    let mut matcher = grammar.matcher().unwrap();
    matcher.accept(&ids(text)).is_ok() && matcher.may_end()
}

#[test]
fn numbers_are_accepted_exactly_within_their_bounds() {
    let vocabulary = vocabulary();
    for seed in 0..400 {
        let mut random = Random(seed);
        let mut number = |digits: u32| {
            let scale = 10f64.powi(random.below(digits as usize + 1) as i32);
            let size = [20, 2_000, 2_000_000][random.below(3)];
            (random.below(size) as f64 - (size / 2) as f64) / scale
        };
        let (low, high) = (number(3), number(3));
        let texts: Vec<f64> = (0..60).map(|_| number(4)).chain([low, high, 0.0]).collect();
        let is_integer = random.below(2) == 0;
        let is_open = random.below(2) == 0;
        let multiple = [0.5, 3.0, 1.0][random.below(3)];
        let schema = serde_json::json!({
            "type": if is_integer { "integer" } else { "number" },
            if is_open { "exclusiveMinimum" } else { "minimum" }: low,
            "maximum": high,
            "multipleOf": multiple,
        });
        let grammar = compile(&vocabulary, GrammarKind::JsonSchema, &schema.to_string());
        for value in texts {
            let is_valid = if is_open { value > low } else { value >= low }
                && value <= high
                && (!is_integer || value.fract() == 0.0)
                && (value / multiple).fract() == 0.0;
            let text = format!("{value}");
            let is_accepted = grammar.as_ref().is_ok_and(|grammar| accepts(grammar, &text));
            assert_eq!(is_accepted, is_valid, "seed {seed}, {schema}: {text}");
        }
    }
}

#[test]
fn another_spelling_of_a_name_is_no_way_around_its_schema() {
    let schema = r#"{"properties": {"a": {"type": "integer"}, "b\nc": {"type": "integer"}}}"#;
    let grammar = grammar_of(&vocabulary(), GrammarKind::JsonSchema, schema);
    for (text, wanted) in [
        (r#"{"a":1,"b\nc":2}"#, true),
        (r#"{"d":"x"}"#, true),
        (r#"{"a":"x"}"#, false),
        (r#"{"\u0061":"x"}"#, false),
        (r#"{"d":1,"a":"x"}"#, false),
        (r#"{"b\u000ac":"x"}"#, false),
        (r#"{"a":1,"a":"x"}"#, false),
    ] {
        assert_eq!(accepts(&grammar, text), wanted, "{text}");
    }
}

#[test]
fn a_pattern_applies_anywhere_unless_it_says_where() {
    for (pattern, wanted) in [
        ("^a|b", vec!["a", "b", "xb", "bx", "ax", "ac", "bc", "xbc"]),
        ("a$|^b", vec!["a", "b", "bx", "xa", "bc"]),
        ("(a|^b)c", vec!["ac", "bc", "xac"]),
        ("^(a|b)$", vec!["a", "b"]),
        ("", vec!["", "a", "b", "xa", "xb", "bx", "ax", "ac", "bc", "xac", "xbc"]),
    ] {
        let schema = serde_json::json!({"type": "string", "pattern": pattern}).to_string();
        let grammar = grammar_of(&vocabulary(), GrammarKind::JsonSchema, &schema);
        for text in ["", "a", "b", "xa", "xb", "bx", "ax", "ac", "bc", "xac", "xbc"] {
            let is_accepted = accepts(&grammar, &format!("\"{text}\""));
            assert_eq!(is_accepted, wanted.contains(&text), "{pattern}: {text}");
        }
    }
}

#[test]
fn a_lark_grammar_matches_its_texts_and_no_others() {
    let texts = ["a", "b", "c", "ax", "ab", "aa", "aaa", "A", "foo;", "a;b;", "abc!b", "abc!", ""];
    let cases: [(&str, Vec<&str>); 8] = [
        ("start: \"a\" b\nb: /x|y/", vec!["ax"]),
        ("start: A\nA: \"a\"..\"c\"", vec!["a", "b", "c"]),
        ("start: [x] \"b\"\nx: \"a\"", vec!["b", "ab"]),
        ("start: \"a\"~2..3", vec!["aa", "aaa"]),
        ("start: x\nx[lazy]: /.*;/", vec!["foo;"]),
        ("start: a \"b\"\na[suffix=\"!\"]: /[a-z]*/", vec!["abc!b"]),
        ("?start: \"a\"i | _x?\n_x: \"b\"", vec!["a", "b", "A", ""]),
        ("start: %json {\"const\": 1}", vec![]),
    ];
    for (source, wanted) in cases {
        let grammar = grammar_of(&vocabulary(), GrammarKind::Lark, source);
        for text in texts {
            assert_eq!(accepts(&grammar, text), wanted.contains(&text), "{source}: {text}");
        }
    }
}

pub fn hostile() -> Vec<(&'static str, GrammarKind, String)> {
    use GrammarKind::{JsonSchema, Lark, Regex};
    let list = |count: usize, separator: &str, each: &dyn Fn(usize) -> String| {
        (0..count).map(each).collect::<Vec<_>>().join(separator)
    };
    vec![
        ("parentheses", Regex, "(".repeat(30_000) + &")".repeat(30_000)),
        ("repeats of repeats", Regex, "((a{1000}){1000}){1000}".to_owned()),
        ("repeats of options", Regex, "(((a?){100}){100}){100}b".to_owned()),
        ("empty choices", Regex, format!("({})", "a|".repeat(100_000))),
        ("late differences", Regex, "(.*a.{200})|(.*b.{200})|(.*c.{200})".to_owned()),
        (
            "Lark parentheses",
            Lark,
            format!("start: {}\"a\"{}", "(".repeat(30_000), ")".repeat(30_000)),
        ),
        ("ambiguous", Lark, "start: start start | start start start | \"a\"".to_owned()),
        ("2,000 choices", Lark, format!("start: {}", "(\"a\" | \"b\"?)+ ".repeat(2_000))),
        ("14,000 choices", Lark, format!("start: {}", "(\"a\" | \"b\"?)+ ".repeat(14_000))),
        ("40,000 options", Lark, format!("start: {}", "\"a\"? ".repeat(40_000))),
        ("18,000 literals", Lark, format!("start: {}", "(\"a\"|\"bc\") ".repeat(18_000))),
        ("16,000 repeats", Lark, format!("start: {}", "/a[bc]{0,50}x/ ".repeat(16_000))),
        (
            "a chain of rules",
            Lark,
            list(12_000, "\n", &|i| format!("r{i}: \"a\" r{}?", i + 1))
                + "\nr12000: \"b\"\nstart: r0",
        ),
        (
            "12,000 terminals",
            Lark,
            list(12_000, "\n", &|i| format!("T{i}: /a{{{i}}}b/"))
                + "\nstart: "
                + &list(12_000, "|", &|i| format!("T{i}")),
        ),
        (
            "recursion in a row",
            Lark,
            "start: x x x x x x\nx: \"a\"? x? \"b\"? x? | \"c\"".to_owned(),
        ),
        ("a long gap", Lark, "start: /(a|aa|aaa|aaaa)*(b|bb)*.{0,3000}c/".to_owned()),
        (
            "70,000 values",
            JsonSchema,
            format!("{{\"enum\":[{}]}}", list(70_000, ",", &|i| format!("\"v{i}\""))),
        ),
        (
            "25,000 values",
            JsonSchema,
            format!("{{\"enum\":[{}]}}", list(25_000, ",", &|i| format!("\"v{i}\""))),
        ),
        ("brackets", JsonSchema, "[".repeat(200_000)),
        (
            "9,000 properties",
            JsonSchema,
            format!(
                "{{\"properties\":{{{}}}}}",
                list(9_000, ",", &|i| format!("\"p{i}\":{{\"type\":\"number\"}}"))
            ),
        ),
        (
            "5,000 objects",
            JsonSchema,
            format!(
                "{{\"anyOf\":[{}]}}",
                list(5_000, ",", &|i| format!(
                    "{{\"properties\":{{\"p{i}\":{{\"type\":\"number\"}}}}}}"
                ))
            ),
        ),
        ("itself", JsonSchema, r##"{"$ref": "#"}"##.to_owned()),
        (
            "a cycle",
            JsonSchema,
            r##"{"$defs": {"a": {"$ref": "#/$defs/b"},
            "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}"##
                .to_owned(),
        ),
        (
            "an infinite array",
            JsonSchema,
            r##"{"type": "array", "items": {"$ref": "#"}, "minItems": 1}"##.to_owned(),
        ),
        (
            "a pattern",
            JsonSchema,
            r#"{"type": "string", "pattern": "^(a{0,1000}){0,1000}$"}"#.to_owned(),
        ),
        ("a long string", JsonSchema, r#"{"type": "string", "minLength": 100000000}"#.to_owned()),
        (
            "brackets in a chain of rules",
            Lark,
            "start: r0\n".to_owned()
                + &list(4_000, "\n", &|i| {
                    format!("r{i}: {}r{}{}", "(".repeat(25), i + 1, ")".repeat(25))
                })
                + "\nr4000: \"b\"",
        ),
        (
            "a chain of terminals",
            Lark,
            "start: T0\nA: \"a\"\n".to_owned()
                + &list(990, "\n", &|i| format!("T{i}: T{} A", i + 1))
                + "\nT990: \"b\"",
        ),
        (
            "an error far down",
            Lark,
            "start: r0\n".to_owned()
                + &list(990, "\n", &|i| format!("r{i}: \"a\" r{}", i + 1))
                + "\nr990: missing",
        ),
        (
            "a chain of references",
            JsonSchema,
            format!(
                "{{\"$ref\":\"#/$defs/a0\",\"$defs\":{{{},\"a7000\":true}}}}",
                list(7_000, ",", &|i| format!("\"a{i}\":{{\"$ref\":\"#/$defs/a{}\"}}", i + 1))
            ),
        ),
        (
            "deep references",
            JsonSchema,
            format!(
                "{{\"$ref\":\"#/$defs/a0\",\"$defs\":{{{},\"a400\":true}}}}",
                list(400, ",", &|i| format!(
                    "\"a{i}\":{}{{\"$ref\":\"#/$defs/a{}\"}}{}",
                    "{\"items\":".repeat(60),
                    i + 1,
                    "}".repeat(60)
                ))
            ),
        ),
        (
            "25 patterns to join",
            JsonSchema,
            format!(
                "{{\"type\":\"string\",\"allOf\":[{}]}}",
                list(25, ",", &|i| format!("{{\"pattern\":\"a{i}\"}}"))
            ),
        ),
        (
            "3 patterns of many classes",
            JsonSchema,
            format!(
                "{{\"type\":\"string\",\"allOf\":[{}]}}",
                list(3, ",", &|i| format!(
                    "{{\"pattern\":\"{}\"}}",
                    list(10, "|", &|j| {
                        let letter = |k: usize| char::from(b'a' + (k % 26) as u8);
                        format!("[{}-z]x{}.", letter(i + j), letter(j * 7))
                    })
                ))
            ),
        ),
        (
            "2,000 schemas to join",
            JsonSchema,
            format!(
                "{{\"allOf\":[{}]}}",
                list(2_000, ",", &|i| format!(
                    "{{\"properties\":{{\"p{i}\":{{\"type\":\"number\"}}}}}}"
                ))
            ),
        ),
        (
            "5,000 patterns of names",
            JsonSchema,
            format!(
                "{{\"patternProperties\":{{{}}}}}",
                list(5_000, ",", &|i| format!("\"^a{i}$\":true"))
            ),
        ),
        (
            "5,000 objects to tell apart",
            JsonSchema,
            format!(
                "{{\"oneOf\":[{}]}}",
                list(5_000, ",", &|i| format!(
                    "{{\"required\":[\"a\"],\"properties\":{{\"a\":{{\"const\":{i}}}}}}}"
                ))
            ),
        ),
        (
            "choices to join",
            JsonSchema,
            format!(
                "{{\"allOf\":[{}]}}",
                list(8, ",", &|i| format!(
                    "{{\"anyOf\":[{}]}}",
                    list(60, ",", &|j| format!(
                        "{{\"properties\":{{\"p{i}\":{{\"const\":{j}}}}}}}"
                    ))
                ))
            ),
        ),
        ("many items", JsonSchema, r#"{"type": "array", "minItems": 100000000}"#.to_owned()),
    ]
}

/// A debug build, and a machine with much else to do, take longer.
// Of time that passes: ten times what may be computed, where other threads want the cores.
const COMPILE_MOST: Duration = Duration::from_millis(10_500);

#[test]
fn sources_that_mean_harm_end_in_time_and_so_do_their_masks() {
    let vocabulary = vocabulary();
    for (name, kind, source) in hostile() {
        let begin = Instant::now();
        let outcome = compile(&vocabulary, kind, &source);
        let took = begin.elapsed();
        let said = match outcome {
            Err(failure) => {
                assert_ne!(failure.status, Status::Internal, "{name}: {}", failure.message);
                failure.message
            }
            Ok(grammar) => format!("{} bytes; {}", grammar.bytes(), walk(name, grammar)),
        };
        println!("{name}: {took:?}; {said}");
        assert!(took < COMPILE_MOST, "{name} took {took:?}: {said}");
    }
}

/// A random walk of 200 tokens; each mask is made in bounded time or is an error.
fn walk(name: &str, grammar: Grammar) -> String {
    let mut matcher = grammar.matcher().unwrap();
    let mut slowest = Duration::ZERO;
    let mut random = Random(3);
    for step in 0..200 {
        let begin = Instant::now();
        let mask = mask_of(&mut matcher);
        slowest = slowest.max(begin.elapsed());
        let choices = match mask {
            Ok(choices) => choices,
            Err(failure) => {
                let statuses = [Status::Limit, Status::Timeout];
                assert!(statuses.contains(&failure.status), "{name}: {}", failure.message);
                return format!("mask {step}, {slowest:?}: {}", failure.message);
            }
        };
        if choices.is_empty() || matcher.accept(&[choices[random.below(choices.len())]]).is_err() {
            break;
        }
    }
    format!("slowest mask {slowest:?}; matcher {} bytes", matcher.grown_bytes())
}
