//! The arithmetic of a rule: how logits or probabilities that the program changed become a token.
//!
//! The host draws whatever the program leaves as it is. For the rest, here is `draw/include/quire/draw_arithmetic.h` in
//! Rust: the same operations of IEEE doubles in the same order, without a mathematical library, so that a program draws the
//! same token in both languages. That header says in which order the parts of a rule act, and why.
use crate::DrawRule;
use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

const LOG_TERMS: [f64; 12] = [
    1.0 / 23.0,
    1.0 / 21.0,
    1.0 / 19.0,
    1.0 / 17.0,
    1.0 / 15.0,
    1.0 / 13.0,
    1.0 / 11.0,
    1.0 / 9.0,
    1.0 / 7.0,
    1.0 / 5.0,
    1.0 / 3.0,
    1.0,
];
const EXP_TERMS: [f64; 14] = [
    1.0 / 14.0,
    1.0 / 13.0,
    1.0 / 12.0,
    1.0 / 11.0,
    1.0 / 10.0,
    1.0 / 9.0,
    1.0 / 8.0,
    1.0 / 7.0,
    1.0 / 6.0,
    1.0 / 5.0,
    1.0 / 4.0,
    1.0 / 3.0,
    1.0 / 2.0,
    1.0,
];

/// The logarithm of a positive, finite, normal number.
fn log2(value: f64) -> f64 {
    let bits = value.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    if mantissa > SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let s2 = s * s;
    let sum = LOG_TERMS.iter().fold(0.0, |sum, term| sum * s2 + term);
    f64::from(exponent) + 2.0 * s * sum * LOG2_E
}

/// 2 to the power of `value`, for values up to 1023; below -1022 it gives 0.
fn exp2(value: f64) -> f64 {
    if value.is_nan() || value < -1022.0 {
        return 0.0;
    }
    let value = value.min(1023.0);
    let whole = (value + if value < 0.0 { -0.5 } else { 0.5 }) as i32; // A cast cuts towards zero.
    let x = (value - f64::from(whole)) * LN_2;
    let sum = EXP_TERMS.iter().fold(1.0, |sum, term| 1.0 + sum * (x * term));
    sum * f64::from_bits(((whole + 1023) as u64) << 52)
}

