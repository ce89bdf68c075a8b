//! Sets of characters, as a pattern names them: `\s`, `\p{L}`, `[^\r\n]`.

use crate::boundary::{Failure, Outcome, Status};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// A set that answers in constant time for the characters of the first plane.
pub struct CharacterSet {
    first_plane: Box<[u64; 1024]>,
    beyond: Vec<(char, char)>,
}

impl CharacterSet {
    pub fn new(class: &ClassUnicode) -> Self {
        let mut first_plane = Box::new([0u64; 1024]);
        let mut beyond = Vec::new();
        for range in class.ranges() {
            let last = (range.end() as u32).min(0xffff);
            for code in range.start() as u32..=last {
                first_plane[(code >> 6) as usize] |= 1 << (code & 63);
            }
            if range.end() as u32 > 0xffff {
                beyond.push((range.start().max('\u{10000}'), range.end()));
            }
        }
        CharacterSet { first_plane, beyond }
    }

    pub fn contains(&self, character: char) -> bool {
        let code = character as u32;
        if code <= 0xffff {
            return self.first_plane[(code >> 6) as usize] >> (code & 63) & 1 == 1;
        }
        let after = self.beyond.partition_point(|(first, _)| *first <= character);
        after > 0 && character <= self.beyond[after - 1].1
    }
}

pub fn single(character: char) -> ClassUnicode {
    range(character, character)
}

pub fn range(first: char, last: char) -> ClassUnicode {
    ClassUnicode::new([ClassUnicodeRange::new(first, last)])
}

pub fn negated(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

/// The class that regex-syntax has for `text`, which is one escape or one property.
fn looked_up(text: &str) -> Outcome<ClassUnicode> {
    let hir = regex_syntax::parse(text).map_err(|_| unsupported(text))?;
    match hir.into_kind() {
        HirKind::Class(Class::Unicode(class)) => Ok(class),
        HirKind::Class(Class::Bytes(class)) => {
            class.to_unicode_class().ok_or_else(|| unsupported(text))
        }
        HirKind::Literal(literal) => {
            let mut characters = std::str::from_utf8(&literal.0).unwrap_or("").chars();
            characters.next().map(single).ok_or_else(|| unsupported(text))
        }
        _ => Err(unsupported(text)),
    }
}

pub fn unsupported(text: &str) -> Failure {
    Failure::new(Status::NotSupported, format!("\"{text}\" is not supported"))
}

/// `\d`, `\w`, `\s`, `\h` and their opposites in capitals; nothing for another letter.
pub fn escaped_class(letter: char) -> Outcome<Option<ClassUnicode>> {
    let class = match letter.to_ascii_lowercase() {
        'd' => looked_up(r"\p{Nd}")?,
        's' => looked_up(r"\s")?,
        'w' => word()?,
        'h' => looked_up("[0-9A-Fa-f]")?,
        _ => return Ok(None),
    };
    Ok(Some(if letter.is_ascii_uppercase() { negated(class) } else { class }))
}

/// The characters that `\w` and `\b` match outside of a class. Oniguruma uses its table of Latin-1
/// there, which has six characters more.
pub fn word_outside_class() -> Outcome<ClassUnicode> {
    looked_up(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼½¾]")
}

/// The characters of a word by Oniguruma: no joiners, unlike regex-syntax's `\w`.
fn word() -> Outcome<ClassUnicode> {
    looked_up(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]")
}

/// The class of `\p{name}`; `^` before the name turns it around.
pub fn property(name: &str) -> Outcome<ClassUnicode> {
    let (name, turned) = match name.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let plain: String =
        name.chars().filter(|each| each.is_ascii_alphanumeric()).collect::<String>();
    let class = match posix(&plain.to_ascii_lowercase())? {
        Some(class) if !plain.eq_ignore_ascii_case("punct") => class,
        _ => looked_up(&format!(r"\p{{{name}}}"))?,
    };
    Ok(if turned { negated(class) } else { class })
}

/// The class of `[:name:]`, in Unicode as Oniguruma has it; nothing for an unknown name.
pub fn posix(name: &str) -> Outcome<Option<ClassUnicode>> {
    let text = match name {
        "alpha" => r"\p{Alphabetic}",
        "alnum" => r"[\p{Alphabetic}\p{Nd}]",
        "ascii" => r"[\x00-\x7F]",
        "blank" => r"[\t\p{Zs}]",
        "cntrl" => r"\p{Cc}",
        "digit" => r"\p{Nd}",
        "graph" => r"[^\s\p{Cc}\p{Cn}]",
        "lower" => r"\p{Lowercase}",
        "print" => r"[[^\s\p{Cc}\p{Cn}]\p{Zs}]",
        "punct" => r"[\p{P}\p{S}]",
        "space" => r"\s",
        "upper" => r"\p{Uppercase}",
        "word" => r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]",
        "xdigit" => "[0-9A-Fa-f]",
        _ => return Ok(None),
    };
    looked_up(text).map(Some)
}
