//! Owns the way of an event from the loop to its consumer: extensions first, then a bounded queue.
//! Must not know what events mean.
//!
//! A slow consumer makes mergeable events merge and everything else wait; it never loses one, and
//! never keeps a tool from finishing. After cancellation nothing waits any more: what is left to
//! say is finite.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use futures::future::{BoxFuture, FutureExt};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::extension::Extensions;
use crate::message::ToolUseId;

/// Events that may wait for a slow consumer before the loop waits too.
const CAPACITY: usize = 64;

#[derive(Default)]
struct Queue {
    events: VecDeque<AgentEvent>,
    waker: Option<Waker>,
    /// The producer has said everything.
    closed: bool,
    /// The consumer is gone: events go to the extensions alone.
    gone: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    room: Notify,
    /// Held from the first extension to the queue, so that all see one order.
    order: tokio::sync::Mutex<()>,
    extensions: Extensions,
    cancel: CancellationToken,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The producer's end. A child agent's outlet wraps what it says and passes it to its parent's.
#[derive(Clone)]
pub(crate) struct Outlet {
    shared: Arc<Shared>,
    /// Ids of the agents to wrap events in, outermost first.
    agents: Arc<[String]>,
}

/// The consumer's end: a stream that ends after `terminal`. Dropping it interrupts the prompt.
pub struct EventStream {
    shared: Arc<Shared>,
}

/// An outlet and its stream.
pub(crate) fn channel(extensions: Extensions, cancel: CancellationToken) -> (Outlet, EventStream) {
    let shared = Arc::new(Shared {
        queue: Mutex::default(),
        room: Notify::new(),
        order: tokio::sync::Mutex::new(()),
        extensions,
        cancel,
    });
    (Outlet { shared: shared.clone(), agents: Arc::new([]) }, EventStream { shared })
}

impl Outlet {
    /// An outlet that nobody listens to.
    pub(crate) fn sink() -> Self {
        let (outlet, stream) = channel(Extensions::default(), CancellationToken::new());
        drop(stream);
        outlet
    }

    /// The outlet of a child agent.
    pub(crate) fn child(&self, agent_id: &str) -> Self {
        let agents = self.agents.iter().cloned().chain([agent_id.to_owned()]).collect();
        Self { shared: self.shared.clone(), agents }
    }

    /// Delivers an event. Returns when every extension has taken it and it stands in the queue.
    pub(crate) fn send(&self, event: AgentEvent) -> BoxFuture<'_, ()> {
        let event = self.wrap(event);
        async move {
            if event.is_mergeable() {
                return self.offer(event);
            }
            let _turn = self.shared.order.lock().await;
            for extension in self.shared.extensions.iter() {
                extension.on_event(&event).await;
            }
            self.wait_for_room().await;
            self.push(event);
        }
        .boxed()
    }

    /// Shows a piece of a tool's output without waiting.
    pub(crate) fn progress(&self, id: &ToolUseId, text: &str) {
        self.offer(self.wrap(AgentEvent::ToolProgress { id: id.clone(), text: text.to_owned() }));
    }

    /// Nothing more will be said.
    pub(crate) fn close(&self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    fn wrap(&self, event: AgentEvent) -> AgentEvent {
        self.agents.iter().rev().fold(event, |event, agent_id| AgentEvent::Subagent {
            agent_id: agent_id.clone(),
            event: Box::new(event),
        })
    }

    /// Puts a mergeable event into the queue; under pressure into its nearest like. Looking back
    /// stops at the first event that cannot merge, so no piece ever passes one of those.
    fn offer(&self, event: AgentEvent) {
        let mut next = event;
        {
            let mut queue = self.shared.lock();
            if queue.events.len() >= CAPACITY {
                for earlier in queue.events.iter_mut().rev().take_while(|e| e.is_mergeable()) {
                    match earlier.merge(next) {
                        None => return,
                        Some(unlike) => next = unlike,
                    }
                }
            }
        }
        self.push(next);
    }

    fn push(&self, event: AgentEvent) {
        let mut queue = self.shared.lock();
        if !queue.gone {
            queue.events.push_back(event);
        }
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
    }

    async fn wait_for_room(&self) {
        loop {
            let room = self.shared.room.notified();
            {
                let queue = self.shared.lock();
                if queue.events.len() < CAPACITY || queue.gone {
                    return;
                }
            }
            tokio::select! {
                () = room => {}
                () = self.shared.cancel.cancelled() => return,
            }
        }
    }
}

impl Stream for EventStream {
    type Item = AgentEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let mut queue = self.shared.lock();
        if let Some(event) = queue.events.pop_front() {
            self.shared.room.notify_one();
            return Poll::Ready(Some(event));
        }
        if queue.closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.gone = true;
        queue.events.clear();
        if !queue.closed {
            self.shared.cancel.cancel();
        }
        drop(queue);
        self.shared.room.notify_one();
    }
}
