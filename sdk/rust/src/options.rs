//! The options of a program, each declared once.
use crate::json::quoted;
use crate::{Error, GenerateOptions, Json, Prompt, Result};
use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

/// The options that a program reads from its command line: a struct whose default values are
/// theirs.
///
/// ```
/// use quire::Options;
///
/// #[derive(Options)]
/// struct Program {
///     /// What is asked
///     #[option(words, required)]
///     question: String,
///     /// Answers
///     #[option(range = 1..=64, default = 4)]
///     count: u32,
///     /// How the answers sound
///     #[option(choices = ["plain", "grand"], default = "plain")]
///     tone: String,
///     /// In capital letters
///     loud: bool,
/// }
///
/// let words = ["--count=3", "What", "is", "it?"].map(String::from);
/// let program: Program = quire::OptionReader::options_of(&words).unwrap();
/// assert_eq!((program.question.as_str(), program.count), ("What is it?", 3));
/// assert_eq!((program.tone.as_str(), program.loud), ("plain", false));
/// ```
///
/// [`derive(Options)`](derive.Options.html) implements this trait and `Default`. By hand, each option is declared in
/// `read`, with the member that it sets:
///
/// ```
/// # use quire::{OptionReader, Options};
/// #[derive(Default)]
/// struct Program {
///     count: u32,
/// }
/// impl Options for Program {
///     fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
///         reader.number("count", &mut self.count, "Answers", 0..=64);
///     }
/// }
/// ```
///
/// Parser, defaults, errors and the JSON schema that `quire build` writes to the module come from
/// the one declaration; `quire run PROGRAM --help` prints it.
pub trait Options: Default {
    /// Declares each option with the member that it sets.
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>);
}

/// A type of numbers that options may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that an option can be",
    note = "a range belongs to an option of the types u8, u16, u32, u64, usize, i32, i64, f32 and f64"
)]
pub trait OptionNumber: Copy + PartialOrd + Display + FromStr + 'static {
    /// Whether it has no fraction.
    const IS_WHOLE: bool;
    /// The least value.
    const LEAST: Self;
    /// The largest value.
    const MOST: Self;
}
macro_rules! option_numbers {
    ($($kind:ty: $whole:literal),*) => {$(
        impl OptionNumber for $kind {
            const IS_WHOLE: bool = $whole;
            const LEAST: $kind = <$kind>::MIN;
            const MOST: $kind = <$kind>::MAX;
        }
    )*};
}
option_numbers!(u8: true, u16: true, u32: true, u64: true, usize: true, i32: true, i64: true, f32: false, f64: false);

/// A type that a field of `#[derive(Options)]` may have.
#[diagnostic::on_unimplemented(
    message = "an option cannot be a `{Self}`",
    note = "an option is a String, an Option<String>, a Vec<String>, a bool, a number (u8, u16, u32, u64, usize, i32, i64, \
            f32, f64), a Prompt, GenerateOptions, or a struct that implements Options"
)]
pub trait OptionValue {
    /// Declares the option that sets this value. A value that has options of its own declares those.
    fn declare<'a>(
        &'a mut self,
        reader: &mut OptionReader<'a>,
        name: &'static str,
        meaning: &'static str,
    );
}
macro_rules! option_values {
    ($($kind:ty: |$value:ident, $reader:ident, $name:ident, $meaning:ident| $declare:expr;)*) => {$(
        impl OptionValue for $kind {
            fn declare<'a>(
                &'a mut self,
                $reader: &mut OptionReader<'a>,
                $name: &'static str,
                $meaning: &'static str,
            ) {
                let $value = self;
                $declare;
            }
        }
    )*};
}
option_values!(
    String: |value, reader, name, meaning| reader.text(name, value, meaning);
    Option<String>: |value, reader, name, meaning| reader.optional_text(name, value, meaning);
    Vec<String>: |value, reader, name, meaning| reader.texts(name, value, meaning);
    bool: |value, reader, name, meaning| reader.flag(name, value, meaning);
    GenerateOptions: |value, reader, _name, _meaning| reader.generation(value);
    Prompt: |value, reader, _name, _meaning| value.read(reader);
);
macro_rules! option_value_numbers {
    ($($kind:ty),*) => {$(option_values!(
        $kind: |value, reader, name, meaning| reader.number(name, value, meaning, ..);
    );)*};
}
option_value_numbers!(u8, u16, u32, u64, usize, i32, i64, f32, f64);
impl<T: Options> OptionValue for T {
    fn declare<'a>(&'a mut self, reader: &mut OptionReader<'a>, _: &'static str, _: &'static str) {
        self.read(reader);
    }
}

