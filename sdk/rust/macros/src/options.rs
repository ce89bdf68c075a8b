//! `#[derive(Options)]`: the options of a program from the fields of a struct.
//!
//! The parts that generated code takes from the struct keep their places in the source, so that the compiler reports a
//! wrong type or default at the field.
use crate::{compile_error, respanned, Refused};
use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

pub fn derive(item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().collect();
    let name = name_of(&tokens);
    match expand(&tokens, name.as_ref()) {
        Ok(expanded) => expanded,
        // Both traits are implemented all the same, so that the compiler says no more than this.
        Err((span, message)) => {
            let mut out = compile_error(span, &message);
            if let Some(name) = name {
                out.extend(implementations(&name, &rust("loop {}"), &TokenStream::new()));
            }
            out
        }
    }
}

/// A field of the struct, and what its attribute says.
struct Field {
    name: Ident,
    kind: TokenStream,
    kind_span: Span,
    help: String,
    option_name: String,
    default: Option<TokenStream>,
    range: Option<TokenStream>,
    choices: Option<Group>,
    takes_words: bool,
    is_required: bool,
}

const NUMBERS: [&str; 9] = ["u8", "u16", "u32", "u64", "usize", "i32", "i64", "f32", "f64"];
const KEYS: &str = "default, range, choices, words, required, name";

fn rust(text: &str) -> TokenStream {
    text.parse().expect("generated code is Rust")
}

/// The name after `struct`, `enum` or `union`.
fn name_of(tokens: &[TokenTree]) -> Option<Ident> {
    let keyword =
        tokens.iter().position(|each| is_word(each, "struct") || is_word(each, "enum"))?;
    match tokens.get(keyword + 1) {
        Some(TokenTree::Ident(name)) => Some(name.clone()),
        _ => None,
    }
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}
fn is_mark(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn expand(tokens: &[TokenTree], name: Option<&Ident>) -> Result<TokenStream, Refused> {
    const FORM: &str = "the options of a program are a struct with named fields, without generics";
    let Some(name) = name else { return Err((Span::call_site(), FORM.to_string())) };
    let Some(TokenTree::Group(body)) = tokens.last() else {
        return Err((name.span(), FORM.into()));
    };
    let is_generic = tokens.iter().any(|each| is_mark(each, '<'));
    let is_struct = tokens.iter().any(|each| is_word(each, "struct"));
    if !is_struct || is_generic || body.delimiter() != Delimiter::Brace {
        return Err((name.span(), FORM.to_string()));
    }
    let fields = fields_of(body.stream())?;
    if let Some(second) = fields.iter().filter(|each| each.takes_words).nth(1) {
        return Err((second.name.span(), "one option at most takes words".to_string()));
    }
    let mut defaults = TokenStream::new();
    let mut declarations = TokenStream::new();
    let mut checks = TokenStream::new();
    for each in &fields {
        defaults.extend(each.initializer());
        declarations.extend(each.declaration());
        checks.extend(each.range_check());
    }
    let mut value = TokenStream::new();
    value.extend([TokenTree::Ident(Ident::new("Self", Span::call_site()))]);
    value.extend([TokenTree::Group(Group::new(Delimiter::Brace, defaults))]);
    let mut out = implementations(name, &value, &declarations);
    out.extend(checks);
    Ok(out)
}

fn implementations(name: &Ident, value: &TokenStream, declarations: &TokenStream) -> TokenStream {
    rust(&format!("impl ::core::default::Default for {name} {{ fn default() -> Self }}"))
        .into_iter()
        .map(|each| with_body(each, value))
        .chain(
            rust(&format!(
                "impl ::quire::Options for {name} {{
                     fn read<'a>(&'a mut self, reader: &mut ::quire::OptionReader<'a>)
                 }}"
            ))
            .into_iter()
            .map(|each| with_body(each, declarations)),
        )
        .collect()
}

/// Gives the function in the braces of an implementation its body.
fn with_body(token: TokenTree, body: &TokenStream) -> TokenTree {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            let mut inner = group.stream();
            inner.extend([TokenTree::Group(Group::new(Delimiter::Brace, body.clone()))]);
            TokenTree::Group(Group::new(Delimiter::Brace, inner))
        }
        other => other,
    }
}

