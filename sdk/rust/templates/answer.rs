//! NAME: asks the model for an answer.
//!
//! It runs inside the server, next to the model. Change the options of `generate`, fork the context, take the
//! answer token by token, call tools between them: the loop is yours.
use quire::runtime::{self, LogLevel};
use quire::{session, Context, GenerateOptions, Options, Prompt, Result};

#[derive(Options)]
struct Program {
    #[option(default = "Say hello in five words.")]
    prompt: Prompt,
    #[option(default = GenerateOptions::max_tokens(64))] // --max-tokens, --temperature, --seed and the like.
    generate: GenerateOptions,
}

#[quire::main]
async fn program(options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.user(options.prompt.text().await?);
    let answer = context.generate(options.generate).stream(session::send).await?;
    runtime::log(LogLevel::Info, &format!("{} tokens", answer.tokens.len()));
    Ok(())
}
