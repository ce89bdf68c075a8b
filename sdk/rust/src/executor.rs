//! Runs the futures of a program: all that can go on, then one wait for the host.
//!
//! The program has one thread. Its first future is [`block_on`]'s; [`spawn`] adds more. A future of
//! the host (`HostFuture`) that is not ready leaves its handle and its waker here. While nothing
//! can go on, the program waits for any of the handles, which parks it in the server.
use crate::raw::{self, ErrorCode};
use crate::Error;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// A waker that waits for a future of the host.
pub(crate) struct Interest {
    future: i32,
    is_ready: Cell<bool>,
    waker: RefCell<Waker>,
}

impl Interest {
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.get()
    }
    pub(crate) fn set_waker(&self, waker: &Waker) {
        let mut own = self.waker.borrow_mut();
        if !own.will_wake(waker) {
            *own = waker.clone();
        }
    }
}

type TaskId = u64;
const ROOT: TaskId = 0;
/// Futures that keep one another ready must not starve those that wait for the host.
const ROUNDS_BETWEEN_POLLS: u32 = 64;

#[derive(Default)]
struct Loop {
    interests: RefCell<Vec<Rc<Interest>>>,
    tasks: RefCell<HashMap<TaskId, Rc<RunningTask>>>,
    ready: RefCell<VecDeque<TaskId>>,
    next_id: Cell<TaskId>,
    is_running: Cell<bool>,
}

thread_local! {
    static LOOP: Loop = Loop::default();
}

struct RunningTask {
    future: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    waker: Arc<TaskWaker>,
}

struct TaskWaker {
    id: TaskId,
    is_queued: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::Relaxed) {
            LOOP.with(|each| each.ready.borrow_mut().push_back(self.id));
        }
    }
}

pub(crate) fn add_interest(future: i32, waker: &Waker) -> Rc<Interest> {
    let interest = Rc::new(Interest {
        future,
        is_ready: Cell::new(false),
        waker: RefCell::new(waker.clone()),
    });
    LOOP.with(|each| each.interests.borrow_mut().push(interest.clone()));
    interest
}

pub(crate) fn drop_interest(interest: &Rc<Interest>) {
    LOOP.with(|each| each.interests.borrow_mut().retain(|other| !Rc::ptr_eq(other, interest)));
}

/// Runs `future`, and what it spawns, until it is done. The entry of a program is run by it; a program calls
/// it only where it has no entry of this crate. What it spawned and is not done ends with it.
pub fn block_on<F: Future>(future: F) -> F::Output {
    if LOOP.with(|each| each.is_running.replace(true)) {
        panic!("block_on within a future that runs already: await what it was given");
    }
    let mut future = Box::pin(future);
    let waker = Arc::new(TaskWaker { id: ROOT, is_queued: AtomicBool::new(false) });
    let root = Waker::from(waker.clone());
    root.wake_by_ref();
    let mut round = 0u32;
    loop {
        while let Some(id) = LOOP.with(|each| each.ready.borrow_mut().pop_front()) {
            if id == ROOT {
                waker.is_queued.store(false, Ordering::Relaxed);
                if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&root)) {
                    drop(future);
                    let rest = LOOP.with(|each| std::mem::take(&mut *each.tasks.borrow_mut()));
                    drop(rest); // Outside of the borrow: they may drop tasks of their own.
                    LOOP.with(|each| {
                        each.ready.borrow_mut().clear();
                        each.is_running.set(false);
                    });
                    return value;
                }
            } else {
                run_task(id);
            }
            round = round.wrapping_add(1);
            if round.is_multiple_of(ROUNDS_BETWEEN_POLLS) {
                wait_for_host(0);
            }
        }
        wait_for_host(-1);
    }
}

fn run_task(id: TaskId) {
    let Some(task) = LOOP.with(|each| each.tasks.borrow().get(&id).cloned()) else { return };
    task.waker.is_queued.store(false, Ordering::Relaxed);
    let waker = Waker::from(task.waker.clone());
    let taken = task.future.borrow_mut().take();
    let Some(mut future) = taken else { return };
    if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        *task.future.borrow_mut() = Some(future);
    } else {
        LOOP.with(|each| each.tasks.borrow_mut().remove(&id));
    }
}

fn wait_for_host(timeout_ns: i64) {
    let interests: Vec<Rc<Interest>> = LOOP.with(|each| each.interests.borrow().clone());
    let futures: Vec<i32> = interests.iter().map(|each| each.future).collect();
    if futures.is_empty() {
        if timeout_ns == 0 {
            return;
        }
        panic!("every task waits for another one, none for the host");
    }
    let count = futures.len() as u32;
    let first = unsafe { raw::future::wait(futures.as_ptr(), count, timeout_ns) };
    if first == -(ErrorCode::Timeout as i32) {
        return;
    }
    if first < 0 {
        panic!("future.wait refused: {}", Error::of_call(first.into()));
    }
    let mut flags = vec![1u8; futures.len()];
    if flags.len() > 1 {
        let ready = unsafe { raw::future::poll(futures.as_ptr(), count, flags.as_mut_ptr()) };
        if ready < 0 {
            panic!("future.poll refused: {}", Error::of_call(ready.into()));
        }
    }
    for (interest, flag) in interests.iter().zip(&flags) {
        interest.is_ready.set(*flag != 0);
    }
    LOOP.with(|each| each.interests.borrow_mut().retain(|each| !each.is_ready()));
    for interest in interests.iter().filter(|each| each.is_ready()) {
        let waker = interest.waker.borrow().clone();
        waker.wake();
    }
}

struct Outcome<T> {
    value: Option<T>,
    awaits: Option<Waker>,
}

/// A future that runs beside the others. Awaiting it gives its value; dropping it ends it.
#[must_use = "a Task that is dropped ends: await it, or keep it"]
pub struct Task<T> {
    id: TaskId,
    outcome: Rc<RefCell<Outcome<T>>>,
}

/// Lets `future` run beside whatever the program does; it begins when the program waits next.
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let outcome = Rc::new(RefCell::new(Outcome { value: None, awaits: None }));
    let into = outcome.clone();
    let body = async move {
        let value = future.await;
        let awaits = {
            let mut outcome = into.borrow_mut();
            outcome.value = Some(value);
            outcome.awaits.take()
        };
        if let Some(waker) = awaits {
            waker.wake();
        }
    };
    let id = LOOP.with(|each| {
        each.next_id.set(each.next_id.get() + 1);
        each.next_id.get()
    });
    let waker = Arc::new(TaskWaker { id, is_queued: AtomicBool::new(false) });
    let task =
        Rc::new(RunningTask { future: RefCell::new(Some(Box::pin(body))), waker: waker.clone() });
    LOOP.with(|each| each.tasks.borrow_mut().insert(id, task));
    waker.wake();
    Task { id, outcome }
}

impl<T> Task<T> {
    /// Whether its value is there.
    pub fn is_done(&self) -> bool {
        self.outcome.borrow().value.is_some()
    }
}

impl<T> Future for Task<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut outcome = self.outcome.borrow_mut();
        if let Some(value) = outcome.value.take() {
            return Poll::Ready(value);
        }
        outcome.awaits = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        // The task is dropped outside of the borrow: its locals may drop tasks of their own.
        let task = LOOP.with(|each| each.tasks.borrow_mut().remove(&self.id));
        drop(task);
    }
}
