//! Words beside those of Oniguruma, which the Python package of tokenizers matches with, cut by the
//! library's own code.

use super::*;
use tokenizers::tokenizer::normalizer::NormalizedString;
use tokenizers::tokenizer::pattern::Invert;
use tokenizers::PreTokenizer;
use SplitDelimiterBehavior::{Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed};

/// As `utils/onig.rs` of the library has it, which is compiled in for Python only.
struct Oniguruma(onig::Regex);

impl Pattern for &Oniguruma {
    fn find_matches(&self, inside: &str) -> tokenizers::Result<Vec<Part>> {
        if inside.is_empty() {
            return Ok(vec![((0, 0), false)]);
        }
        let (mut done, mut parts) = (0, Vec::new());
        for (begin, end) in self.0.find_iter(inside) {
            if done != begin {
                parts.push(((done, begin), false));
            }
            parts.push(((begin, end), true));
            done = end;
        }
        if done != inside.len() {
            parts.push(((done, inside.len()), false));
        }
        Ok(parts)
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % count
    }

    fn one_of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

/// Parts of the patterns of published tokenizers.
const ALTERNATIVES: &[&str] = &[
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"'(?i:[sdmt]|ll|ve|re)",
    r"'s|'t|'re|'ve|'m|'ll|'d",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"[^\r\n\p{L}\p{N}]?+\p{L}++",
    r" ?\p{L}+",
    r"[\p{L}\p{M}]+",
    r"\p{N}",
    r"\p{N}{1,3}",
    r"\p{N}{1,3}+",
    r" ?\p{N}+",
    r" ?[^\s\p{L}\p{N}]+",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"\s*[\r\n]+",
    r"\s*[\r\n]",
    r"\s*[\r\n]++",
    r"\s+(?!\S)",
    r"\s+(?=\S)",
    r"\s{2,}(?!\S)",
    r"\s+",
    r"\s",
    r"\s++$",
    r"\s+$",
    r"\s*\z",
    concat!(
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    ),
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
    r"[\p{Lu}\p{M}&&[^\p{Han}]]+",
    r"\p{Han}+",
    r"(?=(\d{3})+(?!\d))",
    r"\d{1,3}(?=(?:\d{3})*\b)",
    r"(?<=\p{L})\p{N}",
    r"(?<!\s)[.<]",
    r"[\r\n]",
    r"\R",
    r"^\s+",
    r"(?m:.)\n",
    r".{1,4}",
    r"[A-Z]?[a-z]+",
    r"[!-/:-~]+",
    r"[[:punct:]]+",
    r"\p{L}\p{M}*(?: \p{L}\p{M}*)*",
    r"(?>\s+)a",
    r"a(?i)s|T",
    r"\b",
    r"(?:\s|a)*\n",
    r"\s*?\n",
    r"a*",
    r"(?=s)",
    r"\p{Lu}?",
    "[一-龥぀-ゟ゠-ヿ]+",
    " ?[^(\\s|.,!?…。，、।۔،)]+",
];

/// One of each kind that patterns treat differently.
const SAMPLE: &str =
    "  \n\n\t\r\u{b}\u{85}\u{a0}\u{3000}asStTzÉǅé11234½٣.'’<(\u{301}中あ한ʰ😀\u{200d}";

fn random_text(random: &mut Random, most: usize) -> String {
    let sample: Vec<char> = SAMPLE.chars().collect();
    (0..random.below(most)).map(|_| sample[random.below(sample.len())]).collect()
}

fn published_like(random: &mut Random) -> String {
    let count = 1 + random.below(6);
    (0..count).map(|_| random.one_of(ALTERNATIVES)).collect::<Vec<_>>().join("|")
}

/// Any pattern of small parts, so that each kind of step meets each other.
fn composed(random: &mut Random) -> String {
    const ATOMS: &[&str] = &[
        r"\s",
        r"\S",
        r"[\r\n]",
        r"\p{L}",
        "a",
        " ",
        "(?:a| )",
        r"(?:\s|\n)",
        r"[^\n]",
        ".",
        r"\d",
        r"(?>a|\s)",
        "(?:a|)",
        r"(?:\p{L}\d)",
    ];
    const REPEATS: &[&str] = &[
        "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{1,2}", "{2}", "{2}+",
        "{,2}",
    ];
    const LOOKS: &[&str] = &[
        r"(?!\S)",
        r"(?=\s)",
        r"(?!a)",
        r"(?=\p{L}+\s)",
        r"(?<=\s)",
        r"(?<!a)",
        "$",
        "^",
        r"\b",
        r"\B",
        r"\z",
        r"\A",
        r"\Z",
        r"(?!\s*\n)",
        r"(?=(?:a| )*\n)",
    ];
    let mut text = String::new();
    for alternative in 0..1 + random.below(3) {
        if alternative > 0 {
            text.push('|');
        }
        for _ in 0..1 + random.below(3) {
            text += random.one_of(ATOMS);
            text += random.one_of(REPEATS);
            if random.below(4) == 0 {
                text += random.one_of(LOOKS);
            }
        }
    }
    text
}

fn words_of(words: &Words, text: &str) -> Vec<String> {
    let mut all = Vec::new();
    words
        .cut(text, &mut |word| {
            all.push(word.to_owned());
            Ok(())
        })
        .unwrap();
    all
}

fn library_words(
    pattern: impl Pattern,
    behavior: SplitDelimiterBehavior,
    invert: bool,
    text: &str,
) -> Vec<String> {
    let whole = NormalizedString::from(text);
    let parts = match invert {
        true => whole.split(Invert(pattern), behavior),
        false => whole.split(pattern, behavior),
    };
    let texts = parts.unwrap().into_iter().map(|part| part.get().to_owned());
    texts.filter(|part| !part.is_empty()).collect()
}

#[test]
fn ten_thousand_patterns_cut_as_pythons_tokenizers_does() {
    let behaviors = [Isolated, Removed, MergedWithPrevious, MergedWithNext, Contiguous];
    let mut random = Random(29);
    let (mut pairs, mut words) = (0, 0);
    for index in 0..10_000 {
        let pattern = match index % 2 {
            0 => published_like(&mut random),
            _ => composed(&mut random),
        };
        let theirs = Oniguruma(onig::Regex::new(&pattern).expect(&pattern));
        let behavior = behaviors[random.below(4).min(random.below(5))];
        let invert = random.below(4) == 0;
        let mut ours = Words::default();
        ours.add_pattern(&pattern, behavior, invert).unwrap_or_else(|error| panic!("{error:?}"));
        for _ in 0..4 {
            let text = random_text(&mut random, 24);
            let right = library_words(&theirs, behavior, invert, &text);
            let got = words_of(&ours, &text);
            assert_eq!(got, right, "{index}: {pattern} {behavior:?} {invert} on {text:?}");
            pairs += 1;
            words += right.len();
        }
    }
    println!("10000 patterns, {pairs} pairs of pattern and text, {words} words equal");
}

#[test]
fn published_patterns_cut_as_the_librarys_own_step_does() {
    let published = [
        BYTE_LEVEL_PATTERN,
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}",
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
        concat!(
            r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}",
            r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
        ),
    ];
    let mut random = Random(7);
    for pattern in published {
        let ours = Words::from_patterns([pattern]).unwrap();
        let split = tokenizers::pre_tokenizers::split::SplitPattern::Regex(pattern.to_owned());
        let step = tokenizers::pre_tokenizers::split::Split::new(split, Isolated, false).unwrap();
        for _ in 0..10_000 {
            let text = random_text(&mut random, 24);
            let mut work = tokenizers::PreTokenizedString::from(text.as_str());
            step.pre_tokenize(&mut work).unwrap();
            let parts = work
                .get_splits(tokenizers::OffsetReferential::Original, tokenizers::OffsetType::Byte);
            let right: Vec<_> = parts.into_iter().map(|(part, _, _)| part.to_owned()).collect();
            assert_eq!(words_of(&ours, &text), right, "{text:?}");
        }
    }
}

