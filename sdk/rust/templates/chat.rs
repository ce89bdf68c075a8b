//! NAME: a conversation. Each line that the client sends is a turn, and the answer streams back.
//!
//! One context holds the conversation next to the model, so each turn costs its own tokens only.
use quire::{session, Context, ErrorCode, GenerateOptions, OptionReader, Options, Result};

struct Program {
    system: String,
    generate: GenerateOptions,
}

impl Default for Program {
    fn default() -> Self {
        Program {
            system: "You answer in two or three sentences.".to_string(),
            generate: GenerateOptions { temperature: 0.7, max_tokens: 256, ..Default::default() },
        }
    }
}

impl Options for Program {
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        reader.text("system", &mut self.system, "Instructions to the model");
        reader.generation(&mut self.generate);
    }
}

#[quire::main]
async fn program(mut options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.system(options.system);
    loop {
        let line = match session::receive().await {
            Ok(line) => line,
            // The client has ended its side.
            Err(error) if error.code == ErrorCode::Unavailable => return Ok(()),
            Err(error) => return Err(error),
        };
        context.user(line);
        context.generate(options.generate.clone()).stream(session::send).await?;
        session::send("\n")?;
        options.generate.seed += 1; // Another turn draws other numbers.
    }
}
