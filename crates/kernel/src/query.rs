//! Owns the loop. Must not know I/O, user interfaces or vendors.
//!
//! One turn is one model call. The loop takes no decision that depends on an event before every
//! extension has taken that event, so a journal is a write-ahead log.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::compact::{self, CompactPolicy};
use crate::conversation::SharedConversation;
use crate::event::{AgentEvent, Cost, Init, Level, TerminalReason};
use crate::extension::{At, Extensions};
use crate::gate::Gate;
use crate::message::{Block, Message};
use crate::model::{ErrorKind, Model, ModelError, StopReason, Usage};
use crate::orchestrate::{panic_text, run_round};
use crate::outlet::{self, EventStream};
use crate::permission::Place;
use crate::subagent::Scope;
use crate::tool::ToolPool;
use crate::turn::{Answered, Audience, ask, request};

/// Bounds of one prompt.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Model calls; `None` is no bound.
    pub max_turns: Option<u32>,
    /// When history is summarised.
    pub compact: CompactPolicy,
}

/// Tokens of a session, added to by every agent in it.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Usage>>);

impl Meter {
    /// The total so far.
    pub fn total(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, usage: Usage) -> Usage {
        let mut total = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *total += usage;
        *total
    }
}

/// Everything that a query works with. Cheap to clone.
#[derive(Clone)]
pub struct QueryParams {
    /// Who answers.
    pub model: Arc<dyn Model>,
    /// The model's id as its provider knows it.
    pub model_id: String,
    /// Upper bound of one answer in tokens.
    pub max_tokens: u32,
    /// The history; usable again as soon as the stream has ended, however it ended.
    pub conversation: SharedConversation,
    /// What the model may call.
    pub tools: ToolPool,
    /// Who decides whether it may.
    pub gate: Gate,
    /// Features, in order.
    pub extensions: Extensions,
    /// Where it all happens.
    pub place: Arc<Place>,
    /// Bounds.
    pub limits: Limits,
    /// Tokens of the session.
    pub meter: Meter,
    /// Interrupts the prompt.
    pub cancel: CancellationToken,
    /// Sent first; `None` after a session's first prompt.
    pub init: Option<Init>,
    /// What is asked.
    pub prompt: Vec<Block>,
    /// Who asks: `person`, `agent`, or the name of a feature.
    pub origin: String,
    /// Whether `terminal` carries the final history.
    pub report_messages: bool,
}

/// How a prompt ended.
pub(crate) struct Outcome {
    pub(crate) reason: TerminalReason,
    pub(crate) text: String,
    pub(crate) error: Option<String>,
    pub(crate) turns: u32,
}

impl Outcome {
    pub(crate) fn terminal(&self, messages: Option<Arc<Vec<Arc<Message>>>>) -> AgentEvent {
        AgentEvent::Terminal { reason: self.reason, messages }
    }
}

/// Answers one prompt. The stream always ends with `terminal`; dropping it interrupts the work.
pub fn query(params: QueryParams) -> EventStream {
    drive(params, |params, scope| async move { run(&params, &scope).await })
}

/// Summarises the history now, whatever its size. The stream ends with `terminal`.
pub fn compact_now(params: QueryParams) -> EventStream {
    drive(params, |params, scope| async move {
        match compact::compact(&params, &scope, "manual").await {
            Ok(()) => Outcome::of(TerminalReason::Completed, 0),
            Err(Some(fault)) => fail(&scope, "compact", fault, TerminalReason::Error, 0).await,
            Err(None) => Outcome::of(TerminalReason::Aborted, 0),
        }
    })
}

fn drive<F>(params: QueryParams, work: impl FnOnce(QueryParams, Arc<Scope>) -> F) -> EventStream
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let (outlet, stream) = outlet::channel(params.extensions.clone(), params.cancel.clone());
    let scope = Arc::new(Scope { params: Some(params.clone()), outlet, depth: 0 });
    let work = work(params.clone(), scope.clone());
    tokio::spawn(async move {
        let outcome = match AssertUnwindSafe(work).catch_unwind().await {
            Ok(outcome) => outcome,
            Err(panic) => {
                let text = format!("rsagent failed inside: {}", panic_text(&*panic));
                fail(&scope, "loop", text, TerminalReason::Error, 0).await
            }
        };
        let messages = params.report_messages.then(|| params.conversation.lock().history());
        scope.outlet.send(outcome.terminal(messages)).await;
        scope.outlet.close();
    });
    stream
}

impl Outcome {
    fn of(reason: TerminalReason, turns: u32) -> Self {
        Self { reason, text: String::new(), error: None, turns }
    }
}

async fn fail(
    scope: &Scope,
    source: &str,
    text: String,
    reason: TerminalReason,
    turns: u32,
) -> Outcome {
    scope.outlet.send(AgentEvent::notice(source, Level::Error, text.clone())).await;
    Outcome { reason, text: String::new(), error: Some(text), turns }
}

