//! Ends calls that take longer than they may.
//!
//! The library's own fuel does not measure time: masks of hostile grammars took 10 to 300 ms within
//! it. It can be asked to stop, by a flag that it reads often. One thread sets the flag of each
//! call whose own thread has computed for too long. Time is that of the computing thread, so that a
//! machine with much else to do does not fail a program.

use llguidance::CancellationHandle;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at a call that is nearly over; also how late a call can be ended.
const LOOK_MIN: Duration = Duration::from_millis(1);

struct Running {
    number: u64,
    cpu_clock: libc::clockid_t,
    end: Duration,
    stop: CancellationHandle,
}

#[derive(Default)]
struct State {
    running: Vec<Running>,
    next_number: u64,
    /// When the thread looks next; none: when it is woken.
    looks_at: Option<Instant>,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

pub struct Clock {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// While it lives, the call it was made for is watched.
pub struct Watch<'a> {
    clock: &'a Clock,
    number: u64,
}

pub fn time_of(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

pub fn own_cpu_clock() -> Option<libc::clockid_t> {
    let mut clock: libc::clockid_t = 0;
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } != 0;
    (!failed).then_some(clock)
}

impl Clock {
    pub fn start() -> std::io::Result<Clock> {
        let shared = Arc::<Shared>::default();
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new()
            .name("grammar clock".to_owned())
            .stack_size(128 << 10)
            .spawn(move || of_thread.run())?;
        Ok(Clock { shared, thread: Some(thread) })
    }

    /// Sets `stop` when the calling thread has computed for `most` from now. None: the system has no
    /// such clock, and only fuel limits the call.
    pub fn watch(&self, stop: &CancellationHandle, most: Duration) -> Option<Watch<'_>> {
        let cpu_clock = own_cpu_clock()?;
        let end = time_of(cpu_clock)? + most;
        let mut state = self.shared.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.running.push(Running { number, cpu_clock, end, stop: stop.clone() });
        // Calls that are watched one after the other for the same time need no waking.
        if state.looks_at.is_none_or(|at| Instant::now() + most < at) {
            self.shared.wake.notify_one();
        }
        Some(Watch { clock: self, number })
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut state = self.clock.shared.lock();
        state.running.retain(|running| running.number != self.number);
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut state = self.lock();
        while !state.is_over {
            let left = stop_what_is_late(&mut state.running).map(|left| left.max(LOOK_MIN));
            state.looks_at = left.map(|left| Instant::now() + left);
            state = match left {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    let waited = self.wake.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// The shortest time that a call has left; none if nothing runs.
fn stop_what_is_late(running: &mut Vec<Running>) -> Option<Duration> {
    let mut shortest = None;
    running.retain(|call| {
        // A clock that cannot be read is of a thread that has ended, in the middle of its call.
        let left = time_of(call.cpu_clock).and_then(|now| call.end.checked_sub(now));
        match left {
            Some(left) if !left.is_zero() => {
                shortest = Some(shortest.map_or(left, |other: Duration| other.min(left)));
                true
            }
            _ => {
                call.stop.cancel();
                false
            }
        }
    });
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compute_until(stop: &CancellationHandle, most: Duration) -> Duration {
        let begin = Instant::now();
        while !stop.is_cancelled() && begin.elapsed() < most {
            std::hint::spin_loop();
        }
        begin.elapsed()
    }

    #[test]
    fn a_call_is_stopped_after_its_time_and_one_that_ended_is_not() {
        let clock = Clock::start().unwrap();
        for _ in 0..3 {
            let late = CancellationHandle::default();
            let watch = clock.watch(&late, Duration::from_millis(20));
            let took = compute_until(&late, Duration::from_secs(10));
            assert!(late.is_cancelled(), "{took:?}");
            assert!(took >= Duration::from_millis(20), "{took:?}");
            drop(watch);
            let quick = CancellationHandle::default();
            drop(clock.watch(&quick, Duration::from_millis(20)));
            compute_until(&quick, Duration::from_millis(60));
            assert!(!quick.is_cancelled());
        }
    }

    #[test]
    fn time_that_a_thread_waits_does_not_count() {
        let clock = Clock::start().unwrap();
        let stop = CancellationHandle::default();
        let _watch = clock.watch(&stop, Duration::from_millis(20));
        std::thread::sleep(Duration::from_millis(80));
        assert!(!stop.is_cancelled());
        compute_until(&stop, Duration::from_secs(10));
        assert!(stop.is_cancelled());
    }

    #[test]
    fn calls_of_many_threads_are_watched_at_once() {
        let clock = Clock::start().unwrap();
        std::thread::scope(|scope| {
            for milliseconds in [5, 40, 10, 20] {
                let clock = &clock;
                scope.spawn(move || {
                    let stop = CancellationHandle::default();
                    let _watch = clock.watch(&stop, Duration::from_millis(milliseconds));
                    compute_until(&stop, Duration::from_secs(10));
                    assert!(stop.is_cancelled());
                });
            }
        });
    }
}
