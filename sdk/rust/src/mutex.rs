//! A value that several futures of the program change in turn.
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::task::{Poll, Waker};

/// A value that several futures, or several hooks of a generation, change in turn. Unlike a `RefCell` it may be held over
/// an `.await`: a future that asks meanwhile waits.
///
/// ```no_run
/// # use quire::{Context, GenerateOptions, Mutex, Result};
/// # async fn guided(context: &mut Context, plain: Context) -> Result<()> {
/// let plain = Mutex::new(plain);
/// context
///     .generate(GenerateOptions::max_tokens(24))
///     .logits(async |logits| {
///         let without = plain.lock().await.next_logits().await?;
///         for (logit, without) in logits.iter_mut().zip(without) {
///             *logit += *logit - without;
///         }
///         Ok(())
///     })
///     .on_token(async |token| plain.lock().await.append(&[token]))
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Mutex<T> {
    value: RefCell<T>,
    waiting: RefCell<VecDeque<Waker>>,
}

impl<T> Mutex<T> {
    /// A mutex that nothing holds.
    pub fn new(value: T) -> Mutex<T> {
        Mutex { value: RefCell::new(value), waiting: RefCell::default() }
    }
    /// Waits until nothing else holds the value, and holds it until the guard goes.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        std::future::poll_fn(|context| match self.value.try_borrow_mut() {
            Ok(value) => Poll::Ready(MutexGuard { value: Some(value), waiting: &self.waiting }),
            Err(_) => {
                self.waiting.borrow_mut().push_back(context.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
    /// The value: nothing else can hold it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }
    /// The value, without its mutex.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// Holds the value of a [`Mutex`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    value: Option<RefMut<'a, T>>,
    waiting: &'a RefCell<VecDeque<Waker>>,
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("it is held until it is dropped")
    }
}
impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("it is held until it is dropped")
    }
}
impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        // All of those that wait ask again: one that was dropped meanwhile cannot pass its turn on.
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        waiting.into_iter().for_each(Waker::wake);
    }
}
