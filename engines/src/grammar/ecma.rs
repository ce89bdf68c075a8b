//! Regular expressions of JSON schemas, which are JavaScript's, in the syntax that the library reads.
//!
//! Most of the two is alike. Here differ: `.`, `\s`, `\d` and `\w` match other characters, brackets
//! and `&&` inside a class mean something else, and some escapes and braces are errors.

use std::iter::Peekable;
use std::str::Chars;

/// JavaScript's white space and line ends, for the inside of a class.
const SPACES: &str =
    r"\x{9}-\x{d} \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
const WORD: &str = "0-9A-Za-z_";
const DIGIT: &str = "0-9";

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    made: String,
}

/// The meaning of one step of a class, or of an escape.
enum Atom {
    Character(char),
    /// Contents of a class, and whether it is all else.
    Class(&'static str, bool),
    /// A property of Unicode, `\p{...}`, as the library spells it.
    Property(String),
}

/// Whether a string that a grammar writes can hold this character. The library gets it wrong where an
/// expression allows no other one.
pub fn is_writable(character: char) -> bool {
    let has_short_escape = matches!(character, '\u{8}' | '\t' | '\n' | '\u{c}' | '\r');
    has_short_escape || (character >= ' ' && character != '\u{7f}')
}

fn unwritable(character: char) -> String {
    format!("the control character {character:?} cannot be written")
}

/// The error says what is not supported.
pub fn to_rust_pattern(pattern: &str) -> Result<String, String> {
    let mut reader = Reader { rest: pattern.chars().peekable(), made: String::new() };
    while let Some(character) = reader.rest.next() {
        reader.step(character)?;
    }
    Ok(reader.made)
}

fn literal(character: char, made: &mut String) {
    if character.is_ascii_alphanumeric() || !character.is_ascii() {
        made.push(character);
    } else {
        made.push_str(&format!(r"\x{{{:x}}}", u32::from(character)));
    }
}

impl Atom {
    fn write(&self, inside_class: bool, made: &mut String) {
        match self {
            Atom::Character(character) => literal(*character, made),
            Atom::Class(contents, false) if inside_class => made.push_str(contents),
            Atom::Class(contents, false) => made.push_str(&format!("[{contents}]")),
            Atom::Class(contents, true) => made.push_str(&format!("[^{contents}]")),
            Atom::Property(text) => made.push_str(text),
        }
    }
}

impl Reader<'_> {
    fn step(&mut self, character: char) -> Result<(), String> {
        match character {
            '.' => self.made.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '\\' => match self.escape(false)? {
                Atom::Character(character) if !is_writable(character) => {
                    return Err(unwritable(character));
                }
                atom => atom.write(false, &mut self.made),
            },
            '[' => return self.class(),
            '(' => return self.group(),
            '{' => return self.braces(),
            '^' | '$' | ')' | '|' | '*' | '+' | '?' => self.made.push(character),
            other if !is_writable(other) => return Err(unwritable(other)),
            other => literal(other, &mut self.made),
        }
        Ok(())
    }

    /// After "(".
    fn group(&mut self) -> Result<(), String> {
        self.made.push('(');
        if self.rest.peek() != Some(&'?') {
            return Ok(());
        }
        self.rest.next();
        match self.rest.next() {
            Some(':') => self.made.push_str("?:"),
            Some('<') if !matches!(self.rest.peek(), Some('=' | '!')) => {
                // The name of a group; nothing refers to it.
                if !self.rest.any(|character| character == '>') {
                    return Err("the name of a group has no end".to_owned());
                }
            }
            Some('=' | '!' | '<') => return Err("look-around is not supported".to_owned()),
            _ => return Err("\"(?\" must begin \"(?:\" or \"(?<name>\"".to_owned()),
        }
        Ok(())
    }

