//! NAME: an agent. The model fetches pages until it can answer.
//!
//! The pages come from outside: `quire run` must allow the host (--allow-http). If a page cannot be fetched, the
//! model reads the error. Small models hardly call tools: give --model one of 1B or more.
use quire::runtime::{self, LogLevel};
use quire::{
    http, session, Context, GenerateOptions, Options, Result, Tool, ToolOptions, ToolRun, Tools,
};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}"#;

#[derive(Options)]
struct Program {
    /// The question that the agent answers
    #[option(words, default = "What does https://en.wikipedia.org/wiki/Page_table say?")]
    question: String,
    /// Maximum number of turns of the model
    #[option(range = 1..=100, default = 4)]
    turns: u32,
    #[option(default = GenerateOptions::max_tokens(300))]
    generate: GenerateOptions,
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
