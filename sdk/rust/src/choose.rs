//! How probable the model finds whole texts, as what comes next.
use crate::context::{to_numbers, Counters};
use crate::host;
use crate::low::Embeds;
use crate::model::TokenizeOptions;
use crate::raw;
use crate::{gather, Context, Error, HostFuture, Model, Result};

const READ_COUNT_MAX: usize = 256; // Embeds of one read.

/// How probable a text is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// The log-probability of the whole text, in nats.
    pub log_probability: f64,
    /// How many tokens it has.
    pub token_count: u32,
}

impl Score {
    /// The mean log-probability of its tokens.
    pub fn mean_log_probability(&self) -> f64 {
        self.log_probability / f64::from(self.token_count)
    }
}

/// The text of several that the model would rather write.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The most probable text; the first of several that are alike.
    pub index: usize,
    /// The texts to choose from.
    pub texts: Vec<String>,
    /// The score of each text.
    pub scores: Vec<Score>,
    /// The probability of each text, among these: they add up to 1.
    pub probabilities: Vec<f64>,
}

impl Choice {
    /// The most probable one.
    pub fn text(&self) -> &str {
        &self.texts[self.index]
    }
}

impl Context {
    /// How probable it is that the model writes `text` next. Nothing is appended. `invalid-argument` for a text
    /// without a token.
    ///
    /// What is queued is computed in a fork. If the context goes on after that, [`prefill`](Context::prefill) it before.
    pub async fn score(&self, text: &str) -> Result<Score> {
        let tokens = tokens_to_score(&self.model, text).await?;
        score_of(self.computed_fork().await?, tokens).await
    }

    /// The text that the model would rather write next, each as a whole. Nothing is appended; all
    /// of them are computed side by side, in forks.
    ///
    /// What is queued is computed in a fork. If the context goes on after that, [`prefill`](Context::prefill) it before.
    pub async fn choose<T: Into<String>>(
        &self,
        texts: impl IntoIterator<Item = T>,
    ) -> Result<Choice> {
        let texts: Vec<String> = texts.into_iter().map(Into::into).collect();
        if texts.is_empty() {
            return Err(Error::invalid("there is no text to choose"));
        }
        let model = self.model.clone();
        let tokens = gather(texts.iter().map(|each| tokens_to_score(&model, each))).await?;
        let computed = self.computed_fork().await?;
        let mut scores = Vec::new();
        for each in tokens {
            scores.push(score_of(computed.fork().await?, each));
        }
        let scores = gather(scores).await?;
        let mut index = 0;
        for (number, each) in scores.iter().enumerate() {
            if each.log_probability > scores[index].log_probability {
                index = number;
            }
        }
        let most = scores[index].log_probability;
        let shares: Vec<f64> =
            scores.iter().map(|each| (each.log_probability - most).exp()).collect();
        let sum: f64 = shares.iter().sum();
        Ok(Choice {
            index,
            texts,
            scores,
            probabilities: shares.iter().map(|each| each / sum).collect(),
        })
    }
}

impl Context {
    /// A fork that has nothing left to compute.
    async fn computed_fork(&self) -> Result<Context> {
        let mut fork = self.fork().await?;
        fork.prefill().await?;
        Ok(fork)
    }
}

async fn tokens_to_score(model: &Model, text: &str) -> Result<Vec<u32>> {
    let options = TokenizeOptions { parse_special: false, ..TokenizeOptions::default() };
    let tokens = model.tokenize(text, options).await?;
    if tokens.is_empty() {
        return Err(Error::invalid("a text without a token has no probability"));
    }
    Ok(tokens)
}

/// The log-probability of `tokens` after a fork of a computed context. It reads all of them but the
/// last, and has an output for each.
async fn score_of(mut fork: Context, tokens: Vec<u32>) -> Result<Score> {
    let queue = fork.queue().clone();
    let first = Embeds::allocate(&queue, 1)?;
    let more = Embeds::allocate(&queue, host::count(&tokens) - 1)?;
    let pass = |fork: &Context, embeds: &Embeds| {
        let embeds = &embeds.handles;
        let call =
            unsafe { raw::context::forward(fork.handle(), embeds.as_ptr(), host::count(embeds)) };
        HostFuture::new(call, Counters::decode)
    };
    let mut passes = vec![pass(&fork, &first)];
    if tokens.len() > 1 {
        fork.append(&tokens[..tokens.len() - 1])?;
        passes.push(pass(&fork, &more));
    }
    let embeds: Vec<i32> = first.handles.iter().chain(&more.handles).copied().collect();
    let reads: Vec<HostFuture<Vec<f32>>> = embeds
        .chunks(READ_COUNT_MAX)
        .zip(tokens.chunks(READ_COUNT_MAX))
        .map(|(embeds, tokens)| {
            let call = unsafe {
                raw::output::get_logprobs_of(
                    queue.handle(),
                    embeds.as_ptr(),
                    host::count(embeds),
                    tokens.as_ptr(),
                    host::count(tokens),
                )
            };
            HostFuture::new(call, to_numbers)
        })
        .collect();
    gather(passes).await?; // The error of a pass says more than that of a read after it.
    let nats: f64 = gather(reads).await?.iter().flatten().map(|each| f64::from(*each)).sum();
    Ok(Score { log_probability: nats, token_count: host::count(&tokens) })
}
