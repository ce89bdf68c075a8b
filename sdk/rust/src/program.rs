//! The entry of a program, and its prompt.
use crate::{session, with_timeout, Error, ErrorCode, OptionReader, Result};
use std::time::Duration;

/// The code that `#[quire::main]` and `#[quire::endpoint]` call. Programs do not.
#[doc(hidden)]
pub mod entry {
    use crate::runtime::{self, LogLevel};
    use crate::serve::{self, Request, Response};
    use crate::{block_on, Error, OptionReader, Options, Result};
    use std::future::Future;

    /// The argument of a program: its options, or the words of its command line.
    pub trait Arguments: Sized {
        fn of_words(words: Vec<String>) -> Result<Self>;
        fn schema() -> Option<String>;
    }
    impl<T: Options> Arguments for T {
        fn of_words(words: Vec<String>) -> Result<T> {
            OptionReader::options_of(&words)
        }
        fn schema() -> Option<String> {
            Some(OptionReader::schema_of::<T>())
        }
    }
    impl Arguments for Vec<String> {
        fn of_words(words: Vec<String>) -> Result<Self> {
            Ok(words)
        }
        fn schema() -> Option<String> {
            None
        }
    }

    /// A value that a program may end with.
    pub trait End {
        fn end(self) -> Result<()>;
    }
    impl End for () {
        fn end(self) -> Result<()> {
            Ok(())
        }
    }
    impl<E: Into<Error>> End for Result<(), E> {
        fn end(self) -> Result<()> {
            self.map_err(Into::into)
        }
    }

    /// An async function without or with arguments; the parameter only tells them apart.
    #[diagnostic::on_unimplemented(
        message = "this function cannot be the entry of a program",
        note = "a program takes nothing, its options (a type that implements `quire::Options`) or the words of its \
                command line (`Vec<String>`)",
        note = "it returns nothing, or a `Result<(), E>` whose error becomes a `quire::Error`"
    )]
    pub trait Program<Shape> {
        fn run(self, words: Vec<String>) -> Result<()>;
        fn schema(&self) -> Option<String>;
    }
    impl<F, R> Program<()> for F
    where
        F: FnOnce() -> R,
        R: Future,
        R::Output: End,
    {
        fn run(self, words: Vec<String>) -> Result<()> {
            OptionReader::default().parse(&words)?;
            block_on(self()).end()
        }
        fn schema(&self) -> Option<String> {
            Some(OptionReader::default().schema())
        }
    }
    impl<F, R, A> Program<(A,)> for F
    where
        F: FnOnce(A) -> R,
        R: Future,
        R::Output: End,
        A: Arguments,
    {
        fn run(self, words: Vec<String>) -> Result<()> {
            let arguments = A::of_words(words)?;
            block_on(self(arguments)).end()
        }
        fn schema(&self) -> Option<String> {
            A::schema()
        }
    }

    /// An async function of a request and its response, without or with options.
    #[diagnostic::on_unimplemented(
        message = "this function cannot be the entry of an endpoint",
        note = "it takes a `quire::serve::Request`, a `quire::serve::Response` and, if it has any, its options (a type \
                that implements `quire::Options`)",
        note = "it returns nothing, or a `Result<(), E>` whose error becomes a `quire::Error`"
    )]
    pub trait Endpoint<Shape> {
        fn run(self, words: Vec<String>) -> Result<()>;
        fn schema(&self) -> Option<String>;
    }
    impl<F, R> Endpoint<()> for F
    where
        F: FnOnce(Request, Response) -> R,
        R: Future,
        R::Output: End,
    {
        fn run(self, words: Vec<String>) -> Result<()> {
            OptionReader::default().parse(&words)?;
            answer(self)
        }
        fn schema(&self) -> Option<String> {
            Some(OptionReader::default().schema())
        }
    }
    impl<F, R, A> Endpoint<(A,)> for F
    where
        F: FnOnce(Request, Response, A) -> R,
        R: Future,
        R::Output: End,
        A: Arguments,
    {
        fn run(self, words: Vec<String>) -> Result<()> {
            let arguments = A::of_words(words)?;
            answer(|request, response| self(request, response, arguments))
        }
        fn schema(&self) -> Option<String> {
            A::schema()
        }
    }

    fn answer<R>(handler: impl FnOnce(Request, Response) -> R) -> Result<()>
    where
        R: Future,
        R::Output: End,
    {
        let request = Request::open()?;
        let handling = handler(request.clone(), request.response());
        block_on(async move { serve::finish(request, handling.await.end()).await })
    }

    pub fn main<Shape>(program: impl Program<Shape>) {
        enter(|words| program.run(words));
    }
    pub fn endpoint<Shape>(handler: impl Endpoint<Shape>) {
        enter(|words| handler.run(words));
    }

    /// The exit code of a program that panicked, as of any program in Rust.
    const PANIC_EXIT_CODE: i32 = 101;

    /// An error that the program ends in is logged, and its number is the exit code. A panic is logged with its
    /// place in the source, and ends the program.
    fn enter(run: impl FnOnce(Vec<String>) -> Result<()>) {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(|each| format!("{each}: ")).unwrap_or_default();
            let payload = panic.payload();
            let text = payload
                .downcast_ref::<&str>()
                .map(|each| each.to_string())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "a panic without a message".to_string());
            let message = format!("{place}{text}");
            use std::io::Write;
            let _ = std::io::stdout().flush(); // What was printed comes before it.
            runtime::log(LogLevel::Error, &message);
            std::process::exit(PANIC_EXIT_CODE);
        }));
        let outcome = runtime::arguments().and_then(run);
        if let Err(error) = outcome {
            runtime::log(LogLevel::Error, &error.to_string());
            std::process::exit(error.code as i32);
        }
    }

    pub fn main_options<Shape>(program: impl Program<Shape>) -> *const u8 {
        leaked(program.schema())
    }
    pub fn endpoint_options<Shape>(handler: impl Endpoint<Shape>) -> *const u8 {
        leaked(handler.schema())
    }
    fn leaked(schema: Option<String>) -> *const u8 {
        match schema {
            Some(schema) => Box::leak((schema + "\0").into_boxed_str()).as_ptr(),
            None => std::ptr::null(),
        }
    }
}

