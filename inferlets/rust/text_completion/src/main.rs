//! text_completion: goes on with a text, or answers it.
use quire::{session, Context, GenerateOptions, Options, Prompt, Result};

#[derive(Options)]
struct Program {
    prompt: Prompt,
    /// Instructions to the model, with --chat
    system: String,
    /// Answer the prompt instead of continuing it
    chat: bool,
    generate: GenerateOptions,
}

#[quire::main]
async fn program(options: Program) -> Result<()> {
    let prompt = options.prompt.text().await?;
    let mut context = Context::create()?;
    if options.chat {
        if !options.system.is_empty() {
            context.system(options.system);
        }
        context.user(prompt);
    } else {
        context.append_text(&prompt).await?;
    }
    context.generate(options.generate).stream(session::send).await?;
    Ok(())
}
