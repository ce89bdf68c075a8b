//! agent_react: thinks, acts and reads what it observes, step by step, until it can answer. A grammar gives
//! each step its form, so no model writes an action that cannot be read.
use quire::{
    session, ChatMessage, Context, Error, ErrorCode, FinishReason, GenerateOptions, Grammar,
    Options, Prompt, Result,
};

const STEP: &str = r#"
step: "Thought: " TEXT "\nAction: calculator[" /[-+*\/(). 0-9]{1,100}/ "]" | last_step
last_step: "Thought: " TEXT "\nAnswer: " TEXT
TEXT: /[^\n]{4,240}/"#;
const STEP_COUNT_MAX: usize = 8;

// Small models follow an example better than instructions.
const EXAMPLE: [&str; 6] = [
    "Answer in steps, and compute nothing yourself. What are 12 boxes of 5 eggs, if 7 broke?",
    "Thought: First I compute the eggs in the boxes.\nAction: calculator[12 * 5]",
    "12 * 5 = 60",
    "Thought: Then I take away those that broke.\nAction: calculator[60 - 7]",
    "60 - 7 = 53",
    "Thought: All is computed.\nAnswer: There are 53 eggs.",
];

#[derive(Options)]
struct Program {
    #[option(default = "Multiply 17 by 23 and add 4. Then divide the result by 5. What comes out?")]
    prompt: Prompt,
    #[option(default = GenerateOptions::max_tokens(2048))]
    generate: GenerateOptions,
}

/// Takes the value of what `rest` begins with: a sum on level 0, a product on 1, a number or brackets on 2.
fn value_of(rest: &mut &str, level: u32) -> Option<f64> {
    *rest = rest.trim_start();
    if level == 2 {
        if let Some(inner) = rest.strip_prefix('(') {
            *rest = inner;
            let value = value_of(rest, 0)?;
            *rest = rest.trim_start().strip_prefix(')')?;
            return Some(value);
        }
        let is_part = |(at, each): (usize, char)| {
            each.is_ascii_digit() || each == '.' || (at == 0 && "+-".contains(each))
        };
        let bytes = rest.char_indices().take_while(|each| is_part(*each)).count();
        let (number, behind) = rest.split_at(bytes);
        *rest = behind;
        return number.parse().ok();
    }
    let mut value = value_of(rest, level + 1)?;
    loop {
        *rest = rest.trim_start();
        let Some(sign) =
            rest.chars().next().filter(|each| ["+-", "*/"][level as usize].contains(*each))
        else {
            return Some(value);
        };
        *rest = &rest[1..];
        let other = value_of(rest, level + 1)?;
        value = match sign {
            '+' => value + other,
            '-' => value - other,
            '*' => value * other,
            _ => value / other,
        };
    }
}

fn observed(expression: &str) -> String {
    let mut rest = expression;
    match value_of(&mut rest, 0) {
        Some(value) if rest.is_empty() && value.is_finite() => format!("{expression} = {value}"),
        _ => format!("error: {expression} is not an expression of numbers, + - * / and brackets"),
    }
}

#[quire::main]
async fn program(mut options: Program) -> Result<()> {
    let mut context = Context::create()?;
    for (number, turn) in EXAMPLE.into_iter().enumerate() {
        context.add(ChatMessage::new(["user", "assistant"][number % 2], turn));
    }
    context.user(options.prompt.text().await?);
    for number in 1..=STEP_COUNT_MAX {
        // The last step is an answer, so that an agent that acts in circles comes to an end.
        let start = if number < STEP_COUNT_MAX { "\nstart: step" } else { "\nstart: last_step" };
        options.generate.grammar =
            Some(Grammar::lark(context.model(), &format!("{STEP}{start}")).await?);
        let step = context.generate(options.generate.clone()).stream(session::send).await?;
        if step.finish_reason == FinishReason::Length {
            break;
        }
        let Some((_, action)) = step.text.split_once("\nAction: calculator[") else {
            return Ok(()); // It is the answer.
        };
        let observation = observed(action.trim_end_matches(']'));
        quire::print!("\n{observation}\n")?;
        context.user(observation);
    }
    Err(Error::new(
        ErrorCode::OutOfRange,
        "no room for an answer: give it more tokens (--max-tokens)",
    ))
}
