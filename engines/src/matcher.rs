//! Finds the matches of a pattern as a backtracking engine does, in bounded time.
//!
//! A backtracking engine tries alternatives in order and goes back when one fails. Published
//! patterns need that order and look-ahead, and texts are a megabyte of spaces at times. Two kinds
//! of notes keep the work in proportion to the text, however often it would go back otherwise:
//!
//! - Where what follows a run of one set was tried and failed is noted for the run, so that another
//!   attempt inside the same run tries none of these places again.
//! - After `STEPS_BEFORE_NOTES` steps of one attempt, each choice that failed at a place is noted
//!   and never tried there again.
//!
//! Both hold for all attempts at one text: whether steps match from a place on does not depend on
//! where the match began. In the bodies of look-ahead and of atomic groups, successes are noted too.

use crate::boundary::{Failure, Outcome};
use crate::pattern::{Kind, Place};
use crate::program::{At, Program, Step};
use std::collections::HashMap;

const STEPS_BEFORE_NOTES: usize = 64;
/// The most backtracks, of 48 bytes each. A run of one set takes one, a loop over a group two for
/// each turn.
const BACKTRACKS_MAX: usize = 1 << 24;
const NOTE_WORDS_MAX: usize = 1 << 25; // Of 8 bytes.
const ATOMIC_NOTES_MAX: usize = 1 << 23; // Of about 40 bytes.

/// Where to go on when a step fails, or what that failure means.
enum Back {
    Try {
        step: At,
        at: usize,
    },
    Failed {
        step: At,
        at: usize,
    },
    /// A greedy run, which went on at `at`, can go on one character earlier down to `low`.
    Give {
        step: At,
        at: usize,
        note: FailedRun,
    },
    /// A lazy run, which went on at `at`, can take `left` more.
    More {
        step: At,
        at: usize,
        left: u32,
        note: FailedRun,
    },
    RunFailed {
        step: At,
        note: FailedRun,
    },
    Restore {
        slot: u32,
        value: usize,
    },
}

/// The kind of a run's steps. Successes are worth a note in a body alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Whole,
    Look, // Where its match ends does not matter.
    Atomic,
}

/// A bit for each place in the text, for some of the steps.
#[derive(Default)]
struct Notes {
    bits: HashMap<At, Vec<u64>>,
    words: usize, // Of all steps.
}

impl Notes {
    fn contains(&self, step: At, at: usize) -> bool {
        self.bits.get(&step).is_some_and(|bits| bits[at / 64] >> (at % 64) & 1 == 1)
    }

    fn insert(&mut self, step: At, at: usize, text: &str) {
        let words = text.len() / 64 + 1;
        let bits = self.bits.entry(step).or_insert_with(|| {
            self.words += words;
            vec![0; words]
        });
        bits[at / 64] |= 1 << (at % 64);
    }
}

/// The outcome of one step.
enum Then {
    GoOn(At, usize),
    Back,
    Matched(usize),
}

/// All characters of `from..end` are of the set, the next is not, and what follows the run does not
/// match at any place from `low` to `end`.
#[derive(Clone, Copy, Default)]
struct FailedRun {
    from: usize,
    low: usize,
    end: usize,
}

/// In a body: the run from `from` went on at `went_on_at`, and the body matched up to `end`.
#[derive(Clone, Copy, Default)]
struct MatchedRun {
    from: usize,
    went_on_at: usize,
    end: usize,
}

/// Matches a program against one text, from left to right.
pub struct Matcher<'a> {
    program: &'a Program,
    text: &'a str,
    backtracks: Vec<Back>,
    slots: Vec<usize>,
    steps: usize,
    failed: Notes,
    failed_runs: Vec<FailedRun>,
    matched: Notes,
    matched_atomic: HashMap<(At, usize), usize>, // Where the body's match ends.
    matched_runs: Vec<MatchedRun>,
}

impl<'a> Matcher<'a> {
    pub fn new(program: &'a Program, text: &'a str) -> Self {
        Matcher {
            program,
            text,
            backtracks: Vec::new(),
            slots: vec![usize::MAX; program.slot_count],
            steps: 0,
            failed: Notes::default(),
            failed_runs: vec![FailedRun::default(); program.run_count],
            matched: Notes::default(),
            matched_atomic: HashMap::new(),
            matched_runs: vec![MatchedRun::default(); program.run_count],
        }
    }

