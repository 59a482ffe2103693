//! Owns one call of the model: its stream, and the attempts that a broken stream costs.
//! Must not know what is done with the answer.

use std::time::Duration;

use futures::StreamExt;

use crate::event::AgentEvent;
use crate::message::Block;
use crate::model::{ErrorKind, ModelError, ModelEvent, ModelRequest, StopReason, Usage};
use crate::outlet::Outlet;
use crate::query::QueryParams;
use crate::retry::{self, RetryBudget};

/// Attempts beyond the first that one call may cost.
const RETRIES: u32 = 3;

/// Who watches the deltas of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// They are part of the answer and are shown.
    Consumer,
    /// They serve the loop only.
    Nobody,
}

/// What came of a call.
pub(crate) enum Answered {
    /// The whole answer.
    Whole { blocks: Vec<Block>, stop: StopReason, usage: Usage },
    /// No answer. Nothing of it may be kept.
    Failed(ModelError),
    /// The call was interrupted; this much text had been shown.
    Aborted { text: String },
}

/// The request for the conversation as it is now.
pub(crate) fn request(params: &QueryParams) -> ModelRequest {
    let conversation = params.conversation.lock();
    ModelRequest {
        model: params.model_id.clone(),
        max_tokens: params.max_tokens,
        prefix: conversation.prefix(),
        messages: conversation.messages(),
        extra: None,
        retries: RetryBudget::new(RETRIES),
        cancel: params.cancel.clone(),
    }
}

/// Calls the model. A stream that breaks after its first delta is void and asked for again while
/// attempts are left: nothing of it has run. Before the first delta the model itself retries.
pub(crate) async fn ask(
    params: &QueryParams,
    outlet: &Outlet,
    request: ModelRequest,
    audience: Audience,
) -> Answered {
    loop {
        let mut attempt = Attempt::default();
        let error = match attempt.follow(params, outlet, request.clone(), audience).await {
            Followed::Stopped(stop) => {
                let Attempt { blocks, usage, .. } = attempt;
                return Answered::Whole { blocks, stop, usage };
            }
            Followed::Cancelled => return Answered::Aborted { text: attempt.text },
            Followed::Broke(error) => error,
        };
        let number = match error.kind.is_transient() && attempt.begun {
            true => request.retries.take(),
            false => None,
        };
        let Some(number) = number else { return Answered::Failed(error) };
        let delay = retry::delay(number, error.kind.retry_after());
        outlet.send(retry_event(error.message, number, delay, true)).await;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = params.cancel.cancelled() => return Answered::Aborted { text: String::new() },
        }
    }
}

enum Followed {
    Stopped(StopReason),
    Broke(ModelError),
    Cancelled,
}

#[derive(Default)]
struct Attempt {
    blocks: Vec<Block>,
    usage: Usage,
    /// Text shown so far.
    text: String,
    /// Whether anything of the answer has been seen.
    begun: bool,
}

impl Attempt {
    async fn follow(
        &mut self,
        params: &QueryParams,
        outlet: &Outlet,
        request: ModelRequest,
        audience: Audience,
    ) -> Followed {
        let mut stream = params.model.stream(request);
        loop {
            let next = tokio::select! {
                biased;
                () = params.cancel.cancelled() => return Followed::Cancelled,
                next = stream.next() => next,
            };
            let shown = match next {
                None => {
                    let text = "the stream of the answer ended before the answer did";
                    return Followed::Broke(ModelError::new(ErrorKind::Transport, text));
                }
                Some(Err(error)) => return Followed::Broke(error),
                Some(Ok(ModelEvent::Stop(stop))) => return Followed::Stopped(stop),
                Some(Ok(ModelEvent::Usage(usage))) => {
                    self.usage = usage;
                    continue;
                }
                Some(Ok(ModelEvent::Retry { reason, attempt, delay })) => {
                    outlet.send(retry_event(reason, attempt, delay, false)).await;
                    continue;
                }
                Some(Ok(ModelEvent::Block(block))) => {
                    self.begun = true;
                    self.blocks.push(block);
                    continue;
                }
                Some(Ok(ModelEvent::TextDelta(text))) => {
                    self.text.push_str(&text);
                    AgentEvent::TextDelta { text }
                }
                Some(Ok(ModelEvent::ThinkingDelta(text))) => AgentEvent::ThinkingDelta { text },
            };
            self.begun = true;
            if audience == Audience::Consumer {
                outlet.send(shown).await;
            }
        }
    }
}

fn retry_event(reason: String, attempt: u32, delay: Duration, void: bool) -> AgentEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    AgentEvent::Retry { reason, attempt, delay_ms, void }
}
