//! Functions that the model may call, and the loop in which it does.
//!
//! A grammar gives each turn its form: calls, a JSON object each, or an answer. So the host sees to it that a call
//! can be read and that its arguments fit their schema, whatever the model; nothing is searched for in its text.
use crate::generate::{FinishReason, GenerateOptions, Shown};
use crate::{gather, with_timeout, Context, Error, ErrorCode, Grammar, Json, Result};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

type Run = Rc<dyn Fn(Json) -> Pin<Box<dyn Future<Output = Result<String>>>>>;

/// A function that the model may call.
#[derive(Clone)]
pub struct Tool {
    name: String,
    description: String,
    schema: String,
    run: Run,
}

impl Tool {
    /// `name` is of letters, digits, '_' and '-'; `description` says what the tool does, and when to call it; `schema` is
    /// the JSON schema of its arguments, an object.
    pub fn new<F, R>(name: &str, description: &str, schema: &str, run: F) -> Tool
    where
        F: Fn(Json) -> R + 'static,
        R: Future<Output = Result<String>> + 'static,
    {
        Tool {
            name: name.to_string(),
            description: description.to_string(),
            schema: schema.to_string(),
            run: Rc::new(move |arguments| Box::pin(run(arguments))),
        }
    }
}

/// A call, as the model wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The name of the tool.
    pub name: String,
    /// An object that fits the tool's schema.
    pub arguments: Json,
}

/// A call, and what came of it.
#[derive(Clone, Debug)]
pub struct ToolRun {
    /// The call.
    pub call: ToolCall,
    /// The result that the model reads; for an error, "error: " with its text.
    pub result: Result<String>,
}

/// The limits of the loop.
#[derive(Clone, Copy, Debug)]
pub struct ToolOptions {
    /// Turns of the model; the last one is an answer, so that one that calls in circles comes to an end.
    pub rounds_max: u32,
    /// Calls of one turn.
    pub calls_max: u32,
    /// The most time of a call, which is dropped when it takes longer.
    pub time_max: Duration,
    /// The most bytes of a result that the model reads.
    pub result_bytes_max: usize,
}

impl Default for ToolOptions {
    fn default() -> Self {
        ToolOptions {
            rounds_max: 8,
            calls_max: 16,
            time_max: Duration::from_secs(30),
            result_bytes_max: 16_384,
        }
    }
}

/// The end of the loop.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// The model's answer.
    pub text: String,
    /// Every call, in order.
    pub runs: Vec<ToolRun>,
    /// The finish reason of the last turn.
    pub finish_reason: FinishReason,
}

/// Tools that were described to the model.
///
/// A call that fails is an answer too: the model reads "error: " with the reason, and can do better. Calls of one turn
/// run side by side. All turns stay in the one context, so each costs its own tokens only.
pub struct Tools {
    tools: Vec<Tool>,
    options: ToolOptions,
    calls_or_answer: Grammar,
    answer: Grammar,
}

const ANSWER: &str = "answer: /[^{\\s](.|\\n)*/\n";

impl Tools {
    /// Describes the tools to the model in `context`, in a system turn. `invalid-argument` for a
    /// name or a schema that cannot be used.
    pub async fn offer(
        context: &mut Context,
        tools: Vec<Tool>,
        options: ToolOptions,
    ) -> Result<Tools> {
        let mut listed = Vec::new();
        let mut names = Vec::new();
        let mut rules = String::new();
        for (number, each) in tools.iter().enumerate() {
            let schema = checked_schema(each)?;
            let of_call = Json::object([
                ("type", "object".into()),
                (
                    "properties",
                    Json::object([
                        ("name", Json::object([("const", each.name.as_str().into())])),
                        ("arguments", schema.clone()),
                    ]),
                ),
                ("required", vec!["name", "arguments"].into()),
                ("additionalProperties", false.into()),
            ]);
            rules += &format!("call_{number}: %json {of_call}\n");
            names.push(format!("call_{number}"));
            listed.push(Json::object([
                ("name", each.name.as_str().into()),
                ("description", each.description.as_str().into()),
                ("parameters", schema),
            ]));
        }
        if tools.is_empty() || options.rounds_max == 0 || options.calls_max == 0 {
            return Err(Error::invalid(
                "there is no tool to offer, or rounds_max or calls_max is 0",
            ));
        }
        let more = options.calls_max - 1;
        let source = format!(
            "start: call (\"\\n\" call){{0,{more}}} | answer\ncall: {}\n{ANSWER}{rules}",
            names.join(" | ")
        );
        let calls_or_answer = Grammar::lark(context.model(), &source).await?;
        let answer = Grammar::lark(context.model(), &format!("start: answer\n{ANSWER}")).await?;
        context.system(format!(
            "You can call tools. These are the tools, as JSON:\n{}\nTo call a tool, answer with its name and its \
             arguments alone, as a JSON object:\n{{\"name\": <name>, \"arguments\": <object>}}\nYou are given the result \
             in <tool_response>; then go on. To answer, write text.",
            Json::Array(listed)
        ));
        Ok(Tools { tools, options, calls_or_answer, answer })
    }