/// The prompt of a program, from its command line or from its client.
///
/// `--prompt TEXT` is the text, or the words of the command line that belong to no option; `--prompt -` the lines
/// that the client sends; `--prompt-file NAME` a file that it sends (`quire run --send-file NAME`).
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    given: String,
    file: String,
}

impl From<&str> for Prompt {
    fn from(otherwise: &str) -> Prompt {
        Prompt::new(otherwise)
    }
}

impl Prompt {
    /// One that is `otherwise` where none is given.
    pub fn new(otherwise: &str) -> Prompt {
        Prompt { given: otherwise.to_string(), file: String::new() }
    }

    /// Declares its two options.
    pub fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        reader.words("prompt", &mut self.given, "The text; - for the lines that the client sends");
        reader.text(
            "prompt-file",
            &mut self.file,
            "The name of a file that the client sends, which is the prompt",
        );
    }

    /// The text. `invalid-argument`: there is none, or it is empty; `not-found`: the client sent another file;
    /// `timeout` or `unavailable`: it sent none.
    pub async fn text(&self) -> Result<String> {
        if self.given.is_empty() && self.file.is_empty() {
            return Err(Error::invalid(
                "give a prompt: --prompt TEXT, --prompt - for lines of the client, or --prompt-file NAME for a file \
                 that it sends",
            ));
        }
        let text = if !self.file.is_empty() {
            received_file(&self.file).await?
        } else if self.given == "-" {
            received_lines().await?
        } else {
            self.given.clone()
        };
        if text.is_empty() {
            return Err(Error::invalid("the prompt is empty"));
        }
        Ok(text)
    }
}

async fn received_file(name: &str) -> Result<String> {
    const TIME_MAX: Duration = Duration::from_secs(10); // A client that sends files sends the first at once.
    let file = with_timeout(TIME_MAX, session::receive_file()).await.map_err(|error| {
        Error::new(
            error.code,
            format!(
                "--prompt-file {name}: the client sent no file (quire run --send-file {name} sends it): {}",
                error.message
            ),
        )
    })?;
    if file.name != name {
        let message = format!("--prompt-file {name}: the client sent the file {} first", file.name);
        return Err(Error::new(ErrorCode::NotFound, message));
    }
    let mut text = String::from_utf8(file.read_all().await?)?;
    if text.ends_with('\n') {
        text.pop(); // It ends the last line.
    }
    Ok(text)
}

/// To the end of the client's input.
async fn received_lines() -> Result<String> {
    let mut lines = Vec::new();
    loop {
        match session::receive().await {
            Ok(line) => lines.push(line),
            Err(error) if error.code == ErrorCode::Unavailable => return Ok(lines.join("\n")),
            Err(error) => return Err(error),
        }
    }
}
