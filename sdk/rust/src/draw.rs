//! How tokens are drawn. The host draws; here is the rule as it travels there, and what comes back.
use crate::host::{self, Handle, Record};
use crate::raw;
use crate::sampling;
use crate::{Context, Distribution, Error, Matcher, Model, Result};

/// Added to the logit of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogitBias {
    /// The token.
    pub token: u32,
    /// The number that is added to its logit.
    pub bias: f32,
}

/// By which rule a token is drawn; `draw/include/quire/draw_rule.h` has the ranges, and the order in which the parts
/// act. The defaults do nothing: temperature 0 takes the most probable token. The host checks the numbers.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct DrawRule {
    pub temperature: f64,
    pub top_k: u32,
    pub top_p: f64,
    pub min_p: f64,
    pub typical_p: f64,
    pub top_n_sigma: f64,
    pub xtc_probability: f64,
    pub xtc_threshold: f64,
    pub dry_multiplier: f64,
    pub dry_base: f64,
    pub dry_allowed_length: u32,
    pub dry_window: u32,
    pub dry_breakers: Vec<u32>,
    pub repetition_penalty: f64,
    pub presence_penalty: f64,
    pub frequency_penalty: f64,
    pub penalty_window: u32,
    pub penalty_first: u32,
    pub logit_bias: Vec<LogitBias>,
}

impl Default for DrawRule {
    fn default() -> Self {
        DrawRule {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            typical_p: 1.0,
            top_n_sigma: 0.0,
            xtc_probability: 0.0,
            xtc_threshold: 0.1,
            dry_multiplier: 0.0,
            dry_base: 1.75,
            dry_allowed_length: 2,
            dry_window: u32::MAX,
            dry_breakers: Vec::new(),
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            penalty_window: u32::MAX,
            penalty_first: 0,
            logit_bias: Vec::new(),
        }
    }
}

impl DrawRule {
    /// The options that differ from their defaults, as the host takes them.
    fn options(&self) -> Vec<u8> {
        let nothing = DrawRule::default();
        let mut out = Vec::new();
        let mut put = |key: u32, value: &[u8]| {
            out.extend_from_slice(&key.to_le_bytes());
            out.extend_from_slice(&(value.len() as u32).to_le_bytes());
            out.extend_from_slice(value);
        };
        let mut real = |key, value: f64, default: f64| {
            if value != default {
                put(key, &value.to_le_bytes());
            }
        };
        real(1, self.temperature, nothing.temperature);
        real(3, self.top_p, nothing.top_p);
        real(4, self.min_p, nothing.min_p);
        real(5, self.typical_p, nothing.typical_p);
        real(6, self.top_n_sigma, nothing.top_n_sigma);
        real(7, self.xtc_probability, nothing.xtc_probability);
        real(8, self.xtc_threshold, nothing.xtc_threshold);
        real(9, self.dry_multiplier, nothing.dry_multiplier);
        real(10, self.dry_base, nothing.dry_base);
        real(14, self.repetition_penalty, nothing.repetition_penalty);
        real(15, self.presence_penalty, nothing.presence_penalty);
        real(16, self.frequency_penalty, nothing.frequency_penalty);
        let mut whole = |key, value: u32, default: u32| {
            if value != default {
                put(key, &value.to_le_bytes());
            }
        };
        whole(2, self.top_k, nothing.top_k);
        whole(11, self.dry_allowed_length, nothing.dry_allowed_length);
        whole(12, self.dry_window, nothing.dry_window);
        whole(17, self.penalty_window, nothing.penalty_window);
        whole(19, self.penalty_first, nothing.penalty_first);
        if !self.dry_breakers.is_empty() {
            put(
                13,
                &self.dry_breakers.iter().flat_map(|each| each.to_le_bytes()).collect::<Vec<u8>>(),
            );
        }
        if !self.logit_bias.is_empty() {
            let pairs = self
                .logit_bias
                .iter()
                .flat_map(|each| [each.token.to_le_bytes(), each.bias.to_le_bytes()]);
            put(18, &pairs.flatten().collect::<Vec<u8>>());
        }
        out
    }

    pub(crate) fn is_greedy(&self) -> bool {
        self.temperature.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater)
    }

    /// As the host has it. `invalid-argument`: a number is out of its range.
    pub(crate) fn create(&self, model: &Model) -> Result<Handle> {
        let options = self.options();
        Handle::of_call(unsafe {
            raw::draw::create_rule(model.handle(), options.as_ptr(), host::count(&options))
        })
    }
}

/// A token, and how probable the model found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenProbability {
    /// The token.
    pub token: u32,
    /// The probability in the full softmax, before rule and grammar.
    pub probability: f32,
}

impl TokenProbability {
    /// In nats.
    pub fn log_probability(&self) -> f64 {
        f64::from(self.probability).max(f64::MIN_POSITIVE).ln()
    }
}

/// A token that was drawn.
#[derive(Clone, Debug)]
pub struct DrawnToken {
    /// With its share of the full softmax.
    pub token: TokenProbability,
    /// The grammar allowed no other.
    pub is_forced: bool,
    /// The most probable ones, where they were asked for.
    pub top: Vec<TokenProbability>,
}

