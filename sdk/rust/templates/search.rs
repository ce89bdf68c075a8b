//! NAME: a search. Writes several answers side by side, lets the model judge each, and sends the best.
//!
//! The question is computed once: each answer is a fork that shares its pages, and each verdict is a fork of an
//! answer.
use quire::runtime::{self, LogLevel};
use quire::{gather, session, Context, GenerateOptions, OptionReader, Options, Prompt, Result};

struct Program {
    prompt: Prompt,
    n: u32,
    generate: GenerateOptions,
}

impl Default for Program {
    fn default() -> Self {
        Program {
            prompt: Prompt::new("Think of a riddle about a river, and write it down."),
            n: 4,
            generate: GenerateOptions { temperature: 0.9, ..GenerateOptions::max_tokens(80) },
        }
    }
}

impl Options for Program {
    fn read<'a>(&'a mut self, reader: &mut OptionReader<'a>) {
        self.prompt.read(reader);
        reader.number("n", &mut self.n, "Number of answers", 1..=64);
        reader.generation(&mut self.generate);
    }
}

/// How probable the model finds "yes", in a fork: the verdict is not part of the answer.
async fn judged(mut judge: Context) -> Result<f64> {
    judge.user("Is this a good answer? Say yes or no.");
    let verdict = judge.choose(["yes", "no"]).await?;
    Ok(verdict.probabilities[0])
}

#[quire::main]
async fn program(options: Program) -> Result<()> {
    let mut question = Context::create()?;
    question.user(options.prompt.text().await?);
    let mut answers = question.sample(options.n, options.generate).await?;
    let mut judges = Vec::new();
    for each in &mut answers {
        judges.push(judged(each.context.fork().await?));
    }
    let scores = gather(judges).await?;

    let mut best = 0;
    for (number, score) in scores.iter().enumerate() {
        runtime::log(LogLevel::Info, &format!("{score}  {}", answers[number].answer.text));
        if *score > scores[best] {
            best = number;
        }
    }
    session::send(&format!("{}\n", answers[best].answer.text))
}
