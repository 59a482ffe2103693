//! Owns the way of an event from the loop to its consumer: extensions first, then a bounded queue.
//! Must not know what events mean.
//!
//! A slow consumer makes pieces of text merge and everything else wait; it never loses an event, and
//! never keeps a tool from finishing. After cancellation nothing waits any more: what is left to
//! say is finite.

use std::sync::Arc;

use channel::{Fit, Merge, Receiver, Sender};
use tokio_util::sync::CancellationToken;

use crate::*;

/// Events that may wait for a slow consumer before the loop waits too.
const CAPACITY: usize = 64;
/// The longest text that merging makes of progress; the oldest part beyond it is dropped.
const PROGRESS_LIMIT: usize = 64 * 1024;

/// A piece of a text passes no event, and no other piece of the same answer.
impl Merge for AgentEvent {
    fn merge(&mut self, later: Self) -> Fit<Self> {
        match (self, later) {
            (Self::Subagent { agent_id, event }, Self::Subagent { agent_id: id, event: later }) if *agent_id == id => {
                event.merge(*later).map(|event| Self::Subagent { agent_id: id, event: Box::new(event) })
            }
            (Self::TextDelta { text }, Self::TextDelta { text: more })
            | (Self::ThinkingDelta { text }, Self::ThinkingDelta { text: more }) => {
                text.push_str(&more);
                Fit::Merged
            }
            (Self::ToolProgress { id, text }, Self::ToolProgress { id: other, text: more }) if *id == other => {
                text.push_str(&more);
                if text.len() > PROGRESS_LIMIT {
                    text.drain(..text.ceil_char_boundary(text.len() - PROGRESS_LIMIT / 2));
                }
                Fit::Merged
            }
            (Self::ToolProgress { .. }, later @ Self::ToolProgress { .. }) => Fit::Pass(later),
            (earlier @ Self::Subagent { .. }, later) | (earlier, later @ Self::Subagent { .. })
                if earlier.is_piece() =>
            {
                Fit::Pass(later)
            }
            (_, later) => Fit::Stop(later),
        }
    }
}

/// The producer's end. A child agent's outlet wraps what it says and passes it to its parent's.
#[derive(Clone)]
pub(crate) struct Outlet {
    queue: Sender<AgentEvent>,
    /// Held from the first extension to the queue, so that all see one order.
    order: Arc<tokio::sync::Mutex<()>>,
    extensions: Extensions,
    cancel: CancellationToken,
    /// Ids of the agents to wrap events in, outermost first.
    agents: Arc<[String]>,
}

/// The consumer's end: a stream that ends after `terminal`. Dropping it interrupts the prompt.
pub type EventStream = Receiver<AgentEvent>;

/// An outlet and its stream.
pub(crate) fn channel(extensions: Extensions, cancel: CancellationToken) -> (Outlet, EventStream) {
    let interrupt = cancel.clone();
    let (queue, stream) = channel::channel(CAPACITY, move || interrupt.cancel());
    (Outlet { queue, order: Arc::default(), extensions, cancel, agents: Arc::new([]) }, stream)
}

impl Outlet {
    /// The outlet of a child agent.
    pub(crate) fn child(&self, agent_id: &str) -> Self {
        let agents = self.agents.iter().cloned().chain([agent_id.to_owned()]).collect();
        Self { agents, ..self.clone() }
    }

    /// Delivers an event. Returns when every extension has taken it and it stands in the queue.
    pub(crate) async fn send(&self, event: AgentEvent) {
        let event = wrap(&self.agents, event);
        let _order = self.order.lock().await;
        for extension in self.extensions.iter() {
            extension.on_event(&event).await;
        }
        tokio::select! {
            () = self.queue.room() => {}
            () = self.cancel.cancelled() => {}
        }
        self.queue.push(event);
    }

    /// Delivers an event to the consumer alone, whatever state the extensions are in.
    pub(crate) fn tell(&self, event: AgentEvent) {
        self.queue.push(wrap(&self.agents, event));
    }

    /// Delivers a piece of a text to the consumer without waiting; under pressure it joins the last
    /// piece of the same text.
    pub(crate) fn stream(&self, piece: AgentEvent) {
        self.queue.push_merging(wrap(&self.agents, piece));
    }

    /// Nothing more will be said.
    pub(crate) fn close(&self) {
        self.queue.close();
    }
}

fn wrap(agents: &[String], event: AgentEvent) -> AgentEvent {
    agents
        .iter()
        .rev()
        .fold(event, |event, agent_id| AgentEvent::Subagent { agent_id: agent_id.clone(), event: Box::new(event) })
}
