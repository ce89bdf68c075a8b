//! Reads the patterns that tokenizers cut text with.
//!
//! A tokenizer.json is written for Oniguruma in its Ruby syntax, which other engines silently read
//! in another way. `$` stands before every line end, `{1,3}+` repeats `{1,3}`, and `?+` never gives
//! back. `(?m)` lets `.` match a line end, and `a(?i)b|c` is `a(?i:b|c)`. So the syntax is read
//! here. Unsupported syntax is refused by name: references, calls, conditions, `\X`, `\K` and `\G`.

use crate::boundary::{Failure, Outcome, Status};
use crate::classes::{self, negated, range, single, unsupported};
use regex_syntax::hir::ClassUnicode;

pub const PATTERN_BYTES_MAX: usize = 1 << 16;
/// Groups and classes inside each other; the functions here call themselves for each.
const DEPTH_MAX: usize = 100;
const REPEAT_MAX: u32 = 100_000; // Oniguruma's own limit.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Greedy,
    Lazy,
    Possessive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    TextBegin,
    TextEnd,
    LastLineEnd, // The text's end, or before a line end that ends it.
    LineBegin,
    LineEnd,
    WordEdge,
    NoWordEdge,
}

#[derive(Debug, Clone)]
pub enum Node {
    Class(ClassUnicode),
    Place(Place),
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat { node: Box<Node>, least: u32, most: Option<u32>, kind: Kind },
    Look { node: Box<Node>, behind: bool, negative: bool },
    Atomic(Box<Node>),
}

#[derive(Clone, Copy, Default)]
struct Flags {
    ignore_case: bool,
    dot_matches_line_end: bool,
    extended: bool,
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    flags: Flags,
    depth: usize,
}

