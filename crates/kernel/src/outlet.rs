//! Owns the way of an event from the loop to its consumer: extensions first, then a bounded queue.
//! Must not know what events mean.
//!
//! A slow consumer makes pieces of text merge and everything else wait; it never loses an event, and
//! never keeps a tool from finishing. After cancellation nothing waits any more: what is left to
//! say is finite.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::Stream;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::*;

/// Events that may wait for a slow consumer before the loop waits too.
const CAPACITY: usize = 64;
/// The longest text that merging makes of progress; the oldest part beyond it is dropped.
const PROGRESS_LIMIT: usize = 64 * 1024;

/// Which streamed text a piece belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    Text,
    Thinking,
    Progress(ToolUseId),
}

/// What stands in the queue: a piece that may grow, or an event.
enum Queued {
    Piece { agents: Arc<[String]>, piece: Piece, text: String },
    Event(AgentEvent),
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Queued>,
    waker: Option<Waker>,
    /// The producer has said everything.
    closed: bool,
    /// The consumer is gone: events go to the extensions alone.
    gone: bool,
}

impl Queue {
    fn push(&mut self, queued: Queued) {
        if !self.gone && !self.closed {
            self.waiting.push_back(queued);
        }
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

struct Shared {
    queue: Mutex<Queue>,
    room: Notify,
    /// Held from the first extension to the queue, so that all see one order.
    order: tokio::sync::Mutex<()>,
    extensions: Extensions,
    cancel: CancellationToken,
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
    /// The outlet of a child agent.
    pub(crate) fn child(&self, agent_id: &str) -> Self {
        let agents = self.agents.iter().cloned().chain([agent_id.to_owned()]).collect();
        Self { shared: self.shared.clone(), agents }
    }

    /// Delivers an event. Returns when every extension has taken it and it stands in the queue.
    pub(crate) async fn send(&self, event: AgentEvent) {
        let event = wrap(&self.agents, event);
        let _order = self.shared.order.lock().await;
        for extension in self.shared.extensions.iter() {
            extension.on_event(&event).await;
        }
        self.wait_for_room().await;
        lock(&self.shared.queue).push(Queued::Event(event));
    }

    /// Delivers an event to the consumer alone, whatever state the extensions are in.
    pub(crate) fn tell(&self, event: AgentEvent) {
        lock(&self.shared.queue).push(Queued::Event(wrap(&self.agents, event)));
    }

    /// Delivers a piece of a text to the consumer without waiting. Under pressure it joins the last
    /// piece of the same text, but passes no event and no other piece of the same answer.
    pub(crate) fn stream(&self, piece: Piece, text: String) {
        let mut queue = lock(&self.shared.queue);
        if queue.waiting.len() >= CAPACITY {
            for earlier in queue.waiting.iter_mut().rev() {
                let Queued::Piece { agents, piece: other, text: whole } = earlier else { break };
                if *agents != self.agents {
                    continue;
                }
                if *other == piece {
                    whole.push_str(&text);
                    if matches!(piece, Piece::Progress(_)) && whole.len() > PROGRESS_LIMIT {
                        let cut = whole.ceil_char_boundary(whole.len() - PROGRESS_LIMIT / 2);
                        whole.drain(..cut);
                    }
                    return;
                }
                if !matches!((&piece, other), (Piece::Progress(_), Piece::Progress(_))) {
                    break;
                }
            }
        }
        queue.push(Queued::Piece { agents: self.agents.clone(), piece, text });
    }

    /// Nothing more will be said.
    pub(crate) fn close(&self) {
        let mut queue = lock(&self.shared.queue);
        queue.closed = true;
        queue.wake();
    }

    async fn wait_for_room(&self) {
        loop {
            let room = self.shared.room.notified();
            {
                let queue = lock(&self.shared.queue);
                if queue.waiting.len() < CAPACITY || queue.gone {
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

fn wrap(agents: &[String], event: AgentEvent) -> AgentEvent {
    agents
        .iter()
        .rev()
        .fold(event, |event, agent_id| AgentEvent::Subagent { agent_id: agent_id.clone(), event: Box::new(event) })
}

impl From<Queued> for AgentEvent {
    fn from(queued: Queued) -> Self {
        match queued {
            Queued::Event(event) => event,
            Queued::Piece { agents, piece, text } => {
                let event = match piece {
                    Piece::Text => Self::TextDelta { text },
                    Piece::Thinking => Self::ThinkingDelta { text },
                    Piece::Progress(id) => Self::ToolProgress { id, text },
                };
                wrap(&agents, event)
            }
        }
    }
}

impl Stream for EventStream {
    type Item = AgentEvent;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        let mut queue = lock(&self.shared.queue);
        if let Some(queued) = queue.waiting.pop_front() {
            self.shared.room.notify_one();
            return Poll::Ready(Some(queued.into()));
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
        let mut queue = lock(&self.shared.queue);
        queue.gone = true;
        queue.waiting.clear();
        if !queue.closed {
            self.shared.cancel.cancel();
        }
        drop(queue);
        self.shared.room.notify_one();
    }
}
