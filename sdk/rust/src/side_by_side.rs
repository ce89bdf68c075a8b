//! Several futures side by side: all of them, or the first that ends.
use crate::{Error, Result};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Says which of several futures can go on, and wakes the one that awaits all of them.
struct ChildWaker {
    number: usize,
    woken: Arc<Mutex<Vec<usize>>>,
    parent: Arc<Mutex<Waker>>,
}

impl Wake for ChildWaker {
    fn wake(self: Arc<Self>) {
        self.woken.lock().expect("one thread").push(self.number);
        let parent = self.parent.lock().expect("one thread").clone();
        parent.wake();
    }
}

/// Several futures side by side, each polled only when it can go on. They begin in their order, at most `at_once` of them
/// before one ends.
struct SideBySide<F: Future> {
    futures: Vec<Option<Pin<Box<F>>>>,
    begun_count: usize,
    at_once: usize,
    wakers: Vec<Waker>,
    woken: Arc<Mutex<Vec<usize>>>,
    parent: Option<Arc<Mutex<Waker>>>,
}

impl<F: Future> SideBySide<F> {
    fn new(futures: impl IntoIterator<Item = F>) -> Self {
        SideBySide {
            futures: futures.into_iter().map(|each| Some(Box::pin(each))).collect(),
            begun_count: 0,
            at_once: usize::MAX,
            wakers: Vec::new(),
            woken: Arc::default(),
            parent: None,
        }
    }

    fn follow(&mut self, waker: &Waker) {
        match &self.parent {
            Some(parent) => *parent.lock().expect("one thread") = waker.clone(),
            None => {
                let parent = Arc::new(Mutex::new(waker.clone()));
                let of_number = |number| {
                    let child =
                        ChildWaker { number, woken: self.woken.clone(), parent: parent.clone() };
                    Waker::from(Arc::new(child))
                };
                self.wakers = (0..self.futures.len()).map(of_number).collect();
                self.parent = Some(parent);
            }
        }
    }

    /// Polls what can go on, and gives the values that came, by their numbers. Nothing more begins after a value that
    /// `is_last`.
    fn poll(
        &mut self,
        waker: &Waker,
        is_last: impl Fn(&F::Output) -> bool,
    ) -> Vec<(usize, F::Output)> {
        self.follow(waker);
        let mut values = Vec::new();
        let mut woken = std::mem::take(&mut *self.woken.lock().expect("one thread"));
        woken.extend(self.begin(self.at_once));
        while !woken.is_empty() {
            let before = values.len();
            for number in std::mem::take(&mut woken) {
                let Some(future) = &mut self.futures[number] else { continue };
                let mut context = Context::from_waker(&self.wakers[number]);
                if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                    self.futures[number] = None;
                    values.push((number, value));
                }
            }
            if !values[before..].iter().any(|(_, value)| is_last(value)) {
                woken = self.begin(values.len() - before).collect();
            }
        }
        values
    }

    /// The numbers of the futures that begin now, where `room` have room.
    fn begin(&mut self, room: usize) -> std::ops::Range<usize> {
        let running = self.futures[..self.begun_count].iter().flatten().count();
        let room = room.min(self.at_once.saturating_sub(running));
        let first = self.begun_count;
        self.begun_count = first.saturating_add(room).min(self.futures.len());
        first..self.begun_count
    }
}

/// The values of several futures that run side by side: what [`gather`] gives.
#[must_use = "futures do nothing until they are awaited"]
pub struct Gather<T, F: Future> {
    all: SideBySide<F>,
    values: Vec<Option<T>>,
    missing: usize,
}

/// The values of several futures that run side by side, in their order. At the first error the others are
/// dropped.
///
/// ```no_run
/// # use quire::{gather, http, Result};
/// # async fn pages(urls: Vec<String>) -> Result<()> {
/// let pages = gather(urls.iter().map(|url| http::get(url, &[]))).at_once(4).await?;
/// # Ok(())
/// # }
/// ```
pub fn gather<T, F>(futures: impl IntoIterator<Item = F>) -> Gather<T, F>
where
    F: Future<Output = Result<T>>,
{
    let all = SideBySide::new(futures);
    let missing = all.futures.len();
    Gather { all, values: (0..missing).map(|_| None).collect(), missing }
}

