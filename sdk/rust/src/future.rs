//! Futures: results that the host will have, and several of them side by side.
use crate::executor::{self, Interest};
use crate::raw::{self, ErrorCode};
use crate::{Error, Result};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

type Decode<T> = fn(&[u8]) -> Result<T>;

/// A result that the host will have. Dropping it cancels its work or lets it finish unseen. A call that
/// failed at once gives one that is ready and holds the error, so that there is one place to look.
#[must_use = "a future does nothing more until it is awaited, and is cancelled when it is dropped"]
pub struct HostFuture<T> {
    future: Option<i32>,
    error: Option<Error>,
    interest: Option<Rc<Interest>>,
    decode: Decode<T>,
    gives: PhantomData<fn() -> T>,
}

impl<T> HostFuture<T> {
    /// Takes the value that a call of [`raw`] returned: a future, or minus an error code. `decode`
    /// reads the bytes of the result.
    pub fn new(returned: i32, decode: Decode<T>) -> HostFuture<T> {
        let (future, error) = if returned >= 0 {
            (Some(returned), None)
        } else {
            (None, Some(Error::of_call(returned.into())))
        };
        HostFuture { future, error, interest: None, decode, gives: PhantomData }
    }

    pub(crate) fn failed(error: Error, decode: Decode<T>) -> HostFuture<T> {
        HostFuture { future: None, error: Some(error), interest: None, decode, gives: PhantomData }
    }

    /// Whether its result is there, so that awaiting it does not wait.
    pub fn is_ready(&self) -> bool {
        let Some(future) = self.future else { return true };
        let mut flag = 0u8;
        unsafe { raw::future::poll(&future, 1, &mut flag) == 1 }
    }

    /// Waits without the other tasks of the program: all of them stand still meanwhile.
    pub fn wait(mut self) -> Result<T> {
        if let Some(future) = self.future {
            let waited = unsafe { raw::future::wait(&future, 1, -1) };
            if waited < 0 {
                return Err(Error::of_call(waited.into()));
            }
        }
        self.take()
    }

    fn take(&mut self) -> Result<T> {
        self.forget_interest();
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let future = self.future.expect("a future was awaited twice");
        let mut small = [0u8; 2176]; // A distribution of 256 tokens takes 2,052 bytes.
        let bytes = unsafe { raw::future::take(future, small.as_mut_ptr(), small.len() as u32) };
        if bytes <= small.len() as i32 {
            return self.finish(&small, bytes);
        }
        let mut large = vec![0u8; bytes as usize];
        let bytes = unsafe { raw::future::take(future, large.as_mut_ptr(), large.len() as u32) };
        self.finish(&large, bytes)
    }

    fn finish(&mut self, buffer: &[u8], bytes: i32) -> Result<T> {
        self.future = None; // The host ended it, with its value or its error.
        match usize::try_from(bytes) {
            Ok(bytes) => (self.decode)(&buffer[..bytes]),
            Err(_) => Err(Error::of_call(bytes.into())),
        }
    }

    fn forget_interest(&mut self) {
        if let Some(interest) = self.interest.take() {
            executor::drop_interest(&interest);
        }
    }
}

impl<T> Unpin for HostFuture<T> {}

impl<T> Future for HostFuture<T> {
    type Output = Result<T>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let is_known_ready = match &self.interest {
            Some(interest) => interest.is_ready(),
            None => self.is_ready(),
        };
        if is_known_ready {
            return Poll::Ready(self.take());
        }
        match (&self.interest, self.future) {
            (Some(interest), _) => interest.set_waker(context.waker()),
            (None, Some(future)) => {
                self.interest = Some(executor::add_interest(future, context.waker()))
            }
            (None, None) => {}
        }
        Poll::Pending
    }
}

impl<T> Drop for HostFuture<T> {
    fn drop(&mut self) {
        self.forget_interest();
        if let Some(future) = self.future {
            unsafe { raw::future::drop(future) };
        }
    }
}

pub(crate) fn nothing(_: &[u8]) -> Result<()> {
    Ok(())
}
pub(crate) fn to_bytes(bytes: &[u8]) -> Result<Vec<u8>> {
    Ok(bytes.to_vec())
}
pub(crate) fn to_text(bytes: &[u8]) -> Result<String> {
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
pub(crate) fn to_u32s(bytes: &[u8]) -> Result<Vec<u32>> {
    Ok(crate::host::u32s(bytes))
}
pub(crate) fn to_u32(bytes: &[u8]) -> Result<u32> {
    let mut record = crate::host::Record::new(bytes, "a number");
    let number = record.u32()?;
    record.end(number)
}
/// A handle that a future gives; it has no owner until it is taken.
pub(crate) fn to_handle(bytes: &[u8]) -> Result<crate::host::Handle> {
    to_u32(bytes).map(|number| crate::host::Handle::new(number as i32))
}

/// Ready after `duration`.
pub fn sleep(duration: Duration) -> HostFuture<()> {
    let nanoseconds = i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX);
    HostFuture::new(unsafe { raw::runtime::sleep(nanoseconds) }, nothing)
}

/// The value of `future`, or the error `timeout` when it is not done within `limit`; then it is dropped.
pub async fn with_timeout<T>(
    limit: Duration,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    let mut future = Box::pin(future);
    let mut timer = sleep(limit);
    std::future::poll_fn(move |context| {
        if let Poll::Ready(value) = future.as_mut().poll(context) {
            return Poll::Ready(value);
        }
        match Pin::new(&mut timer).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => Poll::Ready(Err(Error::new(
                ErrorCode::Timeout,
                format!("not done after {} ms", limit.as_millis()),
            ))),
        }
    })
    .await
}
