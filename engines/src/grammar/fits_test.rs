//! Compares `fits` with the masks of the grammar, and with the JSON Schema standard.

use super::compile::Grammar;
use super::tests::{
    accepts, allowed, grammar_of, hostile, vocabulary, Random, LIMITS, SMALL, WORDS,
};
use super::*;
use serde_json::{json, Value};
use std::time::Duration;

fn of_schema(schema: &Value) -> Grammar {
    grammar_of(&vocabulary(), GrammarKind::JsonSchema, &schema.to_string())
}

fn check(schema: &Value, fitting: &[&str], others: &[&str]) {
    let grammar = of_schema(schema);
    for (texts, wanted) in [(fitting, true), (others, false)] {
        for text in texts {
            assert_eq!(grammar.fits(text.as_bytes()).unwrap(), wanted, "{schema}: {text}");
        }
    }
}

/// The value with its members in any order, and blanks wherever they may stand.
fn respelled(value: &Value, random: &mut Random, out: &mut String) {
    let blanks = |random: &mut Random, out: &mut String| {
        for _ in 0..random.below(4) / 2 {
            out.push([' ', '\n', '\t', '\r'][random.below(4)]);
        }
    };
    blanks(random, out);
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                respelled(item, random, out);
            }
            blanks(random, out);
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            for index in (1..members.len()).rev() {
                members.swap(index, random.below(index + 1));
            }
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                blanks(random, out);
                out.push_str(&json!(name).to_string());
                blanks(random, out);
                out.push(':');
                respelled(member, random, out);
            }
            blanks(random, out);
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
    blanks(random, out);
}

