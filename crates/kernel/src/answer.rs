//! Owns one call of the model: its stream, and the attempts that a broken stream costs.
//! Must not know what is done with the answer.

use std::time::Duration;

use futures::StreamExt;

use crate::*;

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

/// The request for the conversation as it is now. What is still open in it is closed first.
pub(crate) fn request(params: &QueryParams) -> ModelRequest {
    let mut conversation = params.conversation.lock();
    conversation.close_round();
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
pub(crate) async fn call_model(scope: &Scope, request: ModelRequest, audience: Audience) -> Answered {
    loop {
        let mut attempt = Attempt::default();
        let error = match attempt.follow(scope, request.clone(), audience).await {
            Ok(StopReason::Refusal(why)) => {
                count(scope, attempt.usage).await;
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                return Answered::Failed(ModelError::new(ErrorKind::Refused, format!("the model declined{why}")));
            }
            Ok(stop) => {
                let Attempt { blocks, usage, .. } = attempt;
                return Answered::Whole { blocks, stop, usage };
            }
            Err(None) => {
                count(scope, attempt.usage).await;
                return Answered::Aborted { text: attempt.text };
            }
            Err(Some(error)) => error,
        };
        // What was not kept was paid for all the same.
        count(scope, attempt.usage).await;
        let number = match error.kind.is_transient() && attempt.begun {
            true => request.retries.take(),
            false => None,
        };
        let Some(number) = number else { return Answered::Failed(error) };
        let delay = retry::delay(number, error.kind.retry_after());
        scope.outlet.send(retry_event(error.message, number, delay, true)).await;
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = scope.params.cancel.cancelled() => return Answered::Aborted { text: String::new() },
        }
    }
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
    /// Reads the answer to its end. `Err(None)` when the prompt was interrupted.
    async fn follow(
        &mut self,
        scope: &Scope,
        request: ModelRequest,
        audience: Audience,
    ) -> Result<StopReason, Option<ModelError>> {
        let params = &scope.params;
        let mut stream = params.model.stream(request);
        loop {
            let next = tokio::select! {
                biased;
                () = params.cancel.cancelled() => return Err(None),
                next = stream.next() => next,
            };
            let (piece, text) = match next {
                None => {
                    let text = "the stream of the answer ended before the answer did";
                    return Err(Some(ModelError::new(ErrorKind::Transport, text)));
                }
                Some(Err(error)) => return Err(Some(error)),
                Some(Ok(ModelEvent::Stop(stop))) => return Ok(stop),
                Some(Ok(ModelEvent::Usage(usage))) => {
                    self.usage = usage;
                    continue;
                }
                Some(Ok(ModelEvent::Retry { reason, attempt, delay })) => {
                    scope.outlet.send(retry_event(reason, attempt, delay, false)).await;
                    continue;
                }
                Some(Ok(ModelEvent::Alive)) => continue,
                Some(Ok(ModelEvent::Notice(text))) => {
                    scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
                    continue;
                }
                Some(Ok(ModelEvent::Block(block))) => {
                    self.begun = true;
                    self.blocks.push(block);
                    continue;
                }
                Some(Ok(ModelEvent::TextDelta(text))) => {
                    self.text.push_str(&text);
                    (Piece::Text, text)
                }
                Some(Ok(ModelEvent::ThinkingDelta(text))) => (Piece::Thinking, text),
            };
            self.begun = true;
            if audience == Audience::Consumer {
                scope.outlet.stream(piece, text);
            }
        }
    }
}

fn retry_event(reason: String, attempt: u32, delay: Duration, void: bool) -> AgentEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    AgentEvent::Retry { reason, attempt, delay_ms, void }
}
