//! From a source to a grammar that matchers begin at, within limits.

use super::clock::{own_cpu_clock, time_of};
use super::failure::compile_failure;
use super::fits::fits;
use super::matcher::{lexer_failed, Matcher};
use super::pace::stand_behind_all;
use super::source::read_source;
use super::vocabulary::Shared;
use super::{GrammarKind, Limits};
use crate::boundary::{Failure, Outcome, Status};
use crate::memory::{held_bytes, peak_bytes};
use llguidance::api::{GrammarInit, ParserLimits};
use llguidance::toktrie::InferenceCapabilities;
use llguidance::{panic_utils, CancellationHandle, Logger, TokenParser};
use std::panic::AssertUnwindSafe;
use std::sync::{mpsc, Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Stack of a compilation. Schemas that name one another in a chain take up to 70 MiB of it, with what
/// they become. Only what is used becomes memory.
const COMPILE_STACK_BYTES: usize = 256 << 20;

/// Symbols in productions.
const GRAMMAR_SIZE_MAX: usize = 100_000;
/// Nodes of regular expressions while compiling. Compilation takes time quadratic in the number of
/// lexemes, and this also limits that.
const COMPILE_LEXER_FUEL: u64 = 120_000;
/// Work of one mask: nodes of regular expressions (14,000 a millisecond) and items of the parser
/// (20,000 a millisecond).
const MASK_LEXER_FUEL: u64 = 200_000;
const MASK_ITEM_COUNT_MAX: usize = 50_000;
/// States of a lexer that matchers share; each takes about 0.5 KiB.
const LEXER_STATE_COUNT_MAX: usize = 100_000;
/// A lexer that holds more is left to the matchers it has; new ones begin with a fresh one.
const SHARED_LEXER_BYTES_MAX: usize = 16 << 20;

/// A compilation may take so many times as long as it may compute, on a machine with much else to do.
const PATIENCE_FACTOR: u32 = 10;

/// A compilation that held more gives the memory back to the system when it ends.
const PEAK_BYTES_KEPT: isize = 16 << 20;

/// The state that the matchers of a grammar begin with.
pub struct Origin {
    pub vocabulary: Arc<Shared>,
    pub limits: Limits,
    pub kind: GrammarKind,
    /// Nothing runs in this one; it is only copied, with its lexer.
    pub pristine: TokenParser,
    /// The schema that the library was given, if it is of a JSON schema.
    schema: Option<serde_json::Value>,
}

pub struct Grammar {
    origin: Arc<Origin>,
    /// The matcher that new ones are forked from, and whose lexer they share.
    start: Mutex<Matcher>,
    bytes: usize,
}

impl Grammar {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether `text` is an instance of the schema, or a whole text of the grammar, also if no
    /// model wrote it.
    pub fn fits(&self, text: &[u8]) -> Outcome<bool> {
        let Origin { vocabulary, limits, kind, pristine, schema } = &*self.origin;
        if text.len() > limits.text_bytes_max {
            let (count, most) = (text.len(), limits.text_bytes_max);
            let text = format!("the text has {count} bytes ({most} at most)");
            return Err(Failure::new(Status::Limit, text));
        }
        if let Some(schema) = schema {
            let stop = CancellationHandle::default();
            let most = Duration::from_micros(limits.fits_us_max);
            let _watch = vocabulary.clock.watch(&stop, most);
            return fits(schema, text, &stop).map_err(|failure| match failure.status {
                Status::Timeout if stop.is_cancelled() => Failure::new(
                    Status::Timeout,
                    format!("the {}: the text takes over {} ms", kind.name(), most.as_millis()),
                ),
                _ => failure,
            });
        }
        // The check has a lexer of its own: no mask waits for it, and a long text leaves nothing
        // allocated.
        let mut matcher =
            Matcher::begin(pristine.deep_clone(), self.origin.clone(), limits.fits_us_max)?;
        Ok(matcher.accept_text(text)? && matcher.may_end())
    }

    pub fn matcher(&self) -> Outcome<Matcher> {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        if lexer_failed(start.parser()) || start.lexer_bytes() > SHARED_LEXER_BYTES_MAX {
            let parser = self.origin.pristine.deep_clone();
            let us_max = self.origin.limits.mask_us_max;
            *start = Matcher::begin(parser, self.origin.clone(), us_max)?;
        }
        Ok(start.fork())
    }

    /// In at most `limits.compile_us_max` of computing, ten times that in all, and a little: a
    /// longer compilation goes on without being waited for, and ends by its other limits.
    pub fn compile(
        vocabulary: &Arc<Shared>,
        kind: GrammarKind,
        source: &str,
        limits: &Limits,
    ) -> Outcome<Grammar> {
        let most = Duration::from_micros(limits.compile_us_max);
        let end = Instant::now() + most * PATIENCE_FACTOR;
        let late = || {
            let text = format!("the {} takes over {} ms to compile", kind.name(), most.as_millis());
            Failure::new(Status::Timeout, text)
        };
        let left = || end.saturating_duration_since(Instant::now());
        let turn = vocabulary.turns.take(most).ok_or_else(late)?;
        let stands_back = vocabulary.pace.stands_back();
        let begin = Instant::now();
        let (give, take) = mpsc::channel();
        let (give_clock, take_clock) = mpsc::channel();
        let (shared, source, limits) = (vocabulary.clone(), source.to_owned(), *limits);
        std::thread::Builder::new()
            .name("grammar".to_owned())
            .stack_size(COMPILE_STACK_BYTES)
            .spawn(move || {
                let _turn = turn;
                if stands_back {
                    stand_behind_all();
                }
                let clock = own_cpu_clock();
                let _ = give_clock.send(clock);
                let work = || Ok(compile_here(&shared, kind, &source, &limits));
                let outcome = panic_utils::catch_unwind(AssertUnwindSafe(work))
                    .unwrap_or_else(|error| Err(compile_failure(kind.name(), &error.to_string())));
                let _ = give.send((outcome, clock.and_then(time_of)));
                if peak_bytes() > PEAK_BYTES_KEPT {
                    // The allocator keeps memory of a thread that has ended.
                    unsafe { libc::malloc_trim(0) };
                }
            })
            .map_err(|error| Failure::no_thread("compiling a grammar", error))?;
        // Without a clock of the thread, all time counts.
        let clock = take_clock.recv_timeout(left()).ok().flatten();
        let computed = || clock.map_or_else(|| Some(begin.elapsed()), time_of);
        let observe = |computed: Duration| {
            if stands_back {
                vocabulary.pace.observe(begin.elapsed(), computed);
            }
        };
        loop {
            // A thread that has ended has no time, but its outcome is here.
            let used = computed().unwrap_or(Duration::ZERO);
            let wait = left().min(most.saturating_sub(used));
            match take.recv_timeout(wait) {
                Ok((outcome, used)) => {
                    observe(used.unwrap_or(begin.elapsed()));
                    return outcome;
                }
                Err(mpsc::RecvTimeoutError::Timeout) if used < most && !left().is_zero() => {}
                Err(_) => {
                    observe(used);
                    return Err(late());
                }
            }
        }
    }
}

fn compile_here(
    vocabulary: &Arc<Shared>,
    kind: GrammarKind,
    source: &str,
    limits: &Limits,
) -> Outcome<Grammar> {
    let before = held_bytes();
    let source = read_source(kind, source, limits)?;
    let pristine = vocabulary
        .factory
        .create_parser_from_init_ext(
            GrammarInit::Serialized(source.grammar),
            Logger::new(0, 0),
            InferenceCapabilities::default(),
            parser_limits(),
        )
        .map(|mut parser| {
            parser.start_without_prompt();
            parser
        })
        .map_err(|error| compile_failure(kind.name(), &error.to_string()))?;
    let parser = pristine.deep_clone();
    let origin = Arc::new(Origin {
        vocabulary: vocabulary.clone(),
        limits: *limits,
        kind,
        pristine,
        schema: source.schema,
    });
    let mut start = Matcher::begin(parser, origin.clone(), limits.compile_us_max)?;
    // A grammar that no text matches has no first mask: it is refused here, not in its first use.
    let mut words = vec![0; vocabulary.word_count()];
    start.fill(&mut words)?;
    if words.iter().all(|word| *word == 0) {
        return Err(Failure::invalid(format!("{}: no text matches it", kind.name())));
    }
    let bytes = (held_bytes() - before).max(0) as usize;
    if bytes > limits.grammar_bytes_max {
        return Err(Failure::new(
            Status::Limit,
            format!(
                "the {} takes {bytes} bytes once it is compiled ({} at most)",
                kind.name(),
                limits.grammar_bytes_max
            ),
        ));
    }
    Ok(Grammar { origin, start: Mutex::new(start), bytes })
}

fn parser_limits() -> ParserLimits {
    ParserLimits {
        initial_lexer_fuel: COMPILE_LEXER_FUEL,
        step_lexer_fuel: MASK_LEXER_FUEL,
        step_max_items: MASK_ITEM_COUNT_MAX,
        max_lexer_states: LEXER_STATE_COUNT_MAX,
        max_grammar_size: GRAMMAR_SIZE_MAX,
        verbose_errors: false,
        ..ParserLimits::default()
    }
}