/// The pattern as a tree.
pub fn read_pattern(text: &str) -> Outcome<Node> {
    let mut reader = Reader { text, at: 0, flags: Flags::default(), depth: 0 };
    if text.len() > PATTERN_BYTES_MAX {
        return Err(Failure::invalid(format!(
            "a pattern of {} bytes ({PATTERN_BYTES_MAX} at most)",
            text.len()
        )));
    }
    let read = reader.choice().and_then(|node| match reader.peek() {
        None => Ok(node),
        Some(_) => Err(Failure::invalid("\")\" closes nothing")),
    });
    read.map_err(|failure| {
        let at = reader.at;
        Failure::new(failure.status, format!("pattern \"{text}\", byte {at}: {}", failure.message))
    })
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    fn need(&mut self, wanted: &str) -> Outcome<()> {
        if self.take(wanted) {
            return Ok(());
        }
        Err(Failure::invalid(format!("\"{wanted}\" is missing")))
    }

    fn deeper(&mut self) -> Outcome<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Failure::invalid(format!("more than {DEPTH_MAX} groups in each other")));
        }
        Ok(())
    }

    /// Up to a ")" or the end. Flags that are set inside end there too.
    fn choice(&mut self) -> Outcome<Node> {
        self.deeper()?;
        let flags = self.flags;
        let mut choices = vec![self.sequence()?];
        while self.take("|") {
            choices.push(self.sequence()?);
        }
        self.flags = flags;
        self.depth -= 1;
        Ok(if choices.len() == 1 { choices.remove(0) } else { Node::Choice(choices) })
    }

    fn sequence(&mut self) -> Outcome<Node> {
        let mut nodes = Vec::new();
        loop {
            if self.flags.extended {
                self.skip_blanks();
            }
            match self.peek() {
                None | Some('|' | ')') => break,
                Some('*' | '+' | '?') => {
                    return Err(Failure::invalid("nothing stands before the repetition"))
                }
                _ => {}
            }
            if let Some(node) = self.atom()? {
                nodes.push(self.repeated(node)?);
            }
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Sequence(nodes) })
    }

    /// White space and comments, which mean nothing after (?x).
    fn skip_blanks(&mut self) {
        while let Some(next) = self.peek() {
            if next == '#' {
                while !matches!(self.next(), None | Some('\n')) {}
            } else if next.is_ascii_whitespace() {
                self.next();
            } else {
                break;
            }
        }
    }

    /// Nothing for a comment.
    fn atom(&mut self) -> Outcome<Option<Node>> {
        let Some(first) = self.next() else { return Ok(None) };
        Ok(Some(match first {
            '(' => return self.group(),
            '[' => Node::Class(self.class(true)?),
            '.' if self.flags.dot_matches_line_end => Node::Class(range('\0', char::MAX)),
            '.' => Node::Class(negated(single('\n'))),
            '^' => Node::Place(Place::LineBegin),
            '$' => Node::Place(Place::LineEnd),
            '\\' => self.escape()?,
            _ => Node::Class(self.folded(single(first))?),
        }))
    }

    fn folded(&self, mut class: ClassUnicode) -> Outcome<ClassUnicode> {
        if self.flags.ignore_case {
            class.try_case_fold_simple().map_err(|error| Failure::invalid(error.to_string()))?;
        }
        Ok(class)
    }

    fn group(&mut self) -> Outcome<Option<Node>> {
        if self.take("?#") {
            while !matches!(self.next(), None | Some(')')) {}
            return Ok(None);
        }
        for (begin, behind, negative) in
            [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)]
        {
            if self.take(begin) {
                let node = Box::new(self.choice()?);
                self.need(")")?;
                return Ok(Some(Node::Look { node, behind, negative }));
            }
        }
        if self.take("?>") {
            let node = Box::new(self.choice()?);
            self.need(")")?;
            return Ok(Some(Node::Atomic(node)));
        }
        if self.take("?<") {
            while !matches!(self.next(), None | Some('>')) {} // A name; nothing refers to it.
        } else if self.take("?") && !self.take(":") {
            return self.flag_group();
        }
        let node = self.choice()?;
        self.need(")")?;
        Ok(Some(node))
    }

    /// `(?i-m:...)`, or `(?i)`, which makes a group of all that follows up to the next ")".
    fn flag_group(&mut self) -> Outcome<Option<Node>> {
        let before = self.flags;
        let mut on = true;
        loop {
            match self.next() {
                Some('-') => on = false,
                Some('i') => self.flags.ignore_case = on,
                Some('m') => self.flags.dot_matches_line_end = on,
                Some('x') => self.flags.extended = on,
                Some(':') => {
                    let node = self.choice()?;
                    self.need(")")?;
                    self.flags = before;
                    return Ok(Some(node));
                }
                Some(')') => {
                    let node = self.choice()?;
                    self.flags = before;
                    return Ok(Some(node));
                }
                Some(other) => return Err(unsupported(&format!("(?{other}"))),
                None => return Err(Failure::invalid("a group is not closed")),
            }
        }
    }

    fn repeated(&mut self, mut node: Node) -> Outcome<Node> {
        loop {
            let begin = self.at;
            let (least, most, is_interval) = match self.peek() {
                Some('*') => (0, None, false),
                Some('+') => (1, None, false),
                Some('?') => (0, Some(1), false),
                Some('{') => match self.interval()? {
                    Some((least, most)) => (least, most, true),
                    None => return Ok(node),
                },
                _ => return Ok(node),
            };
            if !is_interval {
                self.next();
            }
            if matches!(node, Node::Look { .. } | Node::Place(_)) {
                self.at = begin;
                return Err(Failure::invalid("what is repeated here matches no character"));
            }
            let swapped = most.is_some_and(|most| most < least);
            let (least, most) =
                if swapped { (most.unwrap_or(0), Some(least)) } else { (least, most) };
            // After an interval "+" is a repetition of its own; "{n}?" makes all of it optional.
            let fixed = is_interval && most == Some(least);
            let kind = if swapped {
                Kind::Possessive
            } else if !fixed && self.take("?") {
                Kind::Lazy
            } else if !is_interval && self.take("+") {
                Kind::Possessive
            } else {
                Kind::Greedy
            };
            node = Node::Repeat { node: Box::new(node), least, most, kind };
        }
    }

    /// `{2}`, `{2,}`, `{2,4}` or `{,4}`; nothing, and nothing read, for what is only a brace.
    fn interval(&mut self) -> Outcome<Option<(u32, Option<u32>)>> {
        let Some(end) = self.rest().find('}') else { return Ok(None) };
        let inside = &self.rest()[1..end];
        let number = |text: &str| -> Option<u32> {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(u32::MAX))
        };
        let (least, most) = match inside.split_once(',') {
            None => (number(inside), number(inside)),
            Some(("", most)) => (Some(0), number(most)),
            Some((least, "")) => (number(least), None),
            Some((least, most)) => match (number(least), number(most)) {
                (Some(least), Some(most)) => (Some(least), Some(most)),
                _ => (None, None),
            },
        };
        let open = inside.ends_with(',');
        let Some(least) = least else { return Ok(None) };
        if most.is_none() && !open {
            return Ok(None);
        }
        if least.max(most.unwrap_or(0)) > REPEAT_MAX {
            return Err(Failure::invalid(format!("a repetition of more than {REPEAT_MAX}")));
        }
        self.at += end + 1;
        Ok(Some((least, most)))
    }

    /// Parses the text after a backslash outside of a class.
    fn escape(&mut self) -> Outcome<Node> {
        let place = match self.peek() {
            Some('A') => Place::TextBegin,
            Some('z') => Place::TextEnd,
            Some('Z') => Place::LastLineEnd,
            Some('b') => Place::WordEdge,
            Some('B') => Place::NoWordEdge,
            Some('R') => {
                self.next();
                return self.line_end();
            }
            _ => return Ok(Node::Class(self.escape_outside_class()?)),
        };
        self.next();
        Ok(Node::Place(place))
    }

    fn escape_outside_class(&mut self) -> Outcome<ClassUnicode> {
        for (text, turned) in [("w", false), ("W", true), ("p{Word}", false), ("P{Word}", true)] {
            if self.take(text) {
                let word = classes::word_outside_class()?;
                return Ok(if turned { negated(word) } else { word });
            }
        }
        self.escaped_class()
    }

    fn line_end(&mut self) -> Outcome<Node> {
        let both = Node::Sequence(vec![Node::Class(single('\r')), Node::Class(single('\n'))]);
        let mut one = range('\n', '\r');
        one.union(&single('\u{85}'));
        one.union(&range('\u{2028}', '\u{2029}'));
        Ok(Node::Atomic(Box::new(Node::Choice(vec![both, Node::Class(one)]))))
    }

    /// Parses the text after a backslash, inside a class or outside.
    fn escaped_class(&mut self) -> Outcome<ClassUnicode> {
        let Some(letter) = self.next() else {
            return Err(Failure::invalid("the pattern ends with a backslash"));
        };
        if matches!(letter, 'p' | 'P') && self.take("{") {
            let Some(end) = self.rest().find('}') else {
                return Err(Failure::invalid("\\p{ is not closed"));
            };
            let class = classes::property(&self.rest()[..end])?;
            self.at += end + 1;
            return Ok(if letter == 'P' { negated(class) } else { class });
        }
        if let Some(class) = classes::escaped_class(letter)? {
            return Ok(class);
        }
        let character = match letter {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'f' => '\u{c}',
            'v' => '\u{b}',
            'a' => '\u{7}',
            'e' => '\u{1b}',
            'x' | 'u' => self.coded(letter)?,
            '0' => self.octal(),
            'p' | 'P' | 'q' => letter,
            _ if letter.is_ascii_alphanumeric() => {
                return Err(unsupported(&format!("\\{letter}")));
            }
            _ => letter,
        };
        self.folded(single(character))
    }

    /// `\x41`, `\x{1F600}` or `\u0041`.
    fn coded(&mut self, letter: char) -> Outcome<char> {
        let braced = letter == 'x' && self.take("{");
        let most = if braced {
            8
        } else if letter == 'x' {
            2
        } else {
            4
        };
        let digits: String =
            self.rest().chars().take(most).take_while(char::is_ascii_hexdigit).collect();
        self.at += digits.len();
        if braced {
            self.need("}")?;
        }
        let code = u32::from_str_radix(&digits, 16).ok();
        let whole = letter == 'x' || digits.len() == 4;
        // Two digits are a byte, and one of 0x80 on would be a part of a character.
        let known = code.filter(|code| whole && (letter == 'u' || braced || *code < 0x80));
        known
            .and_then(char::from_u32)
            .ok_or_else(|| Failure::invalid(format!("\\{letter}{digits} names no character")))
    }

    fn octal(&mut self) -> char {
        let digits: String =
            self.rest().chars().take(2).take_while(|each| ('0'..='7').contains(each)).collect();
        self.at += digits.len();
        char::from_u32(u32::from_str_radix(&digits, 8).unwrap_or(0)).unwrap_or('\0')
    }

    /// After "[": ranges, escapes, classes and "&&" up to the "]". Case is ignored for the outermost
    /// class as a whole, before "^" turns it around.
    fn class(&mut self, outermost: bool) -> Outcome<ClassUnicode> {
        self.deeper()?;
        let turned = self.take("^");
        let mut met: Option<ClassUnicode> = None; // What stood before "&&".
        let mut class = ClassUnicode::empty();
        let begin = self.at;
        loop {
            let first = self.at == begin;
            if self.take("&&") {
                met = Some(intersection(met, &class));
                class = ClassUnicode::empty();
                continue;
            }
            match self.peek() {
                None => return Err(Failure::invalid("a class is not closed")),
                // A "]" that comes first is one of the class, if another closes it.
                Some(']') if !first || !self.rest()[1..].contains(']') => break,
                _ => class.union(&self.class_item()?),
            }
        }
        if self.at == begin {
            return Err(Failure::invalid("the class is empty"));
        }
        self.next();
        self.depth -= 1;
        let mut class = intersection(met, &class);
        if outermost {
            class = self.folded(class)?;
        }
        Ok(if turned { negated(class) } else { class })
    }

    fn class_item(&mut self) -> Outcome<ClassUnicode> {
        if self.take("[:") {
            if let Some(end) = self.rest().find(":]") {
                let name = self.rest()[..end].to_owned();
                let (plain, turned) = match name.strip_prefix('^') {
                    Some(plain) => (plain, true),
                    None => (name.as_str(), false),
                };
                if let Some(class) = classes::posix(plain)? {
                    self.at += end + 2;
                    return Ok(if turned { negated(class) } else { class });
                }
            }
            self.at -= 2;
        }
        if self.take("[") {
            return self.class(false);
        }
        let first = self.class_character()?;
        let is_range = self.rest().starts_with('-') && !self.rest()[1..].starts_with(']');
        let Some(low) = the_one(&first).filter(|_| is_range) else { return Ok(first) };
        self.next();
        if self.rest().starts_with('[') || self.rest().starts_with("&&") {
            let mut class = first;
            class.union(&single('-'));
            return Ok(class);
        }
        let last = self.class_character()?;
        match the_one(&last) {
            Some(high) if low <= high => Ok(range(low, high)),
            Some(_) => Err(Failure::invalid("a range ends before it begins")),
            None => Err(Failure::invalid("a range ends with a class")),
        }
    }

    fn class_character(&mut self) -> Outcome<ClassUnicode> {
        match self.next() {
            // Folding is done for the whole class, so that ranges keep their ends.
            Some('\\') if self.take("b") => Ok(single('\u{8}')),
            Some('\\') => {
                let flags = std::mem::take(&mut self.flags);
                let class = self.escaped_class();
                self.flags = flags;
                class
            }
            Some(character) => Ok(single(character)),
            None => Err(Failure::new(Status::Invalid, "a class is not closed")),
        }
    }
}

fn intersection(met: Option<ClassUnicode>, class: &ClassUnicode) -> ClassUnicode {
    match met {
        None => class.clone(),
        Some(mut both) => {
            both.intersect(class);
            both
        }
    }
}

/// The only character of a class that holds one.
fn the_one(class: &ClassUnicode) -> Option<char> {
    match class.ranges() {
        [only] if only.start() == only.end() => Some(only.start()),
        _ => None,
    }
}