/// Why no more came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawEnd {
    /// More may come.
    None,
    /// The last token ends a text.
    StopToken,
    /// As many as were asked for.
    Length,
    /// The program stopped it.
    Stopped,
    /// The text is one of the grammar, and nothing may follow.
    GrammarComplete,
    /// No token may come.
    NoTokenAllowed,
}

/// The tokens that one step drew.
#[derive(Clone, Debug)]
pub struct Draws {
    /// Whether, and why, it is the last.
    pub end: DrawEnd,
    /// In order.
    pub tokens: Vec<DrawnToken>,
    /// How many drafts were computed, drawn or not. The host ignored the others.
    pub draft_count: u32,
}

impl Draws {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Draws> {
        const ENDS: [DrawEnd; 6] = [
            DrawEnd::None,
            DrawEnd::StopToken,
            DrawEnd::Length,
            DrawEnd::Stopped,
            DrawEnd::GrammarComplete,
            DrawEnd::NoTokenAllowed,
        ];
        let mut record = Record::new(bytes, "a record of draws");
        let end = record.u32()? as usize;
        let end = *ENDS.get(end).ok_or_else(|| record.broken())?;
        let mut draws = Draws { end, tokens: Vec::new(), draft_count: 0 };
        for _ in 0..record.u32()? {
            let token = TokenProbability { token: record.u32()?, probability: record.f32()? };
            let flags = record.u32()?;
            let is_forced = flags & 1 != 0;
            if draws.tokens.is_empty() {
                draws.draft_count = flags >> 8 & 0xff;
            }
            let mut top = Vec::new();
            for _ in 0..record.u32()? {
                top.push(TokenProbability { token: record.u32()?, probability: record.f32()? });
            }
            draws.tokens.push(DrawnToken { token, is_forced, top });
        }
        record.end(draws)
    }

    pub(crate) fn one(token: DrawnToken) -> Draws {
        Draws { end: DrawEnd::None, tokens: vec![token], draft_count: 0 }
    }
}

impl DrawnToken {
    /// With its probability, and the `top_count` most probable tokens, in the softmax of `logits`.
    pub(crate) fn of_logits(mut logits: Vec<f32>, token: u32, top_count: u32) -> DrawnToken {
        for each in logits.iter_mut().filter(|each| each.is_nan()) {
            *each = f32::NEG_INFINITY;
        }
        sampling::softmax_numerators(&mut logits);
        let sum = logits.iter().fold(0.0, |sum, each| sum + f64::from(*each));
        let of = |token: u32| {
            let numerator = logits.get(token as usize).copied().unwrap_or(0.0);
            TokenProbability { token, probability: (f64::from(numerator) / sum) as f32 }
        };
        let top = match top_count {
            0 => Vec::new(),
            count => sampling::rank(&logits, count as usize).into_iter().map(of).collect(),
        };
        DrawnToken { token: of(token), is_forced: false, top }
    }
}

/// The random numbers of a seed, as the loop of the host uses them (`sampling.h`): where the program asks
/// for each step itself, the same tokens come.
#[derive(Debug)]
pub(crate) struct Random {
    state: [u64; 4],
    ahead: std::collections::VecDeque<f64>,
}

impl Random {
    pub(crate) fn new(mut seed: u64) -> Random {
        let state = std::array::from_fn(|_| {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        });
        Random { state, ahead: Default::default() }
    }
    pub(crate) fn next(&mut self) -> u64 {
        let state = &mut self.state;
        let result = state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        result
    }
    /// The next ones, none of which is used by that.
    pub(crate) fn look_ahead(&mut self, count: usize) -> Vec<f64> {
        while self.ahead.len() < count {
            let number = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
            self.ahead.push_back(number);
        }
        self.ahead.iter().copied().take(count).collect()
    }
    /// A token was drawn by the next one.
    pub(crate) fn use_one(&mut self) {
        self.ahead.pop_front();
    }
}

/// Draws tokens by a rule and the random numbers of a seed, as the loop of the host does. It is for programs that ask
/// for each step ([`Context::draw`](crate::Context::draw), [`verify`](crate::Context::verify)).
#[derive(Debug)]
pub struct Drawer {
    rule: DrawRule,
    random: Random,
    host_rule: Option<Handle>, // Created at the first draw.
    matchers: Vec<Matcher>,
    mask: Vec<u32>,
    top_count: u32,
}

impl Drawer {
    /// Makes a drawer with this rule and this seed.
    pub fn new(rule: DrawRule, seed: u64) -> Drawer {
        Drawer {
            rule,
            random: Random::new(seed),
            host_rule: None,
            matchers: Vec::new(),
            mask: Vec::new(),
            top_count: 0,
        }
    }
    /// Restricts the draws to the tokens that the matcher allows. May be called for several matchers.
    pub fn constrain(&mut self, matcher: Matcher) -> &mut Drawer {
        self.matchers.push(matcher);
        self
    }
    /// Restricts the draws to tokens whose bit is set: bit i of word i / 32. An empty mask allows all.
    pub fn allow(&mut self, mask: Vec<u32>) -> &mut Drawer {
        self.mask = mask;
        self
    }
    /// Lets each draw report so many of the most probable tokens.
    pub fn report_top(&mut self, count: u32) -> &mut Drawer {
        self.top_count = count;
        self
    }