    /// After "{": a count of repeats, or a brace.
    fn braces(&mut self) -> Result<(), String> {
        let ahead: String = self.rest.clone().take_while(|character| *character != '}').collect();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_count = match ahead.split_once(',') {
            Some((low, high)) => is_number(low) && (high.is_empty() || is_number(high)),
            None => is_number(&ahead),
        };
        let ends = self.rest.clone().nth(ahead.chars().count()) == Some('}');
        if !is_count || !ends {
            literal('{', &mut self.made);
            return Ok(());
        }
        self.made.push_str(&format!("{{{ahead}}}"));
        self.rest.nth(ahead.chars().count());
        Ok(())
    }

    /// After "[".
    fn class(&mut self) -> Result<(), String> {
        let is_rest = self.rest.next_if_eq(&'^').is_some();
        if self.rest.next_if_eq(&']').is_some() {
            if !is_rest {
                return Err("\"[]\", which matches nothing, is not supported".to_owned());
            }
            self.made.push_str("(?s:.)");
            return Ok(());
        }
        self.made.push_str(if is_rest { "[^" } else { "[" });
        let mut is_writable_class = is_rest;
        loop {
            match self.rest.next() {
                None => return Err("a class (\"[\") has no end".to_owned()),
                Some(']') => break,
                Some(character) => is_writable_class |= self.class_part(character)?,
            }
        }
        if !is_writable_class {
            return Err("a class of control characters cannot be written".to_owned());
        }
        self.made.push(']');
        Ok(())
    }

    /// One character, class or range. Whether it has a character that can be written.
    fn class_part(&mut self, character: char) -> Result<bool, String> {
        let low = self.class_atom(character)?;
        low.write(true, &mut self.made);
        let Atom::Character(first) = low else { return Ok(true) };
        let mut after = self.rest.clone();
        let is_range = after.next() == Some('-') && !matches!(after.next(), Some(']') | None);
        if !is_range {
            return Ok(is_writable(first));
        }
        self.rest.next();
        let character = self.rest.next().ok_or("a class (\"[\") has no end")?;
        let high = self.class_atom(character)?;
        match high {
            Atom::Character(_) => self.made.push('-'),
            _ => literal('-', &mut self.made),
        }
        high.write(true, &mut self.made);
        Ok(match high {
            Atom::Character(last) => (first..=last).take(0x80).any(is_writable),
            _ => true,
        })
    }

    fn class_atom(&mut self, character: char) -> Result<Atom, String> {
        match character {
            '\\' => self.escape(true),
            other => Ok(Atom::Character(other)),
        }
    }

    /// After "\".
    fn escape(&mut self, inside_class: bool) -> Result<Atom, String> {
        let Some(character) = self.rest.next() else {
            return Err("\"\\\" is the last character".to_owned());
        };
        Ok(match character {
            'd' => Atom::Class(DIGIT, false),
            'D' => Atom::Class(DIGIT, true),
            'w' => Atom::Class(WORD, false),
            'W' => Atom::Class(WORD, true),
            's' => Atom::Class(SPACES, false),
            'S' => Atom::Class(SPACES, true),
            'n' => Atom::Character('\n'),
            'r' => Atom::Character('\r'),
            't' => Atom::Character('\t'),
            'f' => Atom::Character('\u{c}'),
            'v' => Atom::Character('\u{b}'),
            'b' if inside_class => Atom::Character('\u{8}'),
            '0' if !matches!(self.rest.peek(), Some('0'..='9')) => Atom::Character('\0'),
            'c' => match self.rest.next() {
                Some(letter) if letter.is_ascii_alphabetic() => {
                    Atom::Character(char::from(letter as u8 & 0x1f))
                }
                _ => return Err("\"\\c\" needs a letter".to_owned()),
            },
            'x' => Atom::Character(self.number(2).and_then(char::from_u32).ok_or(BAD_NUMBER)?),
            'u' => Atom::Character(self.unicode().ok_or(BAD_NUMBER)?),
            'p' | 'P' => self.property(character)?,
            'b' | 'B' => return Err("\"\\b\", a word's border, is not supported".to_owned()),
            'k' | '1'..='9' => return Err("references to groups are not supported".to_owned()),
            other if other.is_ascii_alphanumeric() => {
                return Err(format!("\"\\{other}\" is not an escape"));
            }
            other => Atom::Character(other),
        })
    }

