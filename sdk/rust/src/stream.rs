//! Values that come one after the other.
use crate::Result;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Values that come one after the other, such as the messages of a client ([`session::messages`](crate::session::messages))
/// or the pieces of a generation ([`Generator::into_stream`](crate::Generator::into_stream)).
///
/// It has the form of `futures_core::Stream`. The crate itself needs no registry, so it has a trait of its own. A program
/// that uses the crate `futures` makes one of the other:
///
/// ```ignore
/// let mut messages = session::messages();
/// let stream = futures::stream::poll_fn(move |context| Pin::new(&mut messages).poll_next(context));
/// ```
#[must_use = "a stream does nothing until it is asked for its next()"]
pub trait Stream {
    /// The type of a value.
    type Item;

    /// The next value; nothing at the end.
    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>>;

    /// The next value; nothing at the end.
    fn next(&mut self) -> impl Future<Output = Option<Self::Item>>
    where
        Self: Unpin,
    {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context))
    }
}

type PollNext<'a, T> = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<T>> + 'a>;

/// A stream of the crate. Dropping it drops the call under way.
#[must_use = "a stream does nothing until it is asked for its next()"]
pub struct Values<'a, T> {
    poll_next: PollNext<'a, T>,
}

impl<T> Stream for Values<'_, T> {
    type Item = T;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        (self.poll_next)(context)
    }
}

impl<'a, T: 'a> Values<'a, Result<T>> {
    /// The values that `step` gives, until it gives none or an error.
    pub(crate) fn of_steps<S: 'a, F>(
        source: S,
        mut step: impl FnMut(S) -> F + 'a,
    ) -> Values<'a, Result<T>>
    where
        F: Future<Output = (S, Result<Option<T>>)> + 'a,
    {
        let mut source = Some(source);
        let mut running: Option<Pin<Box<F>>> = None;
        let poll_next = move |context: &mut Context<'_>| {
            if let Some(source) = source.take() {
                running = Some(Box::pin(step(source)));
            }
            let Some(future) = &mut running else { return Poll::Ready(None) };
            let Poll::Ready((given_back, value)) = future.as_mut().poll(context) else {
                return Poll::Pending;
            };
            running = None;
            if matches!(value, Ok(Some(_))) {
                source = Some(given_back);
            }
            Poll::Ready(value.transpose())
        };
        Values { poll_next: Box::new(poll_next) }
    }
}