    /// Draws from logits of the whole vocabulary, which the program made or changed, as the token after `context`. It
    /// follows the rule and the seed, among the tokens that the mask and the matchers allow. The call appends nothing and
    /// advances no matcher. Probabilities are those of the softmax of `logits`. `out-of-range`: no token is allowed.
    ///
    /// From the logits of a model it draws the same tokens as the host, but the two round in their own ways. That shows
    /// among tokens that are equally probable to six digits.
    pub async fn draw(&mut self, context: &Context, logits: Vec<f32>) -> Result<DrawnToken> {
        self.rule_handle(context.model())?; // The host checks the numbers.
        let token = self.token_of(context, &logits).await?;
        Ok(DrawnToken::of_logits(logits, token, self.top_count))
    }
    pub(crate) async fn token_of(&mut self, context: &Context, logits: &[f32]) -> Result<u32> {
        if !logits.iter().any(|each| each.is_finite()) {
            let message = format!("none of {} logits is a finite number", logits.len());
            return Err(Error::invalid(message));
        }
        let mask = self.allowed().await?;
        let history = (context.tokens(), u64::from(context.unknown_token_count()));
        let random = self.randoms(1)[0];
        let token = sampling::draw_token(logits.to_vec(), &self.rule, history, &mask, random);
        self.use_random();
        token.ok_or_else(no_token_left)
    }
    pub(crate) fn token_of_distribution(&mut self, distribution: &Distribution) -> u32 {
        let probabilities: Vec<f32> =
            distribution.tokens.iter().map(|each| each.probability).collect();
        let order = sampling::rank(&probabilities, probabilities.len());
        let falling: Vec<f32> = order.iter().map(|at| probabilities[*at as usize]).collect();
        let random = self.randoms(1)[0];
        let rank = sampling::draw_index(&falling, &self.rule, random);
        self.use_random();
        distribution.tokens[order[rank] as usize].token
    }
    /// The tokens that the mask and the matchers allow, as the bits of a mask; empty: every token.
    pub(crate) async fn allowed(&self) -> Result<Vec<u32>> {
        let mut words = self.mask.clone();
        for each in &self.matchers {
            let more = each.token_mask().await?;
            if words.is_empty() {
                words = vec![u32::MAX; more.len()];
            }
            for (word, more) in words.iter_mut().zip(more) {
                *word &= more;
            }
        }
        Ok(words)
    }

    pub(crate) fn rule(&self) -> &DrawRule {
        &self.rule
    }
    pub(crate) fn matchers(&self) -> &[Matcher] {
        &self.matchers
    }
    pub(crate) fn mask(&self) -> &[u32] {
        &self.mask
    }
    pub(crate) fn top_count(&self) -> u32 {
        self.top_count
    }
    pub(crate) fn matcher_handles(&self) -> Vec<i32> {
        self.matchers.iter().map(Matcher::handle).collect()
    }
    pub(crate) fn randoms(&mut self, count: usize) -> Vec<f64> {
        if self.rule.is_greedy() {
            return vec![0.0; count];
        }
        self.random.look_ahead(count)
    }
    pub(crate) fn rule_handle(&mut self, model: &Model) -> Result<i32> {
        if self.host_rule.is_none() {
            self.host_rule = Some(self.rule.create(model)?);
        }
        Ok(self.host_rule.as_ref().map_or(-1, Handle::get))
    }
    /// Takes the random numbers that the draws used: one for each token, except forced ones.
    pub(crate) fn note(&mut self, draws: &Draws) {
        for _ in draws.tokens.iter().filter(|each| !each.is_forced) {
            self.use_random();
        }
    }
    fn use_random(&mut self) {
        if !self.rule.is_greedy() {
            self.random.use_one();
        }
    }
}

pub(crate) fn no_token_left() -> Error {
    Error::new(crate::ErrorCode::OutOfRange, "no token can go on with this text under the grammar")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_travels_without_its_defaults() {
        assert!(DrawRule::default().options().is_empty());
        let rule = DrawRule {
            top_k: 5,
            logit_bias: vec![LogitBias { token: 7, bias: 1.0 }],
            ..Default::default()
        };
        let expected = [2u32, 4, 5, 18, 8, 7, 1f32.to_bits()].map(u32::to_le_bytes).concat();
        assert_eq!(rule.options(), expected);
    }

    #[test]
    fn a_record_that_is_cut_short_is_an_error() {
        let whole = [4u32, 1, 7, 0x3f00_0000, 1, 1, 8, 0x3e80_0000].map(u32::to_le_bytes).concat();
        let draws = Draws::decode(&whole).unwrap();
        assert_eq!(draws.end, DrawEnd::GrammarComplete);
        assert!(draws.tokens[0].is_forced && draws.tokens[0].top[0].probability == 0.25);
        for bytes in 0..whole.len() {
            assert!(Draws::decode(&whole[..bytes]).is_err());
        }
    }
}