/// The default of a list, as `#[derive(Options)]` writes it.
#[doc(hidden)]
pub fn texts_of<const COUNT: usize>(texts: [&str; COUNT]) -> Vec<String> {
    texts.map(String::from).to_vec()
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Texts,
    Flag,
    Whole,
    Real,
}

struct Declared<'a> {
    name: &'static str,
    kind: Kind,
    meaning: &'static str,
    choices: &'static [&'static str], // Of a text; empty: any text.
    /// Takes a value; false: it is none of the option's.
    assign: Box<dyn FnMut(&str) -> bool + 'a>,
    limits: Option<(String, String)>,
    default: String, // As JSON.
    is_required: bool,
    takes_words: bool,
    is_given: bool,
}

/// Declares and reads options. On the command line an option is `--name VALUE` or `--name=VALUE`, a flag is
/// `--name`, and `--` ends the options. Of several values of one option the last counts, but `texts` takes all.
///
/// Errors are `invalid-argument`: they name the option, what was given and what may be; for an unknown
/// option also the one that is spelled most alike.
#[derive(Default)]
pub struct OptionReader<'a> {
    options: Vec<Declared<'a>>,
}

impl<'a> OptionReader<'a> {
    /// The options that `T` declares, read from the words of a command line.
    pub fn options_of<T: Options>(words: &[String]) -> Result<T> {
        let mut options = T::default();
        let mut reader = OptionReader::default();
        options.read(&mut reader);
        reader.parse(words)?;
        drop(reader);
        Ok(options)
    }

    /// The JSON schema of the options that `T` declares.
    pub(crate) fn schema_of<T: Options>() -> String {
        let mut options = T::default();
        let mut reader = OptionReader::default();
        options.read(&mut reader);
        reader.schema()
    }

