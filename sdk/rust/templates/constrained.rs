//! NAME: reads facts out of a text. The answer is JSON that follows a schema, whatever the model.
//!
//! Under a grammar the model draws only tokens with which the answer can still become one of its texts.
//! `Grammar::regex` and `Grammar::lark` take other notations.
use quire::{
    session, Context, Error, ErrorCode, FinishReason, GenerateOptions, Grammar, Options, Result,
};

const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 60},
    "age": {"type": "integer", "minimum": 0, "maximum": 150},
    "trade": {"enum": ["baker", "carpenter", "teacher", "other"]}
  },
  "required": ["name", "age", "trade"],
  "additionalProperties": false
}"#;

#[derive(Options)]
struct Program {
    /// A text about a person
    #[option(words, default = "Ada Kowalski, 41, bakes bread in the old mill.")]
    text: String,
    #[option(default = GenerateOptions::max_tokens(200))]
    generate: GenerateOptions,
}

#[quire::main]
async fn program(mut options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.system("Answer with one JSON object: the name, the age and the trade of the person.");
    context.user(options.text);
    options.generate.grammar = Some(Grammar::json_schema(context.model(), SCHEMA).await?);
    let answer = context.generate(options.generate).await?;
    if answer.finish_reason == FinishReason::Length {
        let count = answer.tokens.len();
        let message =
            format!("the answer is not complete after {count} tokens: give it more (--max-tokens)");
        return Err(Error::new(ErrorCode::OutOfRange, message));
    }
    session::send(&answer.text)
}
