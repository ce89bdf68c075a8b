//! Drafts from the text of the context: "prompt lookup".
//!
//! The C++ SDK has the same in `quire/token_index.h` and `quire/prompt_drafts.h`.
use crate::context::Context;

/// The drafts of one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DraftCounts {
    pub(crate) computed: u32, // The host ignores drafts that have no room or would not pay off.
    pub(crate) accepted: u32, // Of these, the ones that were drawn.
}

/// Guesses the next tokens of a generation.
pub(crate) trait Guess {
    fn guess(&mut self, context: &Context) -> Vec<u32>;
    fn note(&mut self, _counts: DraftCounts) {}
}
pub(crate) struct ByClosure<F>(pub(crate) F);
impl<F: FnMut(&Context) -> Vec<u32>> Guess for ByClosure<F> {
    fn guess(&mut self, context: &Context) -> Vec<u32> {
        (self.0)(context)
    }
}

const KEY_COUNT: usize = 3; // Tokens of the shortest match.
const MATCH_COUNT_MAX: usize = 32;
const PLACE_COUNT_MAX: usize = 64;
const TOKEN_COUNT_MAX: usize = 131_072;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Match {
    end: u64, // The text goes on there.
    length: usize,
}

/// Finds where the last tokens of a text stood before. A token costs the same however long the text is. It
/// remembers the last 131,072 tokens, with 12 bytes for each.
#[derive(Clone, Debug, Default)]
struct TokenIndex {
    count: u64,
    tokens: Vec<u32>, // By position modulo their number, a power of two.
    before: Vec<u32>, // The place before each with the same hash,
    heads: Vec<u32>,  // and the last place of each hash.
}

impl TokenIndex {
    const NO_PLACE: u32 = u32::MAX;
    const FIRST_CAPACITY: usize = 64;

    fn at(&self, place: u64) -> usize {
        (place & (self.tokens.len() as u64 - 1)) as usize
    }
    fn token(&self, place: u64) -> u32 {
        self.tokens[self.at(place)]
    }
    fn slot_of(&self, key: [u32; KEY_COUNT]) -> usize {
        let mut hash = u64::from(key[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ u64::from(key[1])).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 29 ^ u64::from(key[2])).wrapping_mul(0x94d0_49bb_1331_11eb);
        self.at(hash >> 33)
    }
    fn append(&mut self, token: u32) {
        if self.count == self.tokens.len() as u64 && self.tokens.len() < TOKEN_COUNT_MAX {
            self.grow();
        }
        let at = self.at(self.count);
        self.tokens[at] = token;
        self.count += 1;
        self.link(self.count - 1);
    }
    fn link(&mut self, place: u64) {
        if place + 1 < KEY_COUNT as u64 {
            return;
        }
        let slot = self.slot_of([self.token(place - 2), self.token(place - 1), self.token(place)]);
        let at = self.at(place);
        self.before[at] = self.heads[slot];
        self.heads[slot] = place as u32;
    }
    fn grow(&mut self) {
        let capacity = (self.tokens.len() * 2).max(Self::FIRST_CAPACITY);
        self.tokens.resize(capacity, 0);
        self.before = vec![Self::NO_PLACE; capacity];
        self.heads = vec![Self::NO_PLACE; capacity];
        for place in 0..self.count {
            self.link(place);
        }
    }

    /// Finds where the last tokens of this text stood before.
    fn repeated(&self) -> Match {
        if self.count < KEY_COUNT as u64 {
            return Match::default();
        }
        let length = MATCH_COUNT_MAX.min(self.tokens.len()).min(self.count as usize);
        let last: Vec<u32> =
            (0..length).map(|i| self.token(self.count - length as u64 + i as u64)).collect();
        self.longest(&last, self.before[self.at(self.count - 1)])
    }
    /// Finds where the last tokens of `text`, another one, stand in this text.
    fn find(&self, text: &[u32]) -> Match {
        match text.last_chunk::<KEY_COUNT>() {
            Some(key) if !self.tokens.is_empty() => {
                self.longest(text, self.heads[self.slot_of(*key)])
            }
            _ => Match::default(),
        }
    }
    /// The next `count` tokens after a match; with `repeats` as if the text repeated from the match on.
    fn after(&self, found: Match, count: usize, repeats: bool) -> Vec<u32> {
        if found.length == 0 || found.end >= self.count {
            return Vec::new();
        }
        let period = self.count - found.end;
        let count = if repeats { count as u64 } else { period.min(count as u64) };
        (0..count).map(|i| self.token(found.end + i % period)).collect()
    }