#[test]
fn members_fit_in_any_order_also_inside_choices() {
    let pair = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a", "b"], "additionalProperties": false});
    let fitting =
        [r#"{"a":1,"b":"x"}"#, r#"{"b":"x","a":1}"#, " {\n \"b\" : \"x\" ,\t\"a\":1 }\r\n"];
    let others = [r#"{"b":"x"}"#, r#"{"b":1,"a":"x"}"#, r#"{"b":"x","a":1,"c":2}"#, "[]", "{", ""];
    let wrapped = |before: &str, texts: &[&str], after: &str| -> Vec<String> {
        texts.iter().map(|text| format!("{before}{text}{after}")).collect()
    };
    for schema in [
        pair.clone(),
        json!({"anyOf": [{"type": "null"}, pair]}),
        json!({"oneOf": [{"type": "array", "minItems": 1}, pair]}),
        json!({"allOf": [pair, {"required": ["b"]}]}),
        json!({"$ref": "#/$defs/pair", "$defs": {"pair": pair}}),
    ] {
        check(&schema, &fitting, &others);
        let nested = json!({"type": "array", "items": schema, "$defs": schema.get("$defs")});
        let (fitting, others) = (wrapped("[", &fitting, "]"), wrapped("[", &others[..4], "]"));
        let (fitting, others): (Vec<&str>, Vec<&str>) = (
            fitting.iter().map(String::as_str).collect(),
            others.iter().map(String::as_str).collect(),
        );
        check(&nested, &fitting, &others);
    }
}

#[test]
fn numbers_fit_by_their_value_however_they_are_written() {
    check(
        &json!({"type": "integer"}),
        &["1", "1.0", "-10e-1", "1e400", "123456789012345678901234567890", "0.0e-7"],
        &["1.5", "1e-1", "1.00000000000000000000000000001", "\"1\"", "true", "01", "1."],
    );
    check(
        &json!({"minimum": 0.1, "exclusiveMaximum": 2}),
        &[
            "0.1",
            "1e-1",
            "1.99999999999999999999999999999",
            "0.10000000000000000000001",
            "\"no number\"",
        ],
        &["0.09999999999999999999999999999", "2", "2.0", "20e-1", "-1e999999999999"],
    );
    check(
        &json!({"multipleOf": 0.05}),
        &["0.1", "1e300", "0.35", "-7.10"],
        &["0.01", "0.050000000000000000001"],
    );
    check(&json!({"maximum": 5, "exclusiveMaximum": true}), &["4.9"], &["5", "5.0"]);
    check(&json!({"maximum": 5, "exclusiveMaximum": false}), &["5"], &["5.1"]);
    check(&json!({"const": 1}), &["1", "1.0", "10e-1"], &["1.1", "true", "[1]"]);
    check(
        &json!({"enum": [-0.5, {"a": [0]}]}),
        &["-5e-1", "{\"a\":[-0.0]}"],
        &["0.5", "{\"a\":[]}"],
    );
}

#[test]
fn a_name_that_comes_twice_fits_if_each_of_its_values_does() {
    let schema = json!({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"},
        "required": ["a"], "maxProperties": 2});
    check(
        &schema,
        &[r#"{"a":1,"a":2}"#, r#"{"a":1,"b":null,"\u0062":null}"#],
        &[
            r#"{"a":1,"a":"x"}"#,
            r#"{"a":"x","\u0061":1}"#,
            r#"{"b":null,"b":null}"#,
            r#"{"a":1,"b":null,"c":null}"#,
        ],
    );
    check(
        &json!({"const": {"a": 1}}),
        &[r#"{"a":1,"a":1}"#],
        &[r#"{"a":1,"a":2}"#, r#"{"a":1,"b":1}"#],
    );
}

#[test]
fn strings_fit_by_their_characters_and_not_by_their_spelling() {
    check(
        &json!({"type": "string", "minLength": 2, "maxLength": 3, "pattern": "^\u{e9}|b$"}),
        &["\"\u{e9}a\"", "\"\\u00e9\\n\"", "\"ab\"", "\"a\\ud83d\\ude00b\"", "\"\\u0000b\""],
        &["\"\u{e9}\"", "\"abbb\"", "\"ba\"", "\"\\ud83db\"", "\"a\nb\"", "12"],
    );
    check(
        &json!({"const": "a\"\n"}),
        &["\"a\\\"\\n\"", "\"\\u0061\\u0022\\u000a\""],
        &["\"a\\\"\""],
    );
}

#[test]
fn each_keyword_of_arrays_and_objects_holds() {
    check(
        &json!({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}),
        &["[\"a\"]", "[\"a\",1.0,2]", "{}"],
        &["[]", "[1]", "[\"a\",\"b\"]", "[\"a\",1,2,3]"],
    );
    check(
        &json!({"items": [{"type": "string"}], "additionalItems": false}),
        &["[]", "[\"a\"]"],
        &["[1]", "[\"a\",1]"],
    );
    check(
        &json!({"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false,
            "properties": {"xa": {"maximum": 5}}}),
        &["{}", r#"{"xb":7,"xa":5}"#],
        &[r#"{"xa":6}"#, r#"{"xa":"a"}"#, r#"{"a":1}"#, r#"{"xb":"a"}"#],
    );
    check(&json!({"minProperties": 1}), &[r#"{"a":1}"#, "3"], &["{}"]);
    check(
        &json!({"unevaluatedProperties": false, "properties": {"a": true}}),
        &[r#"{"a":1}"#],
        &[r#"{"b":1}"#],
    );
    check(&json!({"type": ["integer", "null"]}), &["1.0", "null"], &["1.5", "\"\"", "false"]);
    check(&json!({"properties": {"a": false}}), &["{}", r#"{"b":1}"#], &[r#"{"a":1}"#]);
    check(
        &json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        &["\"a\"", "2.0"],
        &["null", "2.5"],
    );
}

#[test]
fn schemas_that_refer_to_themselves_end() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"anyOf": [
        {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"},
            "kind": {"const": "add"}}, "required": ["left", "right", "kind"], "additionalProperties": false},
        {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"},
            "kind": {"const": "sub"}}, "required": ["left", "right", "kind"], "additionalProperties": false},
        {"type": "integer"}]}}});
    let grammar = of_schema(&tree);
    // Each level would double the work if what was asked were asked again.
    let mut deep = "1".to_owned();
    for _ in 0..100 {
        deep = format!(r#"{{"left":{deep},"kind":"sub","right":2}}"#);
    }
    assert!(grammar.fits(deep.as_bytes()).unwrap());
    let wrong = deep.replacen("\"right\":2", "\"right\":\"x\"", 1);
    assert!(!grammar.fits(wrong.as_bytes()).unwrap());
    // A choice of itself adds no text.
    let schema = json!({"$ref": "#/$defs/a", "$defs": {
        "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "integer"}]},
        "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}});
    check(&schema, &["1", "null"], &["\"a\"", "1.5"]);
    check(
        &json!({"type": "array", "items": {"$ref": "#"}, "maxItems": 1}),
        &["[]", "[[[[]]]]"],
        &["[[],[]]", "[1]"],
    );
}

#[test]
fn what_a_mask_leads_to_fits_and_fits_respelled() {
    let vocabulary = vocabulary();
    let more = [
        r#"{"anyOf": [{"type": "object", "properties": {"a": {"enum": [1, 2.5, null]}, "b": {"maxLength": 2, "type": "string"}},
            "required": ["b"]}, {"type": "array", "items": {"type": "integer", "multipleOf": 3, "minimum": -20, "maximum": 90}, "maxItems": 4}]}"#,
        r#"{"type": "object", "patternProperties": {"^a": {"type": "boolean"}}, "minProperties": 1, "maxProperties": 2,
            "additionalProperties": {"type": "number", "exclusiveMinimum": -1.5, "maximum": 10.25}}"#,
        r#"{"type": "array", "prefixItems": [{"const": {"a": [true, "ab"]}}, {"pattern": "^(a|12)+$", "type": "string", "maxLength": 9}],
            "items": false, "minItems": 2}"#,
    ];
    let sources = SMALL.into_iter().chain(more.map(|source| (GrammarKind::JsonSchema, source)));
    for (number, (kind, source)) in sources.enumerate() {
        let grammar = grammar_of(&vocabulary, kind, source);
        let mut ended = 0;
        for seed in 0..300 {
            let mut random = Random(seed * 91 + number as u64);
            let mut matcher = grammar.matcher().unwrap();
            let mut text = Vec::new();
            for _ in 0..60 {
                if matcher.may_end() && random.below(3) == 0 || matcher.is_complete() {
                    break;
                }
                let choices = allowed(&mut matcher);
                let texts: Vec<u32> = choices.into_iter().filter(|id| *id < 265).collect();
                let Some(token) = texts.get(random.below(texts.len().max(1))) else { break };
                matcher.accept(&[*token]).unwrap();
                match token {
                    0..=255 => text.push(*token as u8),
                    _ => text.extend_from_slice(WORDS[*token as usize - 256].as_bytes()),
                }
            }
            let shown = String::from_utf8_lossy(&text).into_owned();
            assert_eq!(
                grammar.fits(&text).unwrap(),
                matcher.may_end(),
                "{source}, seed {seed}: {shown}"
            );
            ended += usize::from(matcher.may_end());
            if !matcher.may_end() || kind != GrammarKind::JsonSchema {
                continue;
            }
            let mut again = String::new();
            respelled(&serde_json::from_slice(&text).unwrap(), &mut random, &mut again);
            assert!(grammar.fits(again.as_bytes()).unwrap(), "{source}: {shown} as {again}");
        }
        assert!(ended > 5, "{source}: {ended} texts ended");
    }
}

/// Texts near `first`: a few of its characters changed, left out or doubled.
fn near(first: &str, letters: &[char], random: &mut Random) -> String {
    let mut text: Vec<char> = first.chars().collect();
    for _ in 0..random.below(4) {
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 => text.insert(at, letters[random.below(letters.len())]),
            1 if at < text.len() => drop(text.remove(at)),
            _ if at < text.len() => text[at] = letters[random.below(letters.len())],
            _ => {}
        }
    }
    text.into_iter().collect()
}

/// A schema of a few keywords, whose objects have their names in the order of the alphabet.
fn random_schema(random: &mut Random, depth: usize) -> Value {
    let number = |random: &mut Random| {
        [json!(-2), json!(0), json!(0.5), json!(1), json!(2.5), json!(7)][random.below(6)].clone()
    };
    let deeper = |random: &mut Random| random_schema(random, depth + 1);
    let kinds = if depth < 3 { 16 } else { 9 };
    match random.below(kinds) {
        0 => json!({"type": "integer", "minimum": number(random), "maximum": 9}),
        1 => json!({"type": "number", "exclusiveMaximum": number(random)}),
        2 => {
            json!({"multipleOf": ([0.5, 2.0, 3.0])[random.below(3)], "maxLength": 1, "maxItems": 1})
        }
        3 => json!({"type": "string", "minLength": random.below(3)}),
        4 => {
            json!({"type": ["string", "null"], "pattern": (["^a", "b$", "^(a|\u{e9})*$"])[random.below(3)]})
        }
        5 => json!({"enum": [1, "ab", null, 2.5, [0], {"a": 1, "b": [true]}]}),
        6 => json!({"const": random_value(random, 1)}),
        7 => {
            [json!({}), json!(true), json!({"type": ["null", "boolean"]})][random.below(3)].clone()
        }
        8 => json!({"$ref": "#/$defs/list"}),
        9 => {
            json!({"type": "array", "items": deeper(random), "minItems": random.below(2), "maxItems": 1 + random.below(3)})
        }
        10 => {
            json!({"prefixItems": [deeper(random)], "items": deeper(random), "type": ["array", "integer"]})
        }
        11 | 12 => {
            let required =
                [json!([]), json!(["a"]), json!(["b"]), json!(["a", "b"])][random.below(4)].clone();
            let others = [json!(false), json!(true), deeper(random)][random.below(3)].clone();
            json!({"type": "object", "properties": {"a": deeper(random), "b": deeper(random)},
                "required": required, "additionalProperties": others})
        }
        13 => {
            json!({"patternProperties": {"^[ab]$": deeper(random)}, "type": "object", "additionalProperties": deeper(random)})
        }
        14 => json!({"anyOf": [deeper(random), deeper(random)]}),
        _ => json!({"allOf": [deeper(random), deeper(random)]}),
    }
}

fn random_value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth < 3 { 9 } else { 6 }) {
        0 => json!(random.below(12) as i64 - 3),
        1 => json!([0.5, 2.5, -1.5][random.below(3)]),
        2 | 3 => json!(["", "a", "ab", "b", "\u{e9}a"][random.below(5)]),
        4 => json!(null),
        5 => json!(random.below(2) == 0),
        6 | 7 => (0..random.below(4)).map(|_| random_value(random, depth + 1)).collect(),
        _ => {
            let names =
                ["a", "b", "c"].into_iter().filter(|_| random.below(3) > 0).collect::<Vec<_>>();
            names.into_iter().map(|name| (name, random_value(random, depth + 1))).collect()
        }
    }
}

#[test]
fn random_schemas_and_their_grammars_agree() {
    let vocabulary = vocabulary();
    let (mut compiled, mut fitting, mut others) = (0, 0, 0);
    for seed in 0..1_500 {
        let mut random = Random(seed);
        let mut schema = random_schema(&mut random, 0);
        let Some(keywords) = schema.as_object_mut() else { continue };
        let list = json!({"list": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/list"}, {"type": "integer"}]}}});
        keywords.insert("$defs".to_owned(), list);
        let source = schema.to_string();
        let Ok(grammar) = Grammar::compile(&vocabulary, GrammarKind::JsonSchema, &source, &LIMITS)
        else {
            continue;
        };
        compiled += 1;
        for _ in 0..60 {
            let text = random_value(&mut random, 0).to_string();
            let fits = grammar.fits(text.as_bytes()).unwrap();
            assert_eq!(fits, accepts(&grammar, &text), "seed {seed}, {source}: {text}");
            *(if fits { &mut fitting } else { &mut others }) += 1;
        }
    }
    assert!(compiled > 800 && fitting > 5_000 && others > 5_000, "{compiled}: {fitting}, {others}");
}

#[test]
fn formats_are_those_of_the_grammar() {
    let vocabulary = vocabulary();
    for (name, texts) in [
        ("date-time", &["2024-02-29T23:59:60Z", "2023-02-28t00:00:00.5+01:00"][..]),
        ("time", &["23:59:60Z", "08:30:06-08:00"]),
        ("date", &["2024-02-29", "1999-12-31"]),
        ("duration", &["P1Y2M3DT4H5M6S", "PT5M", "P4W", "P2M", "PT6S"]),
        ("email", &["a.b+c@d-e.org", "x@[127.0.0.1]", "~|`@0"]),
        ("hostname", &["a-b.c0.org", "0", "a"]),
        ("ipv4", &["127.0.0.1", "255.249.199.99", "0.10.100.200"]),
        ("ipv6", &["::1", "1:2:3:4:5:6:7:8", "1:2::7:8", "a::", "::", "1:2:3:4:5:6:7::"]),
        ("uuid", &["0123abcd-ef01-2345-6789-abcdefABCDEF"]),
        (
            "uri",
            &[
                "http://u:p@a.b:8/c/%20?d=e#f",
                "urn:a:b",
                "x:",
                "file:///a//b",
                "http://[::1]:80/",
                "a:/b",
                "http://[1:2:3::4:5]",
                "h://[v1.a:b]/?/?#/?",
                "mailto:a@b,c@d",
                "a://1.2.3.4",
                "a:b/c//d",
            ],
        ),
    ] {
        let source = json!({"type": "string", "format": name}).to_string();
        let grammar = grammar_of(&vocabulary, GrammarKind::JsonSchema, &source);
        let mut letters: Vec<char> = texts.concat().chars().collect();
        letters.extend(" 0129afgAFGz.:-/?#@[]%_~!\u{e9}".chars());
        let mut random = Random(5);
        let mut fitting = 0;
        for round in 0..6_000 {
            let text = match texts.get(round) {
                Some(text) => (*text).to_owned(),
                None => near(texts[random.below(texts.len())], &letters, &mut random),
            };
            let written = json!(text).to_string();
            let fits = grammar.fits(written.as_bytes()).unwrap();
            assert_eq!(fits, accepts(&grammar, &written), "{name}: {text}");
            assert!(fits || round >= texts.len(), "{name}: {text}");
            fitting += usize::from(fits);
        }
        assert!((300..5_700).contains(&fitting), "{name}: {fitting} of 6,000 fit");
    }
}

#[test]
fn expressions_and_lark_grammars_fit_whole_texts() {
    let vocabulary = vocabulary();
    for (kind, source, fitting, others) in [
        (
            GrammarKind::Regex,
            "[0-9]{4}|ab*",
            &["1234", "a", "abb"][..],
            &["", "123", "12345", "ba", "<|end|>"][..],
        ),
        (GrammarKind::Regex, "(\u{e9}|<)*", &["", "\u{e9}<\u{e9}"], &["e", "\u{c3}"]),
        (GrammarKind::Lark, "start: \"a\" b*\nb: /x|y/", &["a", "axy"], &["", "x", "axz", "ax "]),
        (GrammarKind::Lark, "start: %json {\"type\": \"integer\"}", &["1", "-20"], &["1.0", " 1"]),
    ] {
        let grammar = grammar_of(&vocabulary, kind, source);
        for (texts, wanted) in [(fitting, true), (others, false)] {
            for text in texts {
                assert_eq!(grammar.fits(text.as_bytes()).unwrap(), wanted, "{source}: {text:?}");
            }
        }
        for bytes in [&b"\xff"[..], b"a\xc3", b"\x00"] {
            assert!(!grammar.fits(bytes).unwrap(), "{source}: {bytes:?}");
        }
    }
    let json = of_schema(&json!({}));
    assert!(!json.fits(b"\"\xff\"").unwrap());
    assert!(!json.fits(b"").unwrap());
}

#[test]
fn texts_beyond_a_limit_are_errors_that_name_it() {
    let grammar = of_schema(&json!({"type": ["array", "string"]}));
    let failure_of = |text: &str| grammar.fits(text.as_bytes()).unwrap_err();
    let long = failure_of(&format!("\"{}\"", "a".repeat(LIMITS.text_bytes_max)));
    assert_eq!(long.status, Status::Limit);
    assert_eq!(long.message, "the text has 1048578 bytes (1048576 at most)");
    assert!(grammar.fits(format!("\"{}\"", "a".repeat((1 << 20) - 2)).as_bytes()).unwrap());
    let deep = failure_of(&format!("{}{}", "[".repeat(129), "]".repeat(129)));
    assert_eq!(
        (deep.status, deep.message.as_str()),
        (Status::Limit, "the text is nested deeper than 128")
    );
    assert!(grammar.fits(format!("{}{}", "[".repeat(128), "]".repeat(128)).as_bytes()).unwrap());
}

#[test]
fn texts_that_mean_harm_end_in_time() {
    let strings = |text: &str| format!("[{}1]", text.repeat((1 << 20) / text.len() - 2));
    let texts = [
        format!("\"{}\"", "a".repeat((1 << 20) - 2)),
        format!("\"{}\"", "ab".repeat((1 << 19) - 2)),
        format!("-{}", "1".repeat((1 << 20) - 2)),
        format!("1e{}", "9".repeat((1 << 20) - 3)),
        strings("\"a\","),
        strings("[],"),
        strings("{\"p1\":{}},"),
        format!("{{{}\"\":1}}", (0..60_000).map(|i| format!("\"p{i}\":1,")).collect::<String>()),
        format!("{}{}", "[".repeat(128), "]".repeat(128)),
        "ab".repeat(1 << 19),
        "a".repeat(1 << 20),
    ];
    let vocabulary = vocabulary();
    let chain = |count: usize| -> String {
        let one = |i: usize| {
            format!("\"a{i}\":{{\"anyOf\":[{{\"$ref\":\"#/$defs/a{0}\"}},{{\"$ref\":\"#/$defs/a{0}\"}}]}},", i + 1)
        };
        (0..count).map(one).collect()
    };
    let mut sources = hostile();
    sources.push((
        "doubling choices",
        GrammarKind::JsonSchema,
        format!(
            "{{\"$ref\":\"#/$defs/a0\",\"$defs\":{{{}\"a30\":{{\"type\":\"array\"}}}}}}",
            chain(30)
        ),
    ));
    sources.push((
        "late differences in a string",
        GrammarKind::JsonSchema,
        r#"{"items": {"pattern": "a.{200}c"}}"#.to_owned(),
    ));
    sources.push((
        "late differences",
        GrammarKind::JsonSchema,
        r#"{"pattern": "(a.{150}b)|(b.{150}a)"}"#.to_owned(),
    ));
    for (name, kind, source) in sources {
        let Ok(grammar) = Grammar::compile(&vocabulary, kind, &source, &LIMITS) else { continue };
        for (number, text) in texts.iter().enumerate() {
            let begin = computed();
            let outcome = grammar.fits(text.as_bytes());
            let took = computed() - begin;
            println!("{name}, text {number}: {took:?}; {outcome:?}");
            assert!(took < TIME_MAX, "{name}, text {number} took {took:?}");
            let status = outcome.map_or_else(|failure| failure.status, |_| Status::Ok);
            let may_be = [Status::Ok, Status::Limit, Status::Timeout].contains(&status);
            assert!(may_be, "{name}, text {number}: {status:?}");
        }
    }
}

/// Time of this thread, so that a busy machine fails nothing.
fn computed() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// `fits_us_max`, and what reading 1 MiB of JSON and one step in a large expression take.
const TIME_MAX: Duration = Duration::from_millis(400);
