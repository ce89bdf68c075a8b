//! NAME: an agent. The model fetches pages until it can answer.
//!
//! The pages come from outside: `quire run` must allow the host (--allow-http). If a page cannot be fetched, the
//! model reads the error. Small models hardly call tools: give --model one of 1B or more.
use quire::runtime::{self, LogLevel};
use quire::{
    http, session, Context, GenerateOptions, OptionReader, Options, Result, Tool, ToolOptions,
    ToolRun, Tools,
};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}"#;

struct Program {
    question: String,
    turns: u32,
    generate: GenerateOptions,
}

impl Default for Program {
    fn default() -> Self {
        Program {
            question: "What does https://en.wikipedia.org/wiki/Page_table say?".into(),
            turns: 4,
            generate: GenerateOptions::max_tokens(300),
        }
    }
}

impl Options for Program {
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        reader.words("question", &mut self.question, "What the agent answers");
        reader.number("turns", &mut self.turns, "Maximum number of turns of the model", 1..=100);
        reader.generation(&mut self.generate);
    }
}

/// Writes a call into the program's log.
fn report(run: &ToolRun) {
    let result = match &run.result {
        Ok(text) => format!("{} bytes", text.len()),
        Err(error) => format!("error: {error}"),
    };
    let call = &run.call;
    runtime::log(LogLevel::Info, &format!("{}{} -> {result}", call.name, call.arguments));
}

#[quire::main]
async fn program(options: Program) -> Result<()> {
    let fetch = Tool::new("fetch", "Gets the page of a URL.", SCHEMA, |arguments| async move {
        Ok(http::get(arguments["url"].text(), &[]).await?.text())
    });
    let mut context = Context::create()?;
    context.system("Fetch the pages that you need. Then answer in one or two sentences.");
    let limits =
        ToolOptions { rounds_max: options.turns, result_bytes_max: 4_000, ..Default::default() };
    let tools = Tools::offer(&mut context, vec![fetch], limits).await?;
    context.user(options.question);
    let answer = tools.answer(&mut context, options.generate, session::send).await?;
    answer.runs.iter().for_each(report);
    Ok(())
}