/// Only characters that Oniguruma's older tables do not know may differ.
#[test]
fn classes_hold_what_they_hold_for_oniguruma() {
    let classes = [
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"\d",
        r"\h",
        r"\p{L}",
        r"\p{N}",
        r"\p{M}",
        r"\p{P}",
        r"\p{S}",
        r"\p{Z}",
        r"\p{Lu}",
        r"\p{Ll}",
        r"\p{Lt}",
        r"\p{Lm}",
        r"\p{Lo}",
        r"\p{Mn}",
        r"\p{Nd}",
        r"\p{Sc}",
        r"\p{Sm}",
        r"\p{Pd}",
        r"\p{Cc}",
        r"\p{Cf}",
        r"\p{Han}",
        r"\p{Hiragana}",
        r"\p{Katakana}",
        r"\p{Hangul}",
        r"\p{Latin}",
        r"\p{Cyrillic}",
        r"\p{Arabic}",
        r"\p{Thai}",
        r"\p{^L}",
        r"\P{L}",
        r"\p{Letter}",
        r"\p{Alpha}",
        r"\p{Alnum}",
        r"\p{Upper}",
        r"\p{Lower}",
        r"\p{Punct}",
        r"\p{Space}",
        r"\p{Digit}",
        r"\p{Word}",
        r"\p{Blank}",
        r"\p{Cntrl}",
        r"\p{Graph}",
        r"\p{Print}",
        r"\p{XDigit}",
        r"\p{ASCII}",
        "[[:alpha:]]",
        "[[:alnum:]]",
        "[[:punct:]]",
        "[[:space:]]",
        "[[:upper:]]",
        "[[:lower:]]",
        "[[:digit:]]",
        "[[:word:]]",
        "[[:blank:]]",
        "[[:cntrl:]]",
        "[[:graph:]]",
        "[[:print:]]",
        "[[:xdigit:]]",
        "[[:^alpha:]]",
        "(?i:k)",
        "(?i:s)",
        "(?i:[^a-z])",
        r"[^\S\n]",
        r"[\w-]",
        "[]a]",
        r"(?i:\p{Lu})",
        r"(?i:[\p{Lu}])",
        r"(?i:[^\p{Lu}])",
        "(?i:[a-c&&[^B]])",
        "(?i:[[A-C]&&[^B]])",
        "[a-z&&[^b]]",
        "[a~~b]",
        r"[a\-z]",
        r"\x41",
        r"\x{1F600}",
        r"\u0041",
        r"\e",
        r"\060",
        r"[\b]",
        ".",
        "(?m:.)",
    ];
    let every: Vec<char> = ('\0'..=char::MAX).collect();
    let unknown = onig::Regex::new(r"\A\p{Cn}").unwrap();
    let mut buffer = [0; 4];
    for class in classes {
        let theirs = onig::Regex::new(&format!(r"\A(?:{class})")).unwrap();
        let ours = WordPattern::new(&format!(r"\A(?:{class})")).unwrap();
        for character in &every {
            let text = &*character.encode_utf8(&mut buffer);
            let right = theirs.find(text).is_some();
            let got = Matcher::new(&ours.program, text).find(0).unwrap().is_some();
            if got != right {
                assert!(unknown.find(text).is_some(), "{class}: {character:?} {got}");
            }
        }
    }
}