    /// Follows the places from `place` on, each of which is earlier than the one before it.
    fn longest(&self, text: &[u32], mut place: u32) -> Match {
        let mut best = Match::default();
        let mut later = self.count;
        for _ in 0..PLACE_COUNT_MAX {
            let distance = u64::from((self.count as u32).wrapping_sub(place));
            if place == Self::NO_PLACE
                || distance > self.count
                || distance > self.tokens.len() as u64
                || self.count - distance >= later
            {
                break;
            }
            let position = self.count - distance;
            later = position;
            let length = self.length_at(text, position);
            if length > best.length {
                best = Match { end: position + 1, length };
            }
            place = self.before[self.at(position)];
        }
        if best.length < KEY_COUNT {
            Match::default()
        } else {
            best
        }
    }
    /// How many of the last tokens of `text` stand at `position` and before it.
    fn length_at(&self, text: &[u32], position: u64) -> usize {
        let kept = self.count.min(self.tokens.len() as u64) - (self.count - 1 - position);
        let limit = text.len().min(MATCH_COUNT_MAX).min(kept as usize);
        (0..limit)
            .take_while(|i| self.token(position - *i as u64) == text[text.len() - 1 - i])
            .count()
    }
}

/// How many tokens are worth proposing, by what became of earlier guesses.
#[derive(Clone, Debug)]
struct DraftGate {
    count: u32,
    miss_count: u32, // One after the other.
    pause: u32,
    pause_left: u32,
    is_hot: bool, // The last guess was right, at least half of it.
}

impl DraftGate {
    const MATCH_MIN: usize = 4; // Tokens of a match,
    const MATCH_MIN_AFTER_HIT: usize = 3; // after a guess that was right,
    const MATCH_MIN_IN_PAUSE: usize = 8; // and one that ends a pause.
    const COUNT_MIN: u32 = 4; // Drafts.
    const COUNT_MAX: u32 = 32;
    const MISS_COUNT_MAX: u32 = 2;
    const PAUSE_MIN: u32 = 16; // Tokens; twice as many each time.
    const PAUSE_MAX: u32 = 256;

    fn new() -> DraftGate {
        DraftGate {
            count: Self::COUNT_MIN,
            miss_count: 0,
            pause: Self::PAUSE_MIN,
            pause_left: 0,
            is_hot: false,
        }
    }
    /// The number of tokens to propose next, where a match of so many tokens was found.
    fn count_for(&mut self, match_length: usize) -> usize {
        let wanted = match (self.pause_left > 0, self.is_hot) {
            (true, _) => Self::MATCH_MIN_IN_PAUSE,
            (false, true) => Self::MATCH_MIN_AFTER_HIT,
            (false, false) => Self::MATCH_MIN,
        };
        self.pause_left = self.pause_left.saturating_sub(1);
        if match_length < wanted {
            0
        } else {
            self.count as usize
        }
    }
    /// Takes what became of the guess. Nothing is learned from drafts that were not computed.
    fn note(&mut self, counts: DraftCounts) {
        if counts.computed == 0 {
            return;
        }
        let is_miss = counts.accepted * 4 < counts.computed; // It cost more than it saved.
        self.is_hot = counts.accepted * 2 >= counts.computed;
        if self.is_hot {
            (self.pause, self.pause_left) = (Self::PAUSE_MIN, 0);
        }
        self.count = if counts.accepted == counts.computed {
            self.count.max((counts.computed * 2).min(Self::COUNT_MAX))
        } else {
            counts.accepted.clamp(Self::COUNT_MIN, Self::COUNT_MAX)
        };
        self.miss_count = if is_miss { self.miss_count + 1 } else { 0 };
        if self.miss_count == Self::MISS_COUNT_MAX {
            self.miss_count = 0;
            self.pause_left = self.pause;
            self.pause = (self.pause * 2).min(Self::PAUSE_MAX);
        }
    }
}

/// Proposes text that stood in the context before: "prompt lookup".
///
/// ```no_run
/// # use quire::{drafts_from, Context, GenerateOptions, Result};
/// # async fn program(mut context: Context) -> Result<()> {
/// let drafts = drafts_from(&context);
/// let answer = context.generate(GenerateOptions::max_tokens(500)).draft_from(drafts).await?;
/// # Ok(())
/// # }
/// ```
///
/// The last tokens of the context are looked up in it, and the tokens that followed the longest match are proposed. A
/// model that repeats parts of its prompt, as in an edit of a file, then needs a fraction of the passes. What is drawn
/// does not change. A draft that is not drawn costs time. So it proposes few tokens first, twice as many after each guess
/// that was right, and pauses after two that were wrong.
///
/// A token costs the same however long the context is. The last 131,072 tokens are looked up, with 12 bytes for each.
/// The method is that of "Prompt Lookup Decoding" (Saxena, 2023).
#[derive(Clone, Debug)]
pub struct PromptDrafts {
    text: TokenIndex, // Of the context.
    prediction: TokenIndex,
    gate: DraftGate,
    has_begun: bool,
}

/// Drafts from the text of `context`, for [`draft_from`](crate::Generator::draft_from) of a generation that goes on with it.
pub fn drafts_from(context: &Context) -> PromptDrafts {
    let mut drafts = PromptDrafts {
        text: TokenIndex::default(),
        prediction: TokenIndex::default(),
        gate: DraftGate::new(),
        has_begun: false,
    };
    drafts.follow(context.tokens());
    drafts
}

impl PromptDrafts {
    /// Adds tokens that the answer may repeat, as it may those of the context: what the program expects.
    pub fn predict(mut self, tokens: &[u32]) -> PromptDrafts {
        for token in tokens {
            self.prediction.append(*token);
        }
        self
    }