    /// The first match at or after `at`, as byte offsets.
    pub fn find(&mut self, mut at: usize) -> Outcome<Option<(usize, usize)>> {
        loop {
            if let Some(first) = self.program.first {
                let set = &self.program.sets[first as usize];
                match self.text[at..].char_indices().find(|(_, each)| set.contains(*each)) {
                    Some((offset, _)) => at += offset,
                    None => return Ok(None),
                }
            }
            if let Some(end) = self.match_at(at)? {
                return Ok(Some((at, end)));
            }
            match self.character(at) {
                Some(character) => at += character.len_utf8(),
                None => return Ok(None),
            }
        }
    }

    fn match_at(&mut self, at: usize) -> Outcome<Option<usize>> {
        let character = self.character(at);
        let program = self.program;
        self.steps = 0;
        for alternative in &program.alternatives {
            if let Some(first) = alternative.first {
                let set = &program.sets[first as usize];
                if !character.is_some_and(|character| set.contains(character)) {
                    continue;
                }
            }
            if let Some(end) = self.run(alternative.begin, at, Body::Whole)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn character(&self, at: usize) -> Option<char> {
        match self.text.as_bytes().get(at) {
            Some(byte) if byte.is_ascii() => Some(*byte as char),
            _ => self.text[at..].chars().next(),
        }
    }

    /// The end of the steps from `step` on, if they match at `at`.
    fn run(&mut self, step: At, at: usize, body: Body) -> Outcome<Option<usize>> {
        let base = self.backtracks.len();
        let (mut step, mut at) = (step, at);
        loop {
            self.steps += 1;
            match self.take(step, at, body)? {
                Then::GoOn(next, place) => (step, at) = (next, place),
                Then::Back => match self.go_back(base) {
                    Some(place) => (step, at) = place,
                    None => return Ok(None),
                },
                Then::Matched(end) => {
                    if body != Body::Whole {
                        self.note_matched(base, end, body);
                    }
                    self.backtracks.truncate(base);
                    return Ok(Some(end));
                }
            }
        }
    }

    fn take(&mut self, step: At, at: usize, body: Body) -> Outcome<Then> {
        let program = self.program;
        let go_if = |condition: bool, next: At| {
            if condition {
                Then::GoOn(next, at)
            } else {
                Then::Back
            }
        };
        Ok(match &program.steps[step as usize] {
            Step::Done => Then::Matched(at),
            Step::One(set) => match self.character(at) {
                Some(character) if program.sets[*set as usize].contains(character) => {
                    Then::GoOn(step + 1, at + character.len_utf8())
                }
                _ => Then::Back,
            },
            Step::Run { .. } => self.begin_run(step, at, body)?,
            Step::Split(first, second) => self.split(step, at, body, *first, *second)?,
            Step::Jump(next) => Then::GoOn(*next, at),
            Step::Place(place) => go_if(self.is_at(*place, at), step + 1),
            Step::Ahead { body, negative, next } => {
                let found = self.run(*body, at, Body::Look)?.is_some();
                go_if(found != *negative, *next)
            }
            Step::Behind { bodies, negative, next } => {
                let found = self.is_behind(bodies, at)?;
                go_if(found != *negative, *next)
            }
            Step::Atomic { body, next } => match self.run(*body, at, Body::Atomic)? {
                Some(end) => Then::GoOn(*next, end),
                None => Then::Back,
            },
            Step::LoopBegin(slot) => {
                let value = std::mem::replace(&mut self.slots[*slot as usize], at);
                self.push(Back::Restore { slot: *slot, value })?;
                Then::GoOn(step + 1, at)
            }
            Step::LoopEnd { slot, exit } => {
                let is_empty = self.slots[*slot as usize] == at;
                Then::GoOn(if is_empty { *exit } else { step + 1 }, at)
            }
        })
    }

    fn push(&mut self, back: Back) -> Outcome<()> {
        if self.backtracks.len() >= BACKTRACKS_MAX {
            return Err(Failure::invalid(format!(
                "cutting into words: a match has more than {BACKTRACKS_MAX} ways to go on"
            )));
        }
        self.backtracks.push(back);
        Ok(())
    }

    fn split(&mut self, step: At, at: usize, body: Body, first: At, second: At) -> Outcome<Then> {
        if self.steps > STEPS_BEFORE_NOTES {
            if self.failed.contains(step, at) {
                return Ok(Then::Back);
            }
            if body == Body::Look && self.matched.contains(step, at) {
                return Ok(Then::Matched(at));
            }
            if body == Body::Atomic {
                if let Some(end) = self.matched_atomic.get(&(step, at)) {
                    return Ok(Then::Matched(*end));
                }
            }
            if self.failed.words + self.matched.words > NOTE_WORDS_MAX
                || self.matched_atomic.len() > ATOMIC_NOTES_MAX
            {
                let bytes = self.text.len();
                return Err(Failure::invalid(format!(
                    "cutting into words: the pattern has too many choices for {bytes} bytes of text"
                )));
            }
            self.push(Back::Failed { step, at })?;
        }
        self.push(Back::Try { step: second, at })?;
        Ok(Then::GoOn(first, at))
    }

    fn begin_run(&mut self, step: At, at: usize, body: Body) -> Outcome<Then> {
        let program = self.program;
        let Step::Run { set, least, most, kind, run, fixed } = &program.steps[step as usize] else {
            return Ok(Then::Back);
        };
        let (set, index) = (&program.sets[*set as usize], *run as usize);
        let unbounded = *most == u32::MAX;
        let failed = if unbounded { self.failed_runs[index] } else { FailedRun::default() };
        if failed.from <= at && at < failed.end {
            return Ok(Then::Back);
        }
        let matched = self.matched_runs[index];
        let knows_match = body != Body::Whole && unbounded && *kind != Kind::Lazy;
        let wanted = if *kind == Kind::Lazy { *least } else { *most };
        let (mut end, mut low, mut count) = (at, at, 0);
        let mut reached = false; // The run of the note, from before it.
        let nothing_ahead = failed.end <= at && (!knows_match || matched.went_on_at <= at);
        while let Some(character) = self.character(end) {
            if !nothing_ahead {
                reached |= end == failed.from && end < failed.end;
                let is_known = knows_match && matched.from <= end && end < matched.went_on_at;
                if is_known && count >= *least {
                    self.matched_runs[index].from = matched.from.min(at);
                    return Ok(Then::Matched(matched.end));
                }
            }
            if count == wanted || (reached && count >= *least) || !set.contains(character) {
                break;
            }
            end += character.len_utf8();
            count += 1;
            if count == *least {
                low = end;
            }
        }
        if count < *least {
            return Ok(Then::Back);
        }
        let mut note = FailedRun { from: at, low, end: if reached { failed.end } else { end } };
        if *kind == Kind::Lazy {
            self.push(Back::More { step, at: low, left: *most - count, note })?;
            return Ok(Then::GoOn(step + 1, low));
        }
        let gives_back = *kind == Kind::Greedy && !*fixed;
        if !gives_back {
            note.low = note.end;
        }
        if reached {
            // The places that are left to try lie before those that the note knows.
            let last = self.text[low..failed.low.max(low)].chars().next_back();
            let Some(last) = last.filter(|_| gives_back) else {
                self.failed_runs[index] = FailedRun { low: failed.low, ..note };
                return Ok(Then::Back);
            };
            end = failed.low - last.len_utf8();
        }
        self.go_on_after_run(step, end, note, body)
    }

    fn go_on_after_run(
        &mut self,
        step: At,
        end: usize,
        note: FailedRun,
        body: Body,
    ) -> Outcome<Then> {
        let next = step + 1;
        // Nothing goes back from steps that match whatever follows.
        if body != Body::Whole || !self.program.sure[next as usize] {
            self.push(match note.low < end {
                true => Back::Give { step, at: end, note },
                false => Back::RunFailed { step, note },
            })?;
        }
        Ok(Then::GoOn(next, end))
    }

    /// The next way to go on that this run of steps has left.
    fn go_back(&mut self, base: usize) -> Option<(At, usize)> {
        while self.backtracks.len() > base {
            match self.backtracks.pop()? {
                Back::Try { step, at } => return Some((step, at)),
                Back::Failed { step, at } => self.failed.insert(step, at, self.text),
                Back::Give { step, at, note } => {
                    let last = self.text[note.low..at].chars().next_back();
                    let at = at - last.map_or(0, char::len_utf8);
                    // When the shortest run has failed too, all of them have.
                    self.backtracks.push(if at > note.low {
                        Back::Give { step, at, note }
                    } else {
                        Back::RunFailed { step, note }
                    });
                    return Some((step + 1, at));
                }
                Back::More { step, at, left, note } => {
                    if let Some(at) = self.take_one_more(step, at, left, note) {
                        return Some((step + 1, at));
                    }
                }
                Back::RunFailed { step, note } => self.note_failed_run(step, note),
                Back::Restore { slot, value } => self.slots[slot as usize] = value,
            }
        }
        None
    }

    fn note_failed_run(&mut self, step: At, note: FailedRun) {
        if let Step::Run { most: u32::MAX, run, .. } = &self.program.steps[step as usize] {
            self.failed_runs[*run as usize] = note;
        }
    }

    /// A lazy run takes one more character after what followed has failed.
    fn take_one_more(&mut self, step: At, at: usize, left: u32, note: FailedRun) -> Option<usize> {
        let Step::Run { set, most, run, .. } = &self.program.steps[step as usize] else {
            return None;
        };
        let set = &self.program.sets[*set as usize];
        let character = self.character(at).filter(|each| left > 0 && set.contains(*each));
        let Some(character) = character else {
            self.note_failed_run(step, FailedRun { end: at, ..note });
            return None;
        };
        let next = at + character.len_utf8();
        let failed = self.failed_runs[*run as usize];
        let inside = failed.from <= at && at < failed.end && failed.low <= next;
        if *most == u32::MAX && inside {
            self.note_failed_run(step, FailedRun { end: failed.end, ..note });
            return None;
        }
        self.backtracks.push(Back::More { step, at: next, left: left - 1, note });
        Some(next)
    }

    /// Notes that the steps that are still on the way back led to the match of this body.
    fn note_matched(&mut self, base: usize, end: usize, body: Body) {
        let backtracks = std::mem::take(&mut self.backtracks);
        for back in &backtracks[base..] {
            match back {
                Back::Failed { step, at } if body == Body::Look => {
                    self.matched.insert(*step, *at, self.text);
                }
                Back::Failed { step, at } => {
                    self.matched_atomic.insert((*step, *at), end);
                }
                Back::Give { step, at, note } => self.note_matched_run(*step, *at, note.from, end),
                Back::RunFailed { step, note } => {
                    self.note_matched_run(*step, note.low, note.from, end);
                }
                _ => {}
            }
        }
        self.backtracks = backtracks;
    }

    fn note_matched_run(&mut self, step: At, went_on_at: usize, from: usize, end: usize) {
        if let Step::Run { most: u32::MAX, run, .. } = &self.program.steps[step as usize] {
            self.matched_runs[*run as usize] = MatchedRun { from, went_on_at, end };
        }
    }

    fn is_at(&self, place: Place, at: usize) -> bool {
        let bytes = self.text.as_bytes();
        let is_word = |character: Option<char>| {
            character.is_some_and(|character| self.program.word.contains(character))
        };
        let at_edge = || {
            let before = self.text[..at].chars().next_back();
            is_word(before) != is_word(self.character(at))
        };
        match place {
            Place::TextBegin => at == 0,
            Place::TextEnd => at == bytes.len(),
            Place::LastLineEnd => &bytes[at..] == b"" || &bytes[at..] == b"\n",
            Place::LineBegin => at == 0 || (bytes[at - 1] == b'\n' && at < bytes.len()),
            Place::LineEnd => at == bytes.len() || bytes[at] == b'\n',
            Place::WordEdge => at_edge(),
            Place::NoWordEdge => !at_edge(),
        }
    }

    fn is_behind(&mut self, bodies: &[(u32, At)], at: usize) -> Outcome<bool> {
        for (count, body) in bodies {
            let mut before = self.text[..at].char_indices().rev();
            let begin = match count {
                0 => Some(at),
                _ => before.nth(*count as usize - 1).map(|(begin, _)| begin),
            };
            if let Some(begin) = begin {
                if self.run(*body, begin, Body::Look)?.is_some() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}
