//! Decides how a thread that compiles shares the cores with work that everybody waits for.
//!
//! The thread runs when no other thread wants the core, and gives way at once to one that does. A
//! thread that is only nicer keeps the core from one that wakes up until the kernel's next tick, up
//! to 4 ms. A program that compiles in a loop would then lengthen every step of a device that
//! computes on these cores. If all cores are always wanted, compiling that way would take forever.
//! So after one compilation that got little time, the next ones run like their caller.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A compilation gets little that runs longer than this and computes less than a tenth of the time.
const STARVED_MIN: Duration = Duration::from_millis(100);
const STARVED_FACTOR: u32 = 10;
/// Compilations that then run like their caller.
const LIKE_CALLER_COUNT: u32 = 32;

#[derive(Default)]
pub struct Pace {
    like_caller_count: AtomicU32,
}

impl Pace {
    /// Whether the next compilation gives way to all other threads.
    pub fn stands_back(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.like_caller_count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err()
    }

    /// One that stood back has taken `passed`, and computed for so long of that.
    pub fn observe(&self, passed: Duration, computed: Duration) {
        if passed > STARVED_MIN && computed * STARVED_FACTOR < passed {
            self.like_caller_count.store(LIKE_CALLER_COUNT, Ordering::Relaxed);
        }
    }
}

/// Makes the calling thread give way to all other threads, for good. If this process already has
/// another policy, or the system refuses, the thread stays as it is.
pub fn stand_behind_all() {
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            let none = libc::sched_param { sched_priority: 0 };
            libc::sched_setscheduler(0, libc::SCHED_IDLE, &none);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_compilation_that_got_little_the_next_ones_run_like_their_caller() {
        let pace = Pace::default();
        assert!(pace.stands_back());
        pace.observe(Duration::from_millis(500), Duration::from_millis(60));
        pace.observe(Duration::from_millis(90), Duration::from_millis(1));
        assert!(pace.stands_back());
        pace.observe(Duration::from_millis(500), Duration::from_millis(40));
        for _ in 0..LIKE_CALLER_COUNT {
            assert!(!pace.stands_back());
        }
        assert!(pace.stands_back());
    }

    #[test]
    fn a_thread_that_stands_back_says_so_and_its_caller_stays_as_it_is() {
        let policy = || unsafe { libc::sched_getscheduler(0) };
        let before = policy();
        let inside = std::thread::spawn(move || {
            stand_behind_all();
            policy()
        });
        let wanted = if before == libc::SCHED_OTHER { libc::SCHED_IDLE } else { before };
        assert_eq!(inside.join().unwrap(), wanted);
        assert_eq!(policy(), before);
    }
}
