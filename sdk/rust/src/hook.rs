//! Functions of the program that the SDK calls between two steps of its own.
use crate::context::Distribution;
use crate::drafts::Guess;
use crate::generate::Shown;
use crate::Result;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;

type Running<'b> = Pin<Box<dyn Future<Output = Result<()>> + 'b>>;

trait Run<A: ?Sized> {
    fn run<'b>(&'b mut self, argument: &'b mut A) -> Running<'b>;
}

struct ByClosure<F, R>(F, PhantomData<fn() -> R>);

impl<A: ?Sized, F, R> Run<A> for ByClosure<F, R>
where
    F: AsyncFnMut(&mut A) -> R,
    R: Shown,
{
    fn run<'b>(&'b mut self, argument: &'b mut A) -> Running<'b> {
        Box::pin(async move { (self.0)(argument).await.shown() })
    }
}

/// An async closure, which may lend what it holds to the future that it gives.
pub(crate) struct Hook<'a, A: ?Sized>(Box<dyn Run<A> + 'a>);

impl<'a, A: ?Sized> Hook<'a, A> {
    pub(crate) fn new<R: Shown + 'a>(hook: impl AsyncFnMut(&mut A) -> R + 'a) -> Hook<'a, A> {
        Hook(Box::new(ByClosure(hook, PhantomData)))
    }
    /// An error that the closure returns ends the call that runs it.
    pub(crate) async fn call(&mut self, argument: &mut A) -> Result<()> {
        self.0.run(argument).await
    }
}

pub(crate) type Draft<'a> = Box<dyn Guess + 'a>;

/// The functions that take part in a generation.
#[derive(Default)]
pub struct Hooks<'a> {
    pub(crate) draft: Option<Draft<'a>>,
    pub(crate) reshape: Option<Hook<'a, Distribution>>,
    pub(crate) logits: Option<Hook<'a, [f32]>>,
    pub(crate) on_token: Option<Hook<'a, u32>>,
}

/// A generation without hooks. It holds no closure, so the compiler knows that it does not use its
/// context once more when it goes.
#[derive(Default)]
pub struct NoHooks;

/// [`Hooks`], or [`NoHooks`].
pub trait HookSet<'a> {
    /// The hooks, if there are any.
    fn get(&self) -> Option<&Hooks<'a>>;
    /// The hooks, if there are any.
    fn get_mut(&mut self) -> Option<&mut Hooks<'a>>;
    /// The hooks, to which another one is added.
    fn into_hooks(self) -> Hooks<'a>;
    /// Whether the program reshapes each distribution.
    fn reshapes(&self) -> bool {
        self.get().is_some_and(|hooks| hooks.reshape.is_some())
    }
    /// Whether the program takes part in each draw.
    fn draws(&self) -> bool {
        self.reshapes() || self.get().is_some_and(|hooks| hooks.logits.is_some())
    }
    /// Whether the program guesses what comes next.
    fn drafts(&self) -> bool {
        self.get().is_some_and(|hooks| hooks.draft.is_some())
    }
}
impl<'a> HookSet<'a> for Hooks<'a> {
    fn get(&self) -> Option<&Hooks<'a>> {
        Some(self)
    }
    fn get_mut(&mut self) -> Option<&mut Hooks<'a>> {
        Some(self)
    }
    fn into_hooks(self) -> Hooks<'a> {
        self
    }
}
impl<'a> HookSet<'a> for NoHooks {
    fn get(&self) -> Option<&Hooks<'a>> {
        None
    }
    fn get_mut(&mut self) -> Option<&mut Hooks<'a>> {
        None
    }
    fn into_hooks(self) -> Hooks<'a> {
        Hooks::default()
    }
}