    /// Lets the model go on, and runs what it calls, until it answers. `show` gets the text of the answer as it comes.
    /// `out-of-range`: a call was cut at max_tokens.
    pub async fn answer<S: Shown>(
        &self,
        context: &mut Context,
        mut generate: GenerateOptions,
        mut show: impl FnMut(&str) -> S,
    ) -> Result<ToolAnswer> {
        let mut runs = Vec::new();
        for round in 1..=self.options.rounds_max {
            let is_last = round == self.options.rounds_max;
            generate.grammar =
                Some(if is_last { self.answer.clone() } else { self.calls_or_answer.clone() });
            let mut is_call = None;
            let turn = context
                .generate(generate.clone())
                .stream(|text| {
                    if *is_call.get_or_insert(text.starts_with('{')) {
                        return Ok(());
                    }
                    show(text).shown()
                })
                .await?;
            if !turn.text.starts_with('{') {
                return Ok(ToolAnswer { text: turn.text, runs, finish_reason: turn.finish_reason });
            }
            if turn.finish_reason == FinishReason::Length {
                let message =
                    format!("a call of a tool was cut at max_tokens ({})", generate.max_tokens);
                return Err(Error::new(ErrorCode::OutOfRange, message));
            }
            let came =
                gather(read_calls(&turn.text)?.into_iter().map(|each| self.run(each))).await?;
            let responses: Vec<String> = came.iter().map(response_of).collect();
            context.user(responses.join("\n"));
            runs.extend(came);
            generate.seed = generate.seed.wrapping_add(1);
        }
        Err(Error::new(ErrorCode::Internal, "the last turn is an answer, and was none"))
    }

    async fn run(&self, call: ToolCall) -> Result<ToolRun> {
        let Some(tool) = self.tools.iter().find(|each| each.name == call.name) else {
            return Err(Error::new(
                ErrorCode::Internal,
                format!("the grammar let a call of {} through", call.name),
            ));
        };
        let mut result =
            with_timeout(self.options.time_max, (tool.run)(call.arguments.clone())).await;
        match &mut result {
            Err(error) if error.code == ErrorCode::Timeout => {
                error.message =
                    format!("the tool {} took more than {:?}", tool.name, self.options.time_max);
            }
            Ok(text) if text.len() > self.options.result_bytes_max => {
                let whole = text.len();
                let kept = (0..=self.options.result_bytes_max)
                    .rev()
                    .find(|each| text.is_char_boundary(*each));
                text.truncate(kept.unwrap_or(0));
                *text += &format!("\n[cut: the first {} of {whole} bytes]", text.len());
            }
            _ => {}
        }
        Ok(ToolRun { call, result })
    }
}

fn checked_schema(tool: &Tool) -> Result<Json> {
    let is_named = |each: u8| each.is_ascii_alphanumeric() || each == b'_' || each == b'-';
    if tool.name.is_empty() || !tool.name.bytes().all(is_named) {
        let name = crate::json::quoted(&tool.name);
        return Err(Error::invalid(format!(
            "the name of a tool is letters, digits, '_' and '-', not {name}"
        )));
    }
    let refused = |why: String| {
        Error::invalid(format!("the schema of the tool {} must be a JSON object{why}", tool.name))
    };
    match Json::parse(&tool.schema) {
        Ok(schema @ Json::Object(_)) => Ok(schema),
        Ok(_) => Err(refused(String::new())),
        Err(error) => Err(refused(format!(": {}", error.message))),
    }
}

fn read_calls(text: &str) -> Result<Vec<ToolCall>> {
    let of = |json: Json| ToolCall {
        name: json["name"].text().to_string(),
        arguments: json["arguments"].clone(),
    };
    Ok(Json::parse_several(text)?.into_iter().map(of).collect())
}

fn response_of(run: &ToolRun) -> String {
    let text = match &run.result {
        Ok(text) => text.clone(),
        Err(error) => format!("error: {error}"),
    };
    format!("<tool_response>\n{text}\n</tool_response>")
}