    fn number(&mut self, digit_count: usize) -> Option<u32> {
        let mut number = 0;
        for _ in 0..digit_count {
            number = number * 16 + self.rest.next()?.to_digit(16)?;
        }
        Some(number)
    }

    /// After "\u": "{1F600}", "00e9", or two halves of a character, "d83d\ude00".
    fn unicode(&mut self) -> Option<char> {
        if self.rest.next_if_eq(&'{').is_some() {
            let text: String =
                self.rest.by_ref().take_while(|character| *character != '}').collect();
            return char::from_u32(u32::from_str_radix(&text, 16).ok()?);
        }
        let high = self.number(4)?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high);
        }
        if self.rest.next()? != '\\' || self.rest.next()? != 'u' {
            return None;
        }
        let low = self.number(4)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)
    }

    fn property(&mut self, kind: char) -> Result<Atom, String> {
        if self.rest.next_if_eq(&'{').is_none() {
            return Err(format!("\"\\{kind}\" needs a name in braces"));
        }
        let name: String = self.rest.by_ref().take_while(|character| *character != '}').collect();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '=');
        if name.is_empty() || !is_name {
            return Err(format!("\"\\{kind}{{{name}}}\" is not a property of characters"));
        }
        Ok(Atom::Property(format!("\\{kind}{{{name}}}")))
    }
}

const BAD_NUMBER: &str = "\"\\x\" and \"\\u\" need the hexadecimal number of a character";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_written_as_the_library_reads_it() {
        for (pattern, wanted) in [
            ("^ab+$", "^ab+$"),
            ("a.b", r"a[^\n\r\x{2028}\x{2029}]b"),
            (r"\d\D\w", "[0-9][^0-9][0-9A-Za-z_]"),
            ("[a[b]", r"[a\x{5b}b]"),
            ("[a&&b]", r"[a\x{26}\x{26}b]"),
            ("[a-z-]", r"[a-z\x{2d}]"),
            ("[+--]", r"[\x{2b}-\x{2d}]"),
            (r"[\w-a]", r"[0-9A-Za-z_\x{2d}a]"),
            (r"[^\D]", "[^[^0-9]]"),
            ("[^]", "(?s:.)"),
            ("a{2}b{2,}c{2,3}", "a{2}b{2,}c{2,3}"),
            ("a{x}{", r"a\x{7b}x\x{7d}\x{7b}"),
            (r"\u00e9\ud83d\ude00\u{1F600}\x41\cJ[\0a]", r"é😀😀A\x{a}[\x{0}a]"),
            ("(?<year>a)(?:b)", "(a)(?:b)"),
            (r"\/\-\.", r"\x{2f}\x{2d}\x{2e}"),
            (r"\p{Letter}[\P{Lu}]", r"\p{Letter}[\P{Lu}]"),
        ] {
            assert_eq!(to_rust_pattern(pattern).unwrap(), wanted, "{pattern}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_refused_by_name() {
        for (pattern, words) in [
            ("(?=a)", "look-around"),
            ("(?<!a)", "look-around"),
            (r"a\b", "border"),
            (r"(a)\1", "references"),
            (r"\Z", "not an escape"),
            ("[]", "matches nothing"),
            ("[a", "no end"),
            ("a\\", "last character"),
            (r"\ud83d", "hexadecimal"),
            ("(?i)a", "must begin"),
            (r"a\0", "cannot be written"),
            (r"a[\0-\x07\x0b]", "cannot be written"),
        ] {
            let why = to_rust_pattern(pattern).unwrap_err();
            assert!(why.contains(words), "{pattern}: {why}");
        }
    }
}