fn fields_of(body: TokenStream) -> Result<Vec<Field>, Refused> {
    let mut tokens = body.into_iter().peekable();
    let mut fields = Vec::new();
    loop {
        let mut attributes = Vec::new();
        while tokens.next_if(|each| is_mark(each, '#')).is_some() {
            if let Some(TokenTree::Group(attribute)) = tokens.next() {
                attributes.push(attribute);
            }
        }
        if tokens.next_if(|each| is_word(each, "pub")).is_some() {
            tokens.next_if(|each| matches!(each, TokenTree::Group(_)));
        }
        let Some(TokenTree::Ident(name)) = tokens.next() else { return Ok(fields) };
        tokens.next(); // The colon.
        let mut kind = Vec::new();
        let mut depth = 0;
        while let Some(each) = tokens.next_if(|each| depth > 0 || !is_mark(each, ',')) {
            depth += i32::from(is_mark(&each, '<')) - i32::from(is_mark(&each, '>'));
            kind.push(each);
        }
        tokens.next(); // The comma.
        fields.push(Field::new(name, kind, &attributes)?);
    }
}

impl Field {
    fn new(name: Ident, kind: Vec<TokenTree>, attributes: &[Group]) -> Result<Field, Refused> {
        let kind_span = kind.first().map_or(name.span(), TokenTree::span);
        let plain = name.to_string();
        let mut field = Field {
            option_name: plain.trim_start_matches("r#").trim_matches('_').replace('_', "-"),
            kind: kind.into_iter().collect(),
            kind_span,
            help: String::new(),
            default: None,
            range: None,
            choices: None,
            takes_words: false,
            is_required: false,
            name,
        };
        let mut lines = Vec::new();
        for each in attributes {
            let tokens: Vec<TokenTree> = each.stream().into_iter().collect();
            match tokens.as_slice() {
                [word, _, TokenTree::Literal(text)] if is_word(word, "doc") => {
                    lines.push(text_of(&text.to_string()).unwrap_or_default().trim().to_string());
                }
                [word, TokenTree::Group(arguments)] if is_word(word, "option") => {
                    field.read_arguments(arguments)?;
                }
                [word, ..] if is_word(word, "option") => {
                    return Err((word.span(), format!("write #[option(...)], with: {KEYS}")));
                }
                _ => {}
            }
        }
        field.help = lines.join(" ").trim().trim_end_matches('.').to_string();
        field.check()?;
        Ok(field)
    }

