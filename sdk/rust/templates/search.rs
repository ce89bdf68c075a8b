//! NAME: a search. Writes several answers side by side, lets the model judge each, and sends the best.
//!
//! The question is computed once: each answer is a fork that shares its pages, and each verdict is a fork of an
//! answer.
use quire::runtime::{self, LogLevel};
use quire::{gather, Context, GenerateOptions, Options, Prompt, Result};

#[derive(Options)]
struct Program {
    #[option(default = "Think of a riddle about a river, and write it down.")]
    prompt: Prompt,
    /// Number of answers
    #[option(range = 1..=64, default = 4)]
    n: u32,
    #[option(default = GenerateOptions { temperature: 0.9, ..GenerateOptions::max_tokens(80) })]
    generate: GenerateOptions,
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
    let answers = question.sample(options.n, options.generate).await?;
    let judges = answers.iter().map(async |each| judged(each.context.fork().await?).await);
    let scores = gather(judges).await?;

    let mut best = 0;
    for (number, score) in scores.iter().enumerate() {
        runtime::log(LogLevel::Info, &format!("{score}  {}", answers[number].answer.text));
        if *score > scores[best] {
            best = number;
        }
    }
    quire::println!("{}", answers[best].answer.text)
}
