//! Owns one call of the model: its stream, and the attempts that a broken stream costs.
//! Must not know what is done with the answer.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use crate::*;

/// Who watches the deltas of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// They are part of the answer and are shown.
    Consumer,
    /// They serve the loop only.
    Nobody,
}

/// A whole answer.
pub(crate) struct Reply {
    pub(crate) blocks: Vec<Block>,
    pub(crate) stop: StopReason,
    pub(crate) usage: Usage,
    /// Its calls that run already.
    pub(crate) early: Early,
}

impl Reply {
    /// Whether it calls no tool and is no end either: it was cut, or has no words in it.
    pub(crate) fn is_unfinished(&self) -> bool {
        let calls = self.blocks.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        let says = |block: &Block| matches!(block, Block::Text { .. }) && !block.is_blank();
        let ended = matches!(self.stop, StopReason::EndTurn | StopReason::Refusal(_) | StopReason::Other(_));
        !calls && self.stop != StopReason::PauseTurn && (!ended || !self.blocks.iter().any(says))
    }
}

/// What came of a call.
pub(crate) enum Answered {
    /// The whole answer.
    Whole(Reply),
    /// No answer; this much text had been shown.
    Failed { error: ModelError, text: String },
    /// A feature did not let the call be made.
    Stopped(String),
    /// The call was interrupted; this much text had been shown.
    Aborted { text: String },
}

/// The request for the conversation as it is now. What is still open in it is closed first.
pub(crate) fn request(params: &QueryParams, longer: Option<u32>) -> ModelRequest {
    let mut conversation = params.conversation.lock();
    conversation.close_round();
    ModelRequest {
        model: params.model_id.clone(),
        max_tokens: longer.unwrap_or(params.max_tokens),
        prefix: conversation.prefix(),
        messages: conversation.messages(),
        extra: None,
        retries: params.retries.clone(),
        cancel: params.cancel.clone(),
    }
}

/// Calls the model. A stream that breaks after its first delta is void and asked for again while
/// attempts are left: nothing of it has run. Before the first delta the model itself retries.
pub(crate) async fn call_model(scope: &Arc<Scope>, request: ModelRequest, audience: Audience) -> Answered {
    let tokens = request.prefix.tokens() + scope.params.conversation.lock().tokens();
    let mut permits = Vec::new();
    for extension in scope.params.extensions.iter() {
        match extension.before_call(tokens).await {
            Ok(permit) => permits.push(permit),
            Err(why) => return Answered::Stopped(why),
        }
    }
    loop {
        let mut attempt = Attempt::default();
        let ended = attempt.follow(scope, request.clone(), audience).await;
        let Attempt { blocks, usage, text, begun, early } = attempt;
        if let Ok(stop) = &ended
            && !matches!(stop, StopReason::Refusal(_))
        {
            request.retries.refund();
            return Answered::Whole(Reply { blocks, stop: stop.clone(), usage, early });
        }
        // What is not kept was paid for all the same.
        count(scope, usage).await;
        if scope.params.cancel.is_cancelled() {
            return Answered::Aborted { text };
        }
        let error = match ended {
            Ok(StopReason::Refusal(Some(why))) => {
                ModelError::new(ErrorKind::Refused, format!("the model declined: {why}"))
            }
            Ok(_) => ModelError::new(ErrorKind::Refused, "the model declined"),
            Err(error) => error,
        };
        let passes = error.kind.is_transient() && begun;
        let Some(number) = passes.then(|| request.retries.take()).flatten() else {
            return Answered::Failed { error, text };
        };
        drop(early);
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
    early: Early,
}

impl Attempt {
    /// Reads the answer to its end.
    async fn follow(
        &mut self,
        scope: &Arc<Scope>,
        request: ModelRequest,
        audience: Audience,
    ) -> Result<StopReason, ModelError> {
        let params = &scope.params;
        let mut stream = params.model.stream(request);
        loop {
            let next = tokio::select! {
                biased;
                () = params.cancel.cancelled() => return Err(ModelError::new(ErrorKind::Transport, "interrupted")),
                next = stream.next() => next,
            };
            let cut = || ModelError::new(ErrorKind::Transport, "the stream of the answer ended before the answer did");
            let piece = match next.unwrap_or_else(|| Err(cut()))? {
                ModelEvent::Stop(stop) => return Ok(stop),
                ModelEvent::Alive | ModelEvent::InputDelta => continue,
                ModelEvent::Usage(usage) => {
                    self.usage = usage;
                    continue;
                }
                ModelEvent::Retry { reason, attempt, delay } => {
                    scope.outlet.send(retry_event(reason, attempt, delay, false)).await;
                    continue;
                }
                ModelEvent::Notice(text) => {
                    scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
                    continue;
                }
                ModelEvent::Block(block) => {
                    self.begun = true;
                    if let (Block::ToolUse { name, input, .. }, Audience::Consumer) = (&block, audience) {
                        self.early.consider(scope, name, input);
                    }
                    self.blocks.push(block);
                    continue;
                }
                ModelEvent::TextDelta(text) => {
                    self.text.push_str(&text);
                    AgentEvent::TextDelta { text }
                }
                ModelEvent::ThinkingDelta(text) => AgentEvent::ThinkingDelta { text },
            };
            self.begun = true;
            if audience == Audience::Consumer {
                scope.outlet.stream(piece);
            }
        }
    }
}

pub(crate) fn retry_event(reason: String, attempt: u32, delay: Duration, void: bool) -> AgentEvent {
    let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
    AgentEvent::Retry { reason, attempt, delay_ms, void }
}
