//! Messages between the programs of one tenant, in order and each once.
use crate::future::to_text;
use crate::host::{self, checked, checked_empty, Handle};
use crate::raw;
use crate::stream::Values;
use crate::{HostFuture, Result};

/// Gives the message to everyone who is subscribed to the topic now. Returns to how many.
pub fn broadcast(topic: &str, message: &str) -> Result<u32> {
    checked(unsafe {
        raw::messaging::broadcast(
            topic.as_ptr(),
            host::count(topic.as_bytes()),
            message.as_ptr(),
            host::count(message.as_bytes()),
        )
    })
}

/// Messages to the topic from now on wait in this program's mailbox until they are taken; dropping it ends that.
#[derive(Debug)]
pub struct Subscription {
    handle: Handle,
}

/// Subscribes to a topic.
pub fn subscribe(topic: &str) -> Result<Subscription> {
    let handle = Handle::of_call(unsafe {
        raw::messaging::subscribe(topic.as_ptr(), host::count(topic.as_bytes()))
    })?;
    Ok(Subscription { handle })
}

impl Subscription {
    /// The next message.
    pub fn next(&self) -> HostFuture<String> {
        HostFuture::new(unsafe { raw::messaging::next_message(self.handle.get()) }, to_text)
    }
    /// The messages, one after the other. They come for as long as the subscription is there.
    pub fn messages(&self) -> Values<'_, Result<String>> {
        Values::of_steps((), |()| async { ((), self.next().await.map(Some)) })
    }
}

/// Puts the message at the end of the tenant's queue of that name.
pub fn push(name: &str, message: &str) -> Result<()> {
    checked_empty(unsafe {
        raw::messaging::push(
            name.as_ptr(),
            host::count(name.as_bytes()),
            message.as_ptr(),
            host::count(message.as_bytes()),
        )
    })
}

/// The first message of the queue, for one program: the one that asked first.
pub fn pull(name: &str) -> HostFuture<String> {
    HostFuture::new(
        unsafe { raw::messaging::pull(name.as_ptr(), host::count(name.as_bytes())) },
        to_text,
    )
}