    fn read_arguments(&mut self, arguments: &Group) -> Result<(), Refused> {
        let tokens: Vec<TokenTree> = arguments.stream().into_iter().collect();
        for argument in tokens.split(|each| is_mark(each, ',')).filter(|each| !each.is_empty()) {
            let key = &argument[0];
            let value: TokenStream = argument.iter().skip(2).cloned().collect();
            let has_value = argument.len() > 2 && is_mark(&argument[1], '=');
            match (key.to_string().as_str(), has_value) {
                ("words", false) if argument.len() == 1 => self.takes_words = true,
                ("required", false) if argument.len() == 1 => self.is_required = true,
                ("default", true) => self.default = Some(value),
                ("range", true) => self.range = Some(value),
                ("choices", true) => match &argument[2..] {
                    [TokenTree::Group(list)] if list.delimiter() == Delimiter::Bracket => {
                        self.choices = Some(list.clone());
                    }
                    _ => return Err((key.span(), "write choices = [\"one\", \"two\"]".into())),
                },
                ("name", true) => match text_of(&value.to_string()) {
                    Some(name) => self.option_name = name,
                    None => return Err((key.span(), "write name = \"file\"".to_string())),
                },
                ("words" | "required", _) => {
                    return Err((key.span(), format!("`{key}` has no value: write {key} alone")));
                }
                ("default" | "range" | "choices" | "name", false) => {
                    return Err((key.span(), format!("`{key}` has a value: write {key} = ...")));
                }
                _ => {
                    let message = format!("`{key}` is not known here; there are: {KEYS}");
                    return Err((key.span(), message));
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Refused> {
        let refused = |message: String| Err((self.name.span(), message));
        if self.range.is_some() && self.choices.is_some() {
            return refused("an option has a range or choices, not both".to_string());
        }
        if self.is_required && self.default.is_some() {
            return refused("an option that is required has no default".to_string());
        }
        if self.takes_words && self.choices.is_some() {
            return refused("an option with choices takes no words".to_string());
        }
        if let Some(range) = &self.range {
            let text = range.to_string().replace(' ', "");
            if text.contains("..") && !text.contains("..=") && !text.ends_with("..") {
                return refused("a range has both its ends: write 1..=64".to_string());
            }
        }
        let Some(choices) = &self.choices else { return Ok(()) };
        let given = self.default.as_ref().map(ToString::to_string);
        let listed =
            |given: &str| choices.stream().into_iter().any(|each| each.to_string() == given);
        match given {
            None if !self.is_required => {
                refused("an option with choices has a default, or is required".to_string())
            }
            Some(given) if text_of(&given).is_some() && !listed(&given) => {
                refused(format!("the default {given} is not one of {choices}"))
            }
            _ => Ok(()),
        }
    }

    /// `name: value,` of the struct.
    fn initializer(&self) -> TokenStream {
        let mut out = TokenStream::from(TokenTree::Ident(self.name.clone()));
        out.extend(respanned(rust(":"), self.kind_span));
        match &self.default {
            None => {
                out.extend(respanned(rust("::core::default::Default::default()"), self.kind_span))
            }
            Some(value) => {
                let first = value.clone().into_iter().next();
                let span = first.as_ref().map_or(self.kind_span, TokenTree::span);
                let is_text = text_of(&value.to_string()).is_some();
                let is_list = matches!(&first, Some(TokenTree::Group(list))
                    if list.delimiter() == Delimiter::Bracket && value.clone().into_iter().count() == 1);
                let convert = match (is_text, is_list) {
                    (true, _) => "::core::convert::From::from",
                    (_, true) => "::quire::texts_of",
                    _ => "::core::convert::identity",
                };
                out.extend(respanned(rust(convert), span));
                let mut arguments = Group::new(Delimiter::Parenthesis, value.clone());
                arguments.set_span(span);
                out.extend([TokenTree::Group(arguments)]);
            }
        }
        out.extend(rust(","));
        out
    }

    /// The statement that declares the option.
    fn declaration(&self) -> TokenStream {
        let (name, help) = (&self.option_name, &self.help);
        let field = &self.name;
        let arguments = format!("{name:?}, &mut self.{field}, {help:?}");
        let text = match (&self.range, &self.choices) {
            (Some(range), _) => format!("reader.number({arguments}, {range});"),
            (_, Some(choices)) => format!("reader.choice({arguments}, &{choices});"),
            _ if self.takes_words => format!("reader.words({arguments});"),
            _ => format!(
                "::quire::OptionValue::declare(&mut self.{field}, reader, {name:?}, {help:?});"
            ),
        };
        let mut out = respanned(rust(&text), self.kind_span);
        if self.is_required {
            out.extend(rust("reader.required();"));
        }
        out
    }

    /// A constant that the compiler cannot compute if the default is not within the range.
    fn range_check(&self) -> TokenStream {
        let Some(range) = &self.range else { return TokenStream::new() };
        let default = self.default.as_ref().map_or("0".to_string(), ToString::to_string);
        let digits = default.replace([' ', '_', '.', '-'], "");
        let is_number = !digits.is_empty() && digits.bytes().all(|each| each.is_ascii_digit());
        // The compiler refuses a range of another type at the declaration, and says no more than that.
        let is_checked = NUMBERS.contains(&self.kind.to_string().as_str());
        if self.is_required || !is_number || !is_checked {
            return TokenStream::new();
        }
        let (name, kind) = (&self.option_name, &self.kind);
        let shown = range.to_string().replace(' ', "");
        let message = format!("the default of --{name}, {default}, is not from {shown}");
        let text = format!(
            "const _: () = {{
                 const LIMITS: ::core::ops::RangeInclusive<{kind}> = {range};
                 #[allow(clippy::unnecessary_cast)]
                 const GIVEN: {kind} = {default} as {kind};
                 ::core::assert!(*LIMITS.start() <= GIVEN && GIVEN <= *LIMITS.end(), {message:?});
             }};"
        );
        let is_whole = range.to_string().replace(' ', "").split("..=").all(|end| !end.is_empty());
        if !is_whole || !range.to_string().contains("..=") {
            return TokenStream::new();
        }
        respanned(rust(&text), self.name.span())
    }
}

/// The text of a literal, if it is one.
fn text_of(literal: &str) -> Option<String> {
    let literal = literal.trim();
    if let Some(raw) = literal.strip_prefix('r') {
        let hashes = raw.bytes().take_while(|each| *each == b'#').count();
        let inner = raw.get(hashes + 1..raw.len().checked_sub(hashes + 1)?)?;
        return raw[hashes..].starts_with('"').then(|| inner.to_string());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut out = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return None, // It begins with a text, and goes on.
            '\\' => match letters.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '0' => out.push('\0'),
                'u' => {
                    let code: String =
                        letters.by_ref().skip(1).take_while(|each| *each != '}').collect();
                    out.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                }
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    Some(out)
}
