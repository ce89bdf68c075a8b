//! NAME: a conversation. Each line that the client sends is a turn, and the answer streams back.
//!
//! One context holds the conversation next to the model, so each turn costs its own tokens only.
use quire::{session, Context, GenerateOptions, Options, Result, Stream};

#[derive(Options)]
struct Program {
    /// Instructions to the model
    #[option(default = "You answer in two or three sentences.")]
    system: String,
    #[option(default = GenerateOptions { temperature: 0.7, max_tokens: 256, ..Default::default() })]
    generate: GenerateOptions,
}

#[quire::main]
async fn program(mut options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.system(options.system);
    let mut lines = session::messages(); // They end when the client ends its side.
    while let Some(line) = lines.next().await {
        context.user(line?);
        context.generate(options.generate.clone()).stream(session::send).await?;
        quire::println!()?;
        options.generate.seed += 1; // Another turn draws other numbers.
    }
    Ok(())
}
