//! `#[quire::main]` and `#[quire::endpoint]` make a function the entry of a program.
//!
//! Either takes an `async fn` and leaves it as it is under a name of its own. It adds `fn main()`,
//! which the server calls, and the export `quire_options`. `quire build` makes the options that
//! `--help` prints from it.
//!
//! `#[derive(quire::Options)]` makes a struct the options of a program.
mod options;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// The entry of a program: an async function that takes nothing, its options
/// ([`quire::Options`](../quire/trait.Options.html)) or the words of its command line (`Vec<String>`).
#[proc_macro_attribute]
pub fn main(attribute: TokenStream, item: TokenStream) -> TokenStream {
    entry("main", attribute, item)
}

/// The entry of a program that answers HTTP requests: an async function that takes a
/// `quire::serve::Request` and a `quire::serve::Response`, and its options if it has any.
#[proc_macro_attribute]
pub fn endpoint(attribute: TokenStream, item: TokenStream) -> TokenStream {
    entry("endpoint", attribute, item)
}

/// Implements [`quire::Options`](../quire/trait.Options.html) and `Default` for a struct. Each field is an option, and
/// its comment is the help text.
///
/// ```ignore
/// #[derive(quire::Options)]
/// struct Program {
///     /// The question
///     #[option(words, default = "What is a page table?")]
///     question: String,
///     /// Answers side by side
///     #[option(range = 1..=64, default = 4)]
///     count: u32,
///     /// How the answers sound
///     #[option(choices = ["plain", "grand"], default = "plain")]
///     tone: String,
///     /// Files to read
///     #[option(name = "file")]
///     files: Vec<String>,
///     #[option(default = GenerateOptions::max_tokens(64))]
///     generate: GenerateOptions,
/// }
/// ```
///
/// The attribute has:
///
/// - `default = VALUE`: the value without the option. Without it, the value is that of `Default`.
/// - `range = 1..=64`: the numbers that the option takes. A default outside of them is an error of the compiler.
/// - `choices = ["a", "b"]`: the texts that the option takes.
/// - `words`: words that belong to no option are its value. One option at most has it.
/// - `required`: the option must be given.
/// - `name = "file"`: the name of the option. Without it, the name is the field's, with `-` for `_`.
///
/// A field is a `String`, an `Option<String>`, a `Vec<String>`, a `bool`, a number or a `quire::Prompt`. It may also be
/// `quire::GenerateOptions` or a struct of further options, which has their names.
#[proc_macro_derive(Options, attributes(option))]
pub fn derive_options(item: TokenStream) -> TokenStream {
    options::derive(item)
}

fn entry(attribute: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    match expand(attribute, arguments, item.clone()) {
        Ok(expanded) => expanded,
        // The function stays, and a main, so that the compiler says no more than this.
        Err((span, message)) => {
            let mut out = compile_error(span, &message);
            out.extend(item);
            out.extend("fn main() {}".parse::<TokenStream>().expect("an empty function is Rust"));
            out
        }
    }
}

type Refused = (Span, String);

fn expand(
    attribute: &str,
    arguments: TokenStream,
    item: TokenStream,
) -> Result<TokenStream, Refused> {
    if let Some(first) = arguments.into_iter().next() {
        return Err((first.span(), format!("#[quire::{attribute}] takes no arguments")));
    }
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let function = position(&tokens, "fn")
        .ok_or((Span::call_site(), format!("#[quire::{attribute}] belongs above an async fn")))?;
    if !matches!(position(&tokens[..function], "async"), Some(at) if at < function) {
        return Err((
            tokens[function].span(),
            format!(
                "the entry of a program is an async fn: #[quire::{attribute}] async fn program()"
            ),
        ));
    }
    let Some(TokenTree::Ident(name)) = tokens.get(function + 1) else {
        return Err((tokens[function].span(), "a function has a name".to_string()));
    };
    let renamed = Ident::new("quire_program", name.span());
    tokens[function + 1] = TokenTree::Ident(renamed);
    let mut out: TokenStream = tokens.into_iter().collect();
    let glue = format!(
        "fn main() {{ ::quire::entry::{attribute}(quire_program) }}\n\
         #[no_mangle] #[doc(hidden)] pub extern \"C\" fn quire_options() -> *const u8 \
         {{ ::quire::entry::{attribute}_options(quire_program) }}"
    );
    let glue: TokenStream = glue.parse().expect("the glue of an entry is Rust");
    // Errors of the compiler about the types of the function appear at the function.
    out.extend(respanned(glue, Span::call_site()));
    Ok(out)
}

fn position(tokens: &[TokenTree], word: &str) -> Option<usize> {
    tokens
        .iter()
        .position(|each| matches!(each, TokenTree::Ident(ident) if ident.to_string() == word))
}

fn respanned(tokens: TokenStream, span: Span) -> TokenStream {
    tokens
        .into_iter()
        .map(|mut each| {
            if let TokenTree::Group(group) = &each {
                let mut inner = Group::new(group.delimiter(), respanned(group.stream(), span));
                inner.set_span(span);
                each = TokenTree::Group(inner);
            }
            each.set_span(span);
            each
        })
        .collect()
}

fn compile_error(span: Span, message: &str) -> TokenStream {
    let text: TokenStream = format!("{message:?}").parse().expect("a text is Rust");
    let mut group = Group::new(Delimiter::Parenthesis, text);
    group.set_span(span);
    let tokens: TokenStream = "::core::compile_error!".parse().expect("a macro's name is Rust");
    let mut out = respanned(tokens, span);
    out.extend([TokenTree::Group(group)]);
    out.extend(respanned(";".parse().expect("a semicolon is Rust"), span));
    out
}