    /// A text.
    pub fn text(
        &mut self,
        name: &'static str,
        into: &'a mut String,
        meaning: &'static str,
    ) -> &mut Self {
        let default = if into.is_empty() { String::new() } else { quoted(into) };
        self.add(name, Kind::Text, meaning, default, move |value| {
            *into = value.to_string();
            true
        })
    }
    /// A text that may be absent.
    pub fn optional_text(
        &mut self,
        name: &'static str,
        into: &'a mut Option<String>,
        meaning: &'static str,
    ) -> &mut Self {
        self.add(name, Kind::Text, meaning, String::new(), move |value| {
            *into = Some(value.to_string());
            true
        })
    }
    /// A text that may be given several times; what is there is the default.
    pub fn texts(
        &mut self,
        name: &'static str,
        into: &'a mut Vec<String>,
        meaning: &'static str,
    ) -> &mut Self {
        let mut is_first = true;
        self.add(name, Kind::Texts, meaning, String::new(), move |value| {
            if std::mem::take(&mut is_first) {
                into.clear();
            }
            into.push(value.to_string());
            true
        })
    }
    /// The same as `text`, or the words that belong to no option, joined with blanks. One at most.
    pub fn words(
        &mut self,
        name: &'static str,
        into: &'a mut String,
        meaning: &'static str,
    ) -> &mut Self {
        self.text(name, into, meaning);
        self.options.last_mut().expect("it was declared").takes_words = true;
        self
    }
    /// A text that is one of `choices`.
    pub fn choice(
        &mut self,
        name: &'static str,
        into: &'a mut String,
        meaning: &'static str,
        choices: &'static [&'static str],
    ) -> &mut Self {
        let default = if into.is_empty() { String::new() } else { quoted(into) };
        self.add(name, Kind::Text, meaning, default, move |value| {
            *into = value.to_string();
            choices.contains(&value)
        });
        self.options.last_mut().expect("it was declared").choices = choices;
        self
    }
    /// True when it is given.
    pub fn flag(
        &mut self,
        name: &'static str,
        into: &'a mut bool,
        meaning: &'static str,
    ) -> &mut Self {
        let default = if *into { "true".to_string() } else { String::new() };
        self.add(name, Kind::Flag, meaning, default, move |_| {
            *into = true;
            true
        })
    }
    /// A number within `range`, as in `1..=64`; `..` for any.
    pub fn number<T: OptionNumber>(
        &mut self,
        name: &'static str,
        into: &'a mut T,
        meaning: &'static str,
        range: impl RangeBounds<T>,
    ) -> &mut Self {
        let end = |bound: Bound<&T>, otherwise: T| match bound {
            Bound::Included(value) => *value,
            Bound::Unbounded => otherwise,
            Bound::Excluded(_) => panic!("the range of --{name} has both its ends, as in 1..=64"),
        };
        let (least, most) = (end(range.start_bound(), T::LEAST), end(range.end_bound(), T::MOST));
        let is_limited = T::IS_WHOLE || least != T::LEAST || most != T::MOST;
        let kind = if T::IS_WHOLE { Kind::Whole } else { Kind::Real };
        let default = into.to_string();
        self.add(name, kind, meaning, default, move |value| match value.parse::<T>() {
            // Rust reads "inf" and "+1" too.
            Ok(number) if number >= least && number <= most && is_number(value) => {
                *into = number;
                true
            }
            _ => false,
        });
        if is_limited {
            self.options.last_mut().expect("it was declared").limits =
                Some((least.to_string(), most.to_string()));
        }
        self
    }
    /// How a text is generated: --max-tokens, --temperature and the like.
    pub fn generation(&mut self, into: &'a mut GenerateOptions) -> &mut Self {
        self.number("max-tokens", &mut into.max_tokens, "Tokens of a text at most", ..);
        self.number(
            "temperature",
            &mut into.temperature,
            "0: always the most probable token",
            0.0..=1e6,
        );
        self.number(
            "top-k",
            &mut into.top_k,
            "Draw among this many of the most probable tokens; 0: among all",
            ..,
        );
        self.number(
            "top-p",
            &mut into.top_p,
            "Draw among the tokens that together hold this share",
            0.0..=1.0,
        );
        self.number(
            "min-p",
            &mut into.min_p,
            "Draw among tokens of this share of the most probable one",
            0.0..=1.0,
        );
        self.number("seed", &mut into.seed, "Another seed draws other tokens", ..);
        self.texts(
            "stop",
            &mut into.stop,
            "A text that ends the generation; may be given several times",
        );
        self.flag("ignore-eos", &mut into.ignore_stop_tokens, "Go on past tokens that end a text")
    }
    /// The option that was declared last must be given.
    pub fn required(&mut self) -> &mut Self {
        self.options
            .last_mut()
            .expect("required() stands behind the option that it is said of")
            .is_required = true;
        self
    }

    fn add(
        &mut self,
        name: &'static str,
        kind: Kind,
        meaning: &'static str,
        default: String,
        assign: impl FnMut(&str) -> bool + 'a,
    ) -> &mut Self {
        if self.options.iter().any(|each| each.name == name) {
            panic!("the option --{name} is declared twice");
        }
        self.options.push(Declared {
            name,
            kind,
            meaning,
            choices: &[],
            assign: Box::new(assign),
            limits: None,
            default,
            is_required: false,
            takes_words: false,
            is_given: false,
        });
        self
    }

    /// Sets what was declared from the words of a command line.
    pub fn parse(&mut self, words: &[String]) -> Result<()> {
        let mut loose: Vec<&str> = Vec::new();
        let mut options_ended = false;
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--").filter(|_| !options_ended) else {
                loose.push(word);
                continue;
            };
            if option.is_empty() {
                options_ended = true;
                continue;
            }
            let (name, given) = match option.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (option, None),
            };
            let Some(at) = self.options.iter().position(|each| each.name == name) else {
                return Err(self.unknown(name));
            };
            let declared = &mut self.options[at];
            let value = match (declared.kind, given) {
                (Kind::Flag, Some(_)) => {
                    return Err(Error::invalid(format!("--{name} takes no value")))
                }
                (Kind::Flag, None) => "",
                (_, Some(value)) => value,
                (_, None) => match words.next() {
                    Some(value) => value,
                    None => {
                        return Err(Error::invalid(format!(
                            "--{name} needs a value: {}",
                            declared.form()
                        )))
                    }
                },
            };
            declared.set(value)?;
        }
        self.take_words(&loose)?;
        match self.options.iter().find(|each| each.is_required && !each.is_given) {
            Some(missing) => {
                Err(Error::invalid(format!("give --{}: {}", missing.name, missing.meaning)))
            }
            None => Ok(()),
        }
    }

    fn take_words(&mut self, words: &[&str]) -> Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        match self.options.iter_mut().find(|each| each.takes_words) {
            None => Err(Error::invalid(format!("{} belongs to no option", quoted(words[0])))),
            Some(taker) if taker.is_given => Err(Error::invalid(format!(
                "give --{} or words of their own, not both",
                taker.name
            ))),
            Some(taker) => taker.set(&words.join(" ")),
        }
    }

    fn unknown(&self, name: &str) -> Error {
        const COMPARED_MAX: usize = 64;
        let compared: String = name.chars().take(COMPARED_MAX).collect();
        let mut fewest = compared.chars().count() / 2 + 1;
        let mut nearest = None;
        for each in &self.options {
            let changes = distance(&compared, each.name);
            if changes < fewest || (changes == fewest && nearest.is_none()) {
                (nearest, fewest) = (Some(each.name), changes);
            }
        }
        let advice = nearest.map(|each| format!("; did you mean --{each}?")).unwrap_or_default();
        Error::invalid(format!(
            "unknown option --{compared}{advice} (quire run PROGRAM --help lists the options)"
        ))
    }

    /// The declared options, as a JSON schema of an object with a member for each.
    pub fn schema(&self) -> String {
        let properties = self.options.iter().map(|each| (each.name, each.schema()));
        let required = self.options.iter().filter(|each| each.is_required).map(|each| each.name);
        Json::object([
            ("type", "object".into()),
            ("properties", Json::object(properties)),
            ("required", required.collect::<Vec<_>>().into()),
            ("additionalProperties", false.into()),
        ])
        .to_string()
    }
}