    /// Takes the tokens that came since. A text that was changed before its end is taken anew.
    fn follow(&mut self, tokens: &[u32]) {
        const SEEN_COUNT: u64 = 16; // Tokens that show whether the text is the same.
        let known = self.text.count;
        let goes_on = known <= tokens.len() as u64
            && (1..=known.min(SEEN_COUNT))
                .all(|i| tokens[(known - i) as usize] == self.text.token(known - i));
        if !goes_on {
            self.text = TokenIndex::default();
        }
        for token in &tokens[self.text.count as usize..] {
            self.text.append(*token);
        }
    }
    fn guess_after(&mut self, tokens: &[u32]) -> Vec<u32> {
        self.follow(tokens);
        if !std::mem::replace(&mut self.has_begun, true) {
            // This pass computes the prompt, after which an answer most likely begins anew.
            let begin = Match { end: 0, length: 1 };
            return self.prediction.after(begin, DraftGate::COUNT_MIN as usize, false);
        }
        let first = tokens.len().saturating_sub(MATCH_COUNT_MAX);
        let (predicted, repeated) = (self.prediction.find(&tokens[first..]), self.text.repeated());
        if predicted.length > 0 && predicted.length >= repeated.length {
            let count = self.gate.count_for(predicted.length);
            self.prediction.after(predicted, count, false)
        } else {
            let count = self.gate.count_for(repeated.length);
            self.text.after(repeated, count, true)
        }
    }
}

impl Guess for PromptDrafts {
    fn guess(&mut self, context: &Context) -> Vec<u32> {
        self.guess_after(context.tokens())
    }
    fn note(&mut self, counts: DraftCounts) {
        self.gate.note(counts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Random;

    /// The longest run of last tokens of `text` that ends in `within` before `end`; of several the last one. Only the
    /// last places of the last three tokens count.
    fn longest_match(text: &[u32], within: &[u32], end: usize) -> Match {
        let mut best = Match::default();
        let mut place_count = 0;
        for at in (1..=end).rev() {
            let limit = MATCH_COUNT_MAX.min(at).min(text.len());
            let length =
                (0..limit).take_while(|i| within[at - 1 - i] == text[text.len() - 1 - i]).count();
            if length > best.length && length >= KEY_COUNT {
                best = Match { end: at as u64, length };
            }
            place_count += usize::from(length >= KEY_COUNT);
            if place_count == PLACE_COUNT_MAX {
                break;
            }
        }
        best
    }

    /// A text that repeats parts of itself.
    fn repeating_text(random: &mut Random, count: usize) -> Vec<u32> {
        let mut below = |limit: usize| (random.next() % limit as u64) as usize;
        let mut text = Vec::new();
        while text.len() < count {
            if text.len() < 8 || below(3) > 0 {
                text.push(below(100_000) as u32);
                continue;
            }
            let from = below(text.len());
            let length = below(12).min(text.len() - from);
            text.extend_from_within(from..from + length);
        }
        text
    }

    #[test]
    fn finds_the_longest_match_as_a_search_of_the_whole_text_does() {
        for seed in 0..20 {
            let mut random = Random::new(seed);
            let text = repeating_text(&mut random, 300);
            let mut index = TokenIndex::default();
            for (place, token) in text.iter().enumerate() {
                index.append(*token);
                let seen = &text[..=place];
                let wanted = longest_match(seen, seen, place);
                assert_eq!(index.repeated(), wanted, "seed {seed}, place {place}");
            }
            let other = repeating_text(&mut random, 100);
            for count in 0..100 {
                let mut mixed = text[count..count + 8].to_vec();
                mixed.extend(&other[..count]);
                assert_eq!(index.find(&mixed), longest_match(&mixed, &text, text.len()));
            }
        }
    }

    #[test]
    fn proposes_few_then_more_and_pauses_after_two_misses() {
        let mut drafts = PromptDrafts {
            text: TokenIndex::default(),
            prediction: TokenIndex::default(),
            gate: DraftGate::new(),
            has_begun: false,
        };
        let text: Vec<u32> = (0..100).chain(0..5).collect();
        assert!(drafts.guess_after(&text).is_empty()); // The pass that computes the prompt.
        assert_eq!(drafts.guess_after(&text), [5, 6, 7, 8]);
        drafts.note(DraftCounts { computed: 4, accepted: 4 });
        assert_eq!(drafts.guess_after(&text).len(), 8);
        drafts.note(DraftCounts::default()); // The host ignored them.
        assert_eq!(drafts.guess_after(&text).len(), 8);
        for _ in 0..2 {
            drafts.note(DraftCounts { computed: 8, accepted: 0 });
        }
        for _ in 0..DraftGate::PAUSE_MIN {
            assert!(drafts.guess_after(&text).is_empty());
        }
        assert_eq!(drafts.guess_after(&text), [5, 6, 7, 8]);
        let mut predicted = drafts.clone().predict(&[2, 3, 4, 77, 78]);
        predicted.note(DraftCounts { computed: 4, accepted: 4 });
        assert_eq!(predicted.guess_after(&[90, 2, 3, 4]), [77, 78]);
    }
}