/// A second number in [0, 1) that the first one decides.
fn second_random(random: f64) -> f64 {
    let mut mixed = random.to_bits().wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

/// Rounds a logit to f32 and keeps it finite.
fn rounded_logit(value: f64) -> f32 {
    let most = f64::from(f32::MAX);
    if value > most {
        f32::MAX
    } else if value < -most {
        f32::MIN
    } else {
        value as f32
    }
}

fn positive(probability: f32) -> f64 {
    if probability > 0.0 && probability <= 3.0e38 {
        f64::from(probability)
    } else {
        0.0
    }
}

/// (p / largest) ^ (1 / temperature).
fn weight(probability: f32, largest: f64, temperature: f64) -> f64 {
    let share = positive(probability) / largest;
    if temperature == 1.0 || share <= 0.0 {
        return share;
    }
    exp2(log2(share) / temperature)
}

fn penalizes_tokens(rule: &DrawRule) -> bool {
    rule.penalty_window > 0
        && (rule.repetition_penalty != 1.0
            || rule.presence_penalty != 0.0
            || rule.frequency_penalty != 0.0)
}
fn penalizes_repetitions(rule: &DrawRule) -> bool {
    rule.dry_window > 0 && rule.dry_multiplier > 0.0
}
/// Whether the rule works on logits, so that it cannot act on probabilities.
pub(crate) fn adjusts_logits(rule: &DrawRule) -> bool {
    !rule.logit_bias.is_empty()
        || penalizes_tokens(rule)
        || penalizes_repetitions(rule)
        || rule.top_n_sigma > 0.0
}

fn last_tokens(history: &[u32], count: u32) -> &[u32] {
    &history[history.len() - history.len().min(count as usize)..]
}

/// Repetition, presence and frequency penalties. The first token of `history` has the place `first` in the context.
fn penalize_tokens(logits: &mut [f32], rule: &DrawRule, history: &[u32], first: u64) {
    // One more than how often a token is counted, so that 0 is a token that did not occur.
    let mut counts = vec![0u32; logits.len()];
    let mut occurred = Vec::new();
    let window = last_tokens(history, rule.penalty_window);
    let begin = first + (history.len() - window.len()) as u64;
    for (place, token) in (begin..).zip(window) {
        let is_counted = place >= u64::from(rule.penalty_first);
        let Some(count) = counts.get_mut(*token as usize) else { continue };
        if *count == 0 {
            occurred.push(*token as usize);
            *count = 1;
        }
        *count += u32::from(is_counted);
    }
    for token in occurred {
        let count = f64::from(counts[token] - 1);
        if !logits[token].is_finite() {
            continue;
        }
        let logit = f64::from(logits[token]);
        let logit = if logit > 0.0 {
            logit / rule.repetition_penalty
        } else {
            logit * rule.repetition_penalty
        };
        let presence = if count > 0.0 { rule.presence_penalty } else { 0.0 };
        let subtracted = count * rule.frequency_penalty + presence;
        logits[token] = rounded_logit(logit - subtracted);
    }
}

/// multiplier * base^exponent by repeated squaring, at most 1e30.
fn repetition_cost(multiplier: f64, mut base: f64, mut exponent: u32) -> f64 {
    const MOST: f64 = 1e30;
    let mut power = 1.0;
    while exponent > 0 {
        if exponent & 1 != 0 {
            power *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    let cost = multiplier * power;
    if cost < MOST {
        cost
    } else {
        MOST
    }
}

/// For each place of the reversed history: how many tokens from there equal its first ones (Gusfield's Z algorithm).
fn match_beginnings(history: &[u32]) -> Vec<u32> {
    let count = history.len();
    let reversed = |at: usize| history[count - 1 - at];
    let mut lengths = vec![0u32; count];
    let (mut begin, mut end) = (0, 0); // The match that reaches furthest.
    for at in 1..count {
        let mut length = if at < end { (end - at).min(lengths[at - begin] as usize) } else { 0 };
        while at + length < count && reversed(length) == reversed(at + length) {
            length += 1;
        }
        lengths[at] = length as u32;
        if at + length > end {
            (begin, end) = (at, at + length);
        }
    }
    lengths
}

/// DRY.
fn penalize_repetitions(logits: &mut [f32], rule: &DrawRule, history: &[u32]) {
    let last = last_tokens(history, rule.dry_window);
    let is_breaker = |token: &u32| rule.dry_breakers.contains(token);
    let unbroken = last.iter().rev().take_while(|each| !is_breaker(each)).count() as u32;
    if unbroken == 0 {
        return;
    }
    let lengths = match_beginnings(last);
    let mut longest = vec![0u32; logits.len()];
    let mut occurred = Vec::new();
    for at in 1..last.len() {
        let length = lengths[at].min(unbroken);
        let next = last[last.len() - at]; // The token after the earlier occurrence.
        if length == 0 || next as usize >= logits.len() || is_breaker(&next) {
            continue;
        }
        let longest = &mut longest[next as usize];
        if *longest == 0 {
            occurred.push(next as usize);
        }
        *longest = length.max(*longest);
    }
    for token in occurred {
        let length = longest[token];
        if length < rule.dry_allowed_length || !logits[token].is_finite() {
            continue;
        }
        let exponent = length - rule.dry_allowed_length;
        let cost = repetition_cost(rule.dry_multiplier, rule.dry_base, exponent);
        logits[token] = rounded_logit(f64::from(logits[token]) - cost);
    }
}

fn adjust_logits(logits: &mut [f32], rule: &DrawRule, history: &[u32], first: u64) {
    for each in &rule.logit_bias {
        if let Some(logit) = logits.get_mut(each.token as usize).filter(|each| each.is_finite()) {
            *logit = rounded_logit(f64::from(*logit) + f64::from(each.bias));
        }
    }
    if penalizes_tokens(rule) {
        penalize_tokens(logits, rule, history, first);
    }
    if penalizes_repetitions(rule) {
        penalize_repetitions(logits, rule, history);
    }
}

/// Whether the mask allows the token; an empty mask allows all, a short one none of those beyond it.
pub(crate) fn is_allowed(mask: &[u32], token: u32) -> bool {
    let word = mask.get((token / 32) as usize).copied();
    mask.is_empty() || word.is_some_and(|word| word >> (token % 32) & 1 != 0)
}

/// The logits of at most `sigma_count` standard deviations below the largest one.
fn keep_within_sigma(sigma_count: f64, tokens: &mut Vec<u32>, logits: &mut Vec<f32>) {
    let (mut count, mut sum, mut largest) = (0.0, 0.0, f64::NEG_INFINITY);
    for each in logits.iter().filter(|each| each.is_finite()) {
        let logit = f64::from(*each);
        count += 1.0;
        sum += logit;
        largest = if logit > largest { logit } else { largest };
    }
    if count == 0.0 {
        return;
    }
    let mean = sum / count;
    let mut squares = 0.0;
    for each in logits.iter().filter(|each| each.is_finite()) {
        let distance = f64::from(*each) - mean;
        squares += distance * distance;
    }
    let least = largest - sigma_count * (squares / count).sqrt();
    let is_kept: Vec<bool> = logits.iter().map(|each| f64::from(*each) >= least).collect();
    let mut kept = is_kept.iter();
    tokens.retain(|_| kept.next() == Some(&true));
    let mut kept = is_kept.iter();
    logits.retain(|_| kept.next() == Some(&true));
}

/// The first of the largest logits; 0 if there is no number among them.
fn index_of_largest(logits: &[f32]) -> usize {
    let (mut largest, mut index) = (f32::NEG_INFINITY, 0);
    for (at, each) in logits.iter().enumerate() {
        if *each > largest {
            (largest, index) = (*each, at);
        }
    }
    index
}

/// In place: e^(logit - the largest), so the largest becomes 1.
pub(crate) fn softmax_numerators(logits: &mut [f32]) {
    if logits.is_empty() {
        return;
    }
    let largest = f64::from(logits[index_of_largest(logits)]);
    for each in logits {
        *each = exp2((f64::from(*each) - largest) * LOG2_E) as f32;
    }
}

/// Indices of the `count` largest of `values`, falling, ties by rising index.
pub(crate) fn rank(values: &[f32], count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    let before = |a: &u32, b: &u32| {
        values[*b as usize].total_cmp(&values[*a as usize]).then_with(|| a.cmp(b))
    };
    if count < order.len() {
        if count > 0 {
            order.select_nth_unstable_by(count - 1, before);
        }
        order.truncate(count);
    }
    order.sort_unstable_by(before);
    order
}

fn top_k_count(rule: &DrawRule, count: usize) -> usize {
    match rule.top_k as usize {
        0 => count,
        top_k => top_k.min(count),
    }
}

/// The typical ones of the weights, in their order: which they were.
fn typical_ranks(weights: &[f64], typical_p: f64) -> Vec<usize> {
    let total: f64 = weights.iter().fold(0.0, |sum, each| sum + each);
    let log_total = log2(total);
    let mut distances = vec![0.0; weights.len()];
    let mut ranks = Vec::new();
    let mut entropy = 0.0;
    for (at, each) in weights.iter().enumerate().filter(|(_, each)| **each != 0.0) {
        let surprise = log_total - log2(*each);
        distances[at] = surprise;
        ranks.push(at);
        entropy += each / total * surprise;
    }
    for at in &ranks {
        distances[*at] = (distances[*at] - entropy).abs();
    }
    ranks.sort_by(|a, b| distances[*a].total_cmp(&distances[*b]).then_with(|| a.cmp(b)));
    let share_max = typical_p * total;
    let (mut kept, mut kept_count) = (0.0, 0);
    while kept_count < ranks.len() && (kept_count == 0 || kept < share_max) {
        kept += weights[ranks[kept_count]];
        kept_count += 1;
    }
    ranks.truncate(kept_count);
    ranks.sort_unstable();
    ranks
}

/// The rank of the first token that XTC leaves, of weights that add up to `kept`.
fn first_after_xtc(weights: &[f64], kept: f64, rule: &DrawRule, random: f64) -> usize {
    if rule.xtc_probability <= 0.0 || second_random(random) >= rule.xtc_probability {
        return 0;
    }
    let choices = weights.iter().take_while(|each| **each / kept >= rule.xtc_threshold).count();
    choices.saturating_sub(1)
}

/// top_p, min_p, XTC and the draw: the rank of the drawn one of the weights, which fall and add up to `total`.
fn draw_weighed(weights: &[f64], total: f64, rule: &DrawRule, random: f64) -> usize {
    let share_max = if rule.top_p < 1.0 { rule.top_p * total } else { total };
    let least = rule.min_p * weights[0];
    let (mut kept, mut kept_count) = (0.0, 0);
    for each in weights {
        if kept_count > 0 && (kept >= share_max || *each < least || *each == 0.0) {
            break;
        }
        kept += each;
        kept_count += 1;
    }
    let weights = &weights[..kept_count];
    let first = first_after_xtc(weights, kept, rule, random);
    if first > 0 {
        kept = weights[first..].iter().fold(0.0, |sum, each| sum + each);
    }
    let wanted = random * kept;
    let mut passed = 0.0;
    for (at, each) in weights.iter().enumerate().skip(first) {
        passed += each;
        if wanted < passed {
            return at;
        }
    }
    weights.len() - 1
}

/// The rank of the drawn token. `probabilities` fall and need not add up to 1.
pub(crate) fn draw_index(probabilities: &[f32], rule: &DrawRule, random: f64) -> usize {
    if rule.is_greedy() || probabilities.is_empty() {
        return 0;
    }
    let largest = positive(probabilities[0]);
    if largest == 0.0 {
        return 0;
    }
    let count = top_k_count(rule, probabilities.len());
    let mut weights: Vec<f64> = probabilities[..count]
        .iter()
        .map(|each| weight(*each, largest, rule.temperature))
        .collect();
    let mut ranks = None;
    if rule.typical_p < 1.0 {
        let typical = typical_ranks(&weights, rule.typical_p);
        weights = typical.iter().map(|at| weights[*at]).collect();
        ranks = Some(typical);
    }
    let total = weights.iter().fold(0.0, |sum, each| sum + each);
    let drawn = draw_weighed(&weights, total, rule, random);
    ranks.map_or(drawn, |ranks| ranks[drawn])
}

/// The token that the rule draws from the logits of every token; nothing if the mask allows none. `history` holds the
/// tokens of the context, of which the first has the place `first`.
pub(crate) fn draw_token(
    mut logits: Vec<f32>,
    rule: &DrawRule,
    (history, first): (&[u32], u64),
    mask: &[u32],
    random: f64,
) -> Option<u32> {
    adjust_logits(&mut logits, rule, history, first);
    let (mut tokens, mut kept): (Vec<u32>, Vec<f32>) =
        (0..).zip(&logits).filter(|(token, _)| is_allowed(mask, *token)).unzip();
    if rule.top_n_sigma > 0.0 {
        keep_within_sigma(rule.top_n_sigma, &mut tokens, &mut kept);
    }
    if tokens.is_empty() {
        return None;
    }
    if rule.is_greedy() {
        return Some(tokens[index_of_largest(&kept)]);
    }
    softmax_numerators(&mut kept);
    let order = rank(&kept, top_k_count(rule, kept.len()));
    let probabilities: Vec<f32> = order.iter().map(|at| kept[*at as usize]).collect();
    Some(tokens[order[draw_index(&probabilities, rule, random)] as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Random;
    use crate::LogitBias;

    /// Rules, logits and histories of `draw/tests/draw_cases.h`, made from the same random numbers.
    struct Cases(Random);
    impl Cases {
        fn uniform(&mut self) -> f64 {
            let number = self.0.look_ahead(1)[0];
            self.0.use_one();
            number
        }
        fn next(&mut self) -> u64 {
            self.0.next()
        }
        fn any(&mut self, end: u64) -> u32 {
            (self.next() % end) as u32
        }
        fn logits(&mut self, count: u32) -> Vec<f32> {
            let spread =
                |cases: &mut Cases| cases.uniform() + cases.uniform() + cases.uniform() - 1.5;
            (0..count).map(|_| (spread(self) * 8.0) as f32).collect()
        }
        fn rule(&mut self, share: f64, token_count: u32) -> DrawRule {
            let mut rule =
                DrawRule { temperature: 0.2 + 1.5 * self.uniform(), ..DrawRule::default() };
            let is_on = |cases: &mut Cases| cases.uniform() < share;
            if is_on(self) {
                rule.top_k = 1 + self.any(40);
            }
            if is_on(self) {
                rule.top_p = self.uniform();
            }
            if is_on(self) {
                rule.min_p = 0.3 * self.uniform();
            }
            if is_on(self) {
                rule.typical_p = self.uniform();
            }
            if is_on(self) {
                rule.top_n_sigma = 3.0 * self.uniform();
            }
            if is_on(self) {
                rule.xtc_probability = self.uniform();
                rule.xtc_threshold = 0.3 * self.uniform();
            }
            if is_on(self) {
                rule.dry_multiplier = 2.0 * self.uniform();
                rule.dry_base = 1.0 + self.uniform();
                rule.dry_allowed_length = self.any(4);
                if is_on(self) {
                    rule.dry_window = self.any(50);
                }
                if is_on(self) {
                    rule.dry_breakers = vec![self.any(5), self.any(5)];
                }
            }
            if is_on(self) {
                rule.repetition_penalty = 0.5 + self.uniform();
            }
            if is_on(self) {
                rule.presence_penalty = 2.0 * self.uniform() - 0.5;
            }
            if is_on(self) {
                rule.frequency_penalty = self.uniform() - 0.2;
            }
            if is_on(self) {
                rule.penalty_window = self.any(50);
            }
            if is_on(self) {
                for each in 0..5 {
                    let bias = self.any(40) as f32 - 20.0;
                    rule.logit_bias.push(LogitBias { token: each * (token_count / 5), bias });
                }
            }
            rule
        }
    }

    /// FNV-1a over the tokens that 600 rules draw and over the bits of the logits that they adjusted. The number is
    /// `kDigestOfRules` of `draw/tests/draw_cases.h`: programs in Rust and in C++ draw the same tokens.
    #[test]
    fn six_hundred_rules_draw_the_tokens_that_the_host_draws() {
        let mut digest: u64 = 0xcbf2_9ce4_8422_2325;
        let mut take_in = |value: u64| {
            for byte in value.to_le_bytes() {
                digest = (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        };
        let mut cases = Cases(Random::new(17));
        for round in 0..600 {
            let count = if round % 2 == 0 { 700 } else { 33 };
            let mut rule = cases.rule(if round % 3 == 0 { 0.15 } else { 0.5 }, count);
            if round % 10 == 0 {
                rule.temperature = 0.0;
            }
            let mut logits = cases.logits(count);
            let history: Vec<u32> = (0..100).map(|_| cases.any(6)).collect();
            let mask: Vec<u32> = (0..count.div_ceil(32)).map(|_| cases.next() as u32).collect();
            let mask: &[u32] = if round % 4 == 0 { &mask } else { &[] };
            let random = cases.uniform();
            let token = draw_token(logits.clone(), &rule, (&history, 0), mask, random);
            take_in(u64::from(token.unwrap_or(u32::MAX)));
            adjust_logits(&mut logits, &rule, &history, 0);
            logits.iter().for_each(|each| take_in(u64::from(each.to_bits())));
        }
        assert_eq!(digest, 904229239428993034);
    }

    #[test]
    fn a_distribution_falls_by_probability_then_by_token() {
        assert_eq!(rank(&[0.1, 0.4, 0.1, 0.4], 4), [1, 3, 0, 2]);
        assert_eq!(rank(&[0.1, 0.4, 0.1, 0.4], 3), [1, 3, 0]);
        assert!(is_allowed(&[], 99) && is_allowed(&[0, 2], 33) && !is_allowed(&[0, 2], 64));
    }
}