impl Declared<'_> {
    fn form(&self) -> String {
        if !self.choices.is_empty() {
            return format!("one of {}", self.choices.join(", "));
        }
        let kind = match self.kind {
            Kind::Text | Kind::Texts => return "a text".to_string(),
            Kind::Whole => "a whole number",
            Kind::Real | Kind::Flag => "a number",
        };
        match &self.limits {
            Some((least, most)) => format!("{kind} from {least} to {most}"),
            None => kind.to_string(),
        }
    }

    fn set(&mut self, value: &str) -> Result<()> {
        if !(self.assign)(value) {
            return Err(Error::invalid(format!(
                "--{} must be {}, not {}",
                self.name,
                self.form(),
                quoted(value)
            )));
        }
        self.is_given = true;
        Ok(())
    }

    fn schema(&self) -> Json {
        let kind = match self.kind {
            Kind::Text => "string",
            Kind::Texts => "array",
            Kind::Flag => "boolean",
            Kind::Whole => "integer",
            Kind::Real => "number",
        };
        let mut members: Vec<(&str, Json)> = vec![("type", kind.into())];
        if self.kind == Kind::Texts {
            members.push(("items", Json::object([("type", "string".into())])));
        }
        members.push(("description", self.meaning.into()));
        if !self.choices.is_empty() {
            members.push(("enum", self.choices.to_vec().into()));
        }
        if let Some((least, most)) = &self.limits {
            members.push(("minimum", Json::Number(least.clone())));
            members.push(("maximum", Json::Number(most.clone())));
        }
        if !self.default.is_empty() && !self.is_required {
            // The default is JSON already, which a number writes as it is.
            members.push(("default", Json::Number(self.default.clone())));
        }
        if self.takes_words {
            members.push(("words", true.into()));
        }
        Json::object(members)
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits
        .bytes()
        .all(|each| each.is_ascii_digit() || matches!(each, b'.' | b'e' | b'E' | b'-' | b'+'))
        && !digits.starts_with('+')
        && digits.bytes().any(|each| each.is_ascii_digit())
}