#[test]
fn a_megabyte_takes_time_in_proportion() {
    let patterns = [
        r"\s*[\r\n]+|\s",
        r"(?:\s|x)*[\r\n]+|\s",
        r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        r"(?=(\d{3})+(?!\d))",
        r"\s+(?=\s*\n)|\s",
        r"(?>(?:1 ?)+)x|.",
        r"\s*?\n|\s",
        r"(?:a?){20}a{20}|.",
        r"(?:(?:a+)+)+b|a",
        r"(a|aa)+$|.",
        r"(?:\s+\s*)*[^\s]x|\s",
    ];
    for pattern in patterns {
        let words = Words::from_patterns([pattern]).unwrap();
        for unit in [" ", "1", "a", "\n"] {
            let mut text = unit.repeat(1 << 20);
            text.push('!');
            let began = std::time::Instant::now();
            let mut bytes = 0;
            words
                .cut(&text, &mut |word| {
                    bytes += word.len();
                    Ok(())
                })
                .unwrap();
            assert_eq!(bytes, text.len());
            let seconds = began.elapsed().as_secs_f64();
            println!("{pattern} on 1 MiB of {unit:?}: {seconds:.2} s");
            assert!(seconds < 20.0, "{pattern} on 1 MiB of {unit:?}: {seconds} s");
        }
    }
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    for (pattern, wanted) in [
        (r"(a)\1", r#"pattern "(a)\1", byte 5: "\1" is not supported"#),
        (r"\X", r#"pattern "\X", byte 2: "\X" is not supported"#),
        (r"a\Kb", r#"pattern "a\Kb", byte 3: "\K" is not supported"#),
        ("(?s).", r#"pattern "(?s).", byte 3: "(?s" is not supported"#),
        (
            "(?<=a+)b",
            r#"pattern "(?<=a+)b": a look-behind of more than one length is not supported"#,
        ),
        (r"\p{Nonsense}", r#"pattern "\p{Nonsense}", byte 3: "\p{Nonsense}" is not supported"#),
        ("*a", r#"pattern "*a", byte 0: nothing stands before the repetition"#),
        ("(a", r#"pattern "(a", byte 2: ")" is missing"#),
        ("a)", r#"pattern "a)", byte 1: ")" closes nothing"#),
        ("[a", r#"pattern "[a", byte 2: a class is not closed"#),
        ("[]", r#"pattern "[]", byte 1: the class is empty"#),
        ("(?!a)*", r#"pattern "(?!a)*", byte 5: what is repeated here matches no character"#),
        ("(?:ab){9999}{9}", "pattern \"(?:ab){9999}{9}\": a pattern of more than 20000 steps"),
    ] {
        let refused = WordPattern::new(pattern).err().expect(pattern);
        assert_eq!(refused.message, wanted);
    }
    let deep = "(".repeat(100_000);
    assert!(WordPattern::new(&deep).err().unwrap().message.contains("bytes"));
    let deep = format!("{}a{}", "(?:".repeat(200), ")".repeat(200));
    assert!(WordPattern::new(&deep).err().unwrap().message.contains("more than 100 groups"));
}