impl<T, F: Future> Gather<T, F> {
    /// At most `count` of them have begun and not ended at any time. `invalid-argument` for 0.
    pub fn at_once(mut self, count: usize) -> Gather<T, F> {
        self.all.at_once = count;
        self
    }
}

impl<T, F: Future> Unpin for Gather<T, F> {}

impl<T, F: Future<Output = Result<T>>> Future for Gather<T, F> {
    type Output = Result<Vec<T>>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<Vec<T>>> {
        if self.all.at_once == 0 {
            return Poll::Ready(Err(Error::invalid("gather: at_once is 0, and none could begin")));
        }
        let mut came = self.all.poll(context.waker(), Result::is_err);
        came.sort_by_key(|each| each.0);
        for (number, value) in came {
            match value {
                Ok(value) => self.values[number] = Some(value),
                Err(error) => {
                    self.all.futures.clear(); // The others are dropped.
                    return Poll::Ready(Err(error));
                }
            }
            self.missing -= 1;
        }
        if self.missing > 0 {
            return Poll::Pending;
        }
        Poll::Ready(Ok(self.values.drain(..).flatten().collect()))
    }
}

/// Runs several futures side by side. Gives their values, in their order, when all are done.
pub async fn when_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut all = SideBySide::new(futures);
    let mut values: Vec<Option<F::Output>> = all.futures.iter().map(|_| None).collect();
    let mut missing = values.len();
    std::future::poll_fn(move |context| {
        for (number, value) in all.poll(context.waker(), |_| false) {
            values[number] = Some(value);
            missing -= 1;
        }
        if missing == 0 {
            return Poll::Ready(values.drain(..).flatten().collect());
        }
        Poll::Pending
    })
    .await
}

/// The place in the list of the first future that ends, and its value. The others are dropped. If several end in one
/// turn, the first of the list counts. `invalid-argument`: the list is empty.
///
/// Futures of different types go into one list as `Pin<Box<dyn Future<Output = T>>>`, or two of them to [`race`].
pub async fn when_any<F: Future>(
    futures: impl IntoIterator<Item = F>,
) -> Result<(usize, F::Output)> {
    let mut all = SideBySide::new(futures);
    if all.futures.is_empty() {
        return Err(Error::invalid("when_any: the list is empty"));
    }
    std::future::poll_fn(move |context| {
        let first = all.poll(context.waker(), |_| true).into_iter().min_by_key(|each| each.0);
        first.map_or(Poll::Pending, |first| Poll::Ready(Ok(first)))
    })
    .await
}

/// The first value that comes without an error. The other futures are dropped. If all fail, the error of the first of
/// the list; `invalid-argument`: the list is empty.
pub async fn first_ok<T, F>(futures: impl IntoIterator<Item = F>) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let mut all = SideBySide::new(futures);
    if all.futures.is_empty() {
        return Err(Error::invalid("first_ok: the list is empty"));
    }
    let mut missing = all.futures.len();
    let mut failure: Option<(usize, Error)> = None;
    std::future::poll_fn(move |context| {
        let mut came = all.poll(context.waker(), Result::is_ok);
        came.sort_by_key(|each| each.0);
        for (number, value) in came {
            match value {
                Ok(value) => return Poll::Ready(Ok(value)),
                Err(error) if failure.as_ref().is_none_or(|first| number < first.0) => {
                    failure = Some((number, error));
                }
                Err(_) => {}
            }
            missing -= 1;
        }
        match failure.take_if(|_| missing == 0) {
            Some((_, error)) => Poll::Ready(Err(error)),
            None => Poll::Pending,
        }
    })
    .await
}

/// One of two values: which of two futures ended first, and in what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The value of the first future.
    First(A),
    /// The value of the second future.
    Second(B),
}

/// The value of the one of two futures that ends first. The other is dropped. If both end in one turn, the first counts.
pub async fn race<A: Future, B: Future>(first: A, second: B) -> Either<A::Output, B::Output> {
    let mut first = std::pin::pin!(first);
    let mut second = std::pin::pin!(second);
    std::future::poll_fn(move |context| {
        if let Poll::Ready(value) = first.as_mut().poll(context) {
            return Poll::Ready(Either::First(value));
        }
        second.as_mut().poll(context).map(Either::Second)
    })
    .await
}