/// How many letters must be added, taken away or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for j in 0..b.len() {
            let changed = diagonal + usize::from(letter != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct All {
        prompt: String,
        system: Option<String>,
        files: Vec<String>,
        depth: u32,
        share: f64,
        any: f64,
        is_loud: bool,
    }
    impl Options for All {
        fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
            self.depth = 2;
            self.files = vec!["default".into()];
            reader.words("prompt", &mut self.prompt, "A prompt");
            reader.optional_text("system", &mut self.system, "Instructions");
            reader.texts("file", &mut self.files, "Files");
            reader.number("depth", &mut self.depth, "Steps", 1..=16);
            reader.number("share", &mut self.share, "A share", 0.0..=1.0);
            reader.number("any", &mut self.any, "Any number", ..);
            reader.flag("loud", &mut self.is_loud, "Loud");
        }
    }
    fn read(words: &[&str]) -> Result<All> {
        OptionReader::options_of(&words.iter().map(|each| each.to_string()).collect::<Vec<_>>())
    }
    fn message(words: &[&str]) -> String {
        read(words).err().expect("an error").message
    }

    #[test]
    fn each_way_to_give_an_option_sets_it() {
        let all = read(&[
            "--depth",
            "3",
            "--share=0.5",
            "--any",
            "-1e3",
            "--loud",
            "--file",
            "a",
            "--file=b",
            "--system",
            "s",
            "two",
            "words",
            "--",
            "--three",
        ])
        .unwrap();
        assert_eq!((all.depth, all.share, all.any, all.is_loud), (3, 0.5, -1e3, true));
        assert_eq!((all.prompt.as_str(), all.system.as_deref()), ("two words --three", Some("s")));
        assert_eq!(all.files, ["a", "b"]);
        let none = read(&[]).unwrap();
        assert_eq!((none.depth, none.files.len(), none.system), (2, 1, None));
    }

    /// Options that the attributes of fields declare.
    #[derive(crate::Options)]
    struct Derived {
        /// The question,
        /// in words.
        #[option(words, default = "why?")]
        question: String,
        /// Answers
        #[option(range = 1..=64, default = 4)]
        answer_count: u32,
        /// A share
        #[option(range = 0.0..=1.0, default = 0.5)]
        pub share: f64,
        /// Steps
        #[option(range = -3..)]
        step: i64,
        /// How it sounds
        #[option(choices = ["plain", "grand"], default = "plain")]
        tone: String,
        #[option(name = "file", default = ["a", "b"])]
        pub(crate) files: Vec<String>,
        system: Option<String>,
        is_loud: bool,
        prompt: Inner,
        #[option(default = GenerateOptions::max_tokens(7))]
        generate: GenerateOptions,
    }
    #[derive(crate::Options)]
    struct Inner {
        /// How deep
        #[option(required)]
        depth: u8,
    }

    #[test]
    fn a_derived_struct_has_the_options_of_its_fields() {
        let read = |words: &[&str]| {
            let words = words.iter().map(|each| each.to_string()).collect::<Vec<_>>();
            OptionReader::options_of::<Derived>(&words)
        };
        let none = read(&["--depth", "2"]).unwrap();
        assert_eq!((none.question.as_str(), none.answer_count, none.share), ("why?", 4, 0.5));
        assert_eq!((none.step, none.tone.as_str(), none.files.len()), (0, "plain", 2));
        assert_eq!((none.system, none.is_loud, none.prompt.depth), (None, false, 2));
        assert_eq!(none.generate.max_tokens, 7);
        let all = read(&["--depth=9", "who?", "--file", "c", "--tone=grand", "--is-loud"]).unwrap();
        assert_eq!((all.question.as_str(), all.files), ("who?", vec!["c".to_string()]));
        assert!(all.is_loud && all.tone == "grand");
        let message = |words: &[&str]| read(words).err().expect("an error").message;
        assert_eq!(
            message(&["--tone", "shrill"]),
            "--tone must be one of plain, grand, not \"shrill\""
        );
        assert!(message(&["--answer-count", "65"]).contains("a whole number from 1 to 64"));
        assert_eq!(message(&[]), "give --depth: How deep");
        let schema = Json::parse(&OptionReader::schema_of::<Derived>()).unwrap();
        assert_eq!(
            schema["properties"]["question"].to_string(),
            r#"{"type":"string","description":"The question, in words","default":"why?","words":true}"#
        );
        assert_eq!(
            schema["properties"]["tone"].to_string(),
            r#"{"type":"string","description":"How it sounds","enum":["plain","grand"],"default":"plain"}"#
        );
    }

    #[test]
    fn wrong_words_are_refused_with_what_may_be() {
        assert_eq!(
            message(&["--depth", "17"]),
            "--depth must be a whole number from 1 to 16, not \"17\""
        );
        assert_eq!(
            message(&["--depth", "x"]),
            "--depth must be a whole number from 1 to 16, not \"x\""
        );
        for each in ["nan", "inf", "+1", "", " 1", "1 ", "0x1", "1e", "-"] {
            assert!(message(&["--any", each]).contains("--any must be a number"), "{each}");
        }
        assert_eq!(
            message(&["--share", "1.5"]),
            "--share must be a number from 0 to 1, not \"1.5\""
        );
        assert_eq!(message(&["--depth"]), "--depth needs a value: a whole number from 1 to 16");
        assert_eq!(message(&["--loud=1"]), "--loud takes no value");
        assert_eq!(message(&["--promt", "x"]),
            "unknown option --promt; did you mean --prompt? (quire run PROGRAM --help lists the options)");
        assert_eq!(
            message(&["--prompt", "x", "y"]),
            "give --prompt or words of their own, not both"
        );
    }

    #[test]
    fn the_schema_has_what_was_declared() {
        let schema = Json::parse(&OptionReader::schema_of::<All>()).unwrap();
        let depth = &schema["properties"]["depth"];
        assert_eq!(
            depth.to_string(),
            r#"{"type":"integer","description":"Steps","minimum":1,"maximum":16,"default":2}"#
        );
        assert_eq!(
            schema["properties"]["prompt"].to_string(),
            r#"{"type":"string","description":"A prompt","words":true}"#
        );
        assert_eq!(
            schema["properties"]["any"].to_string(),
            r#"{"type":"number","description":"Any number","default":0}"#
        );
        assert_eq!(schema["required"].items().len(), 0);
    }
}
