//! text_completion: goes on with a text, or answers it.
use quire::{session, Context, GenerateOptions, OptionReader, Options, Prompt, Result};

#[derive(Default)]
struct Program {
    prompt: Prompt,
    system: String,
    chat: bool,
    generate: GenerateOptions,
}

impl Options for Program {
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        self.prompt.read(reader);
        reader.text("system", &mut self.system, "Instructions to the model, with --chat");
        reader.flag("chat", &mut self.chat, "Answer the prompt instead of continuing it");
        reader.generation(&mut self.generate);
    }
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