/// The loop: the same for the main agent and for its children.
pub(crate) async fn run(params: &QueryParams, scope: &Arc<Scope>) -> Outcome {
    let outlet = &scope.outlet;
    if let Some(init) = &params.init {
        outlet.send(AgentEvent::Init(init.clone())).await;
    }
    let said = params.conversation.lock().push_user(params.prompt.clone());
    match said {
        Ok(message) => {
            outlet.send(AgentEvent::User { message, origin: params.origin.clone() }).await;
        }
        Err(fault) => {
            return fail(scope, "prompt", fault.to_string(), TerminalReason::Error, 0).await;
        }
    }
    let mut words = String::new();
    let mut may_compact = true;
    let mut may_recover = true;
    let mut turn = 0;
    loop {
        let at = At { depth: scope.depth, turn: turn + 1 };
        for extension in params.extensions.iter() {
            let blocks = extension.before_model(at).await;
            params.conversation.lock().append(blocks);
        }
        if may_compact && compact::is_due(params) {
            may_compact = compact_or_say(params, scope).await;
        }
        if params.cancel.is_cancelled() {
            return Outcome { text: words, ..Outcome::of(TerminalReason::Aborted, turn) };
        }
        turn = at.turn;
        outlet.send(AgentEvent::TurnStart { turn }).await;
        let (blocks, stop, usage) =
            match ask(params, outlet, request(params), Audience::Consumer).await {
                Answered::Whole { blocks, stop, usage } => (blocks, stop, usage),
                Answered::Aborted { text } => {
                    keep_partial(params, scope, text).await;
                    return Outcome { text: words, ..Outcome::of(TerminalReason::Aborted, turn) };
                }
                Answered::Failed(error) => {
                    if may_recover && recover(params, at, &error).await {
                        may_recover = false;
                        turn -= 1;
                        continue;
                    }
                    let reason = match error.kind {
                        ErrorKind::Refused => TerminalReason::Refused,
                        _ => TerminalReason::Error,
                    };
                    return Outcome {
                        text: words,
                        ..fail(scope, "model", error.to_string(), reason, turn).await
                    };
                }
            };
        if let StopReason::Refusal(why) = stop {
            count(params, scope, usage).await;
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let text = format!("the model declined to answer{why}");
            return fail(scope, "model", text, TerminalReason::Refused, turn).await;
        }
        let answer = keep_answer(params, scope, blocks, usage).await;
        if let Some(message) = &answer {
            words = message.text();
        }
        if let Some(message) = answer.filter(|message| calls_tools(message)) {
            let added = run_round(params, scope, &message, at).await;
            if params.cancel.is_cancelled() {
                return Outcome { text: words, ..Outcome::of(TerminalReason::Aborted, turn) };
            }
            if params.limits.max_turns.is_some_and(|limit| turn >= limit) {
                return Outcome { text: words, ..Outcome::of(TerminalReason::MaxTurns, turn) };
            }
            params.conversation.lock().append(added);
            continue;
        }
        if stop == StopReason::PauseTurn {
            continue;
        }
        if !go_on(params, scope, at).await {
            say_why_cut(scope, &stop).await;
            return Outcome { text: words, ..Outcome::of(TerminalReason::Completed, turn) };
        }
    }
}

fn calls_tools(message: &Message) -> bool {
    message.content().iter().any(|block| matches!(block, Block::ToolUse { .. }))
}

/// Puts an answer into the conversation and counts it.
async fn keep_answer(
    params: &QueryParams,
    scope: &Scope,
    blocks: Vec<Block>,
    usage: Usage,
) -> Option<Arc<Message>> {
    let message = {
        let mut conversation = params.conversation.lock();
        let message = conversation.push_assistant(blocks);
        conversation.measure(usage);
        message
    };
    match &message {
        Some(message) => {
            scope.outlet.send(AgentEvent::Assistant { message: message.clone() }).await;
        }
        None => {
            let text = "the model sent an empty answer";
            scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
        }
    }
    count(params, scope, usage).await;
    message
}

/// Of an interrupted answer the text that was shown stays; what it wanted to run does not.
async fn keep_partial(params: &QueryParams, scope: &Scope, text: String) {
    let message = params.conversation.lock().push_assistant(vec![Block::text(text)]);
    if let Some(message) = message {
        scope.outlet.send(AgentEvent::Assistant { message }).await;
    }
}

pub(crate) async fn count(params: &QueryParams, scope: &Scope, usage: Usage) {
    if usage.total() > 0 {
        let call = Cost { tokens: usage, cost: None };
        let session = Cost { tokens: params.meter.add(usage), cost: None };
        scope.outlet.send(AgentEvent::Usage { call, session }).await;
    }
}

/// Summarises the history. A failure is said once; whether it may be tried again.
async fn compact_or_say(params: &QueryParams, scope: &Scope) -> bool {
    match compact::compact(params, scope, "auto").await {
        Ok(()) => true,
        Err(fault) => {
            if let Some(text) = fault {
                scope.outlet.send(AgentEvent::notice("compact", Level::Error, text)).await;
            }
            false
        }
    }
}

/// Lets the features propose a history with which a failed call may succeed.
async fn recover(params: &QueryParams, at: At, error: &ModelError) -> bool {
    for extension in params.extensions.iter() {
        if let Some(draft) = extension.on_model_error(at, error).await {
            return params.conversation.lock().open_epoch(draft, None).is_ok();
        }
    }
    false
}

/// Asks the features whether the loop shall go on although the model is done.
async fn go_on(params: &QueryParams, scope: &Scope, at: At) -> bool {
    if params.limits.max_turns.is_some_and(|limit| at.turn >= limit) {
        return false;
    }
    for extension in params.extensions.iter() {
        let Some(text) = extension.before_stop(at).await else { continue };
        let added = params.conversation.lock().append(vec![Block::text(text)]);
        let Some(message) = added else { continue };
        let origin = extension.name().to_owned();
        scope.outlet.send(AgentEvent::User { message, origin }).await;
        return true;
    }
    false
}

async fn say_why_cut(scope: &Scope, stop: &StopReason) {
    let text = match stop {
        StopReason::MaxTokens => "the answer was cut at the output limit",
        StopReason::ContextWindow => "the answer was cut: the context window is full",
        StopReason::EndTurn
        | StopReason::PauseTurn
        | StopReason::Refusal(_)
        | StopReason::Other(_) => return,
    };
    scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
}
