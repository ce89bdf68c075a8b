//! tree_of_thought: works towards an answer in steps, of which the most promising are followed.
use quire::{gather, session, Context, GenerateOptions, Options, Prompt, Result};

#[derive(Options)]
struct Program {
    #[option(default = "All but 9 of a farmer's 17 sheep run away. How many are left?")]
    prompt: Prompt,
    /// Steps before the answer
    #[option(range = 1..=16, default = 2)]
    depth: u32,
    /// Ways to take each step that are tried
    #[option(range = 1..=64, default = 3)]
    width: u32,
    /// Thoughts that are followed to the next step
    #[option(range = 1..=64, default = 2)]
    keep: u32,
    /// Tokens of the answer at most
    #[option(default = 128)]
    answer_tokens: u32,
    #[option(default = GenerateOptions { temperature: 0.8, max_tokens: 48, ..Default::default() })]
    step: GenerateOptions,
}

struct Thought {
    context: Context,
    promise: f64,
}

/// The model judges in a fork, so that its verdict is not part of the thought.
async fn judged(context: Context) -> Result<Thought> {
    let mut judge = context.fork().await?;
    judge.user("Does this lead to the right answer? Say sure, maybe or never.");
    let verdict = judge.choose(["sure", "maybe", "never"]).await?;
    Ok(Thought { context, promise: verdict.probabilities[0] + 0.5 * verdict.probabilities[1] })
}

/// All ways to take the next step, computed and judged side by side.
async fn grow(mut thoughts: Vec<Thought>, options: &Program) -> Result<Vec<Thought>> {
    for each in &mut thoughts {
        each.context.user("Take the next step, in one sentence.");
    }
    let proposals = gather(
        thoughts.iter_mut().map(|each| each.context.sample(options.width, options.step.clone())),
    );
    let branches = proposals.await?.into_iter().flatten();
    let mut grown = gather(branches.map(|each| judged(each.context))).await?;
    grown.sort_by(|a, b| b.promise.total_cmp(&a.promise));
    grown.truncate(options.keep as usize); // The pages of the others are free at once.
    Ok(grown)
}

#[quire::main]
async fn program(mut options: Program) -> Result<()> {
    let mut context = Context::create()?;
    context.system(format!("Work towards an answer to: {}", options.prompt.text().await?));
    let mut thoughts = vec![Thought { context, promise: 0.0 }];
    for _ in 0..options.depth {
        thoughts = grow(thoughts, &options).await?;
        options.step.seed += u64::from(options.width); // The next step draws other numbers.
    }
    let best = &mut thoughts[0].context;
    best.user("Now give the final answer.");
    let answer = GenerateOptions {
        max_tokens: options.answer_tokens,
        ignore_stop_tokens: options.step.ignore_stop_tokens,
        ..Default::default()
    };
    best.generate(answer).stream(session::send).await?;
    Ok(())
}
