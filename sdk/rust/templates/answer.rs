//! NAME: asks the model for an answer.
//!
//! It runs inside the server, next to the model. Change the options of `generate`, fork the context, take the
//! answer token by token, call tools between them: the loop is yours.
use quire::runtime::{self, LogLevel};
use quire::{session, Context, GenerateOptions, OptionReader, Options, Prompt, Result};

struct Program {
    prompt: Prompt,
    generate: GenerateOptions,
}

impl Default for Program {
    fn default() -> Self {
        Program {
            prompt: Prompt::new("Say hello in five words."),
            generate: GenerateOptions::max_tokens(64),
        }
    }
}

impl Options for Program {
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        self.prompt.read(reader);
        reader.generation(&mut self.generate); // --max-tokens, --temperature, --seed and the like.
    }
}

#[quire::main]
async fn program(options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.user(options.prompt.text().await?);
    let answer = context.generate(options.generate).stream(session::send).await?;
    runtime::log(LogLevel::Info, &format!("{} tokens", answer.tokens.len()));
    Ok(())
}
