//! Owns the loop. Must not know I/O, user interfaces or vendors.
//!
//! One turn is one call of the model and the round of tools that it asks for. The loop takes no
//! decision that depends on an event before every extension has taken that event, so a journal is a
//! write-ahead log.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::*;

/// Tokens of a session, added to by every agent in it.
#[derive(Debug, Clone, Default)]
pub struct Meter(Arc<Mutex<Usage>>);

impl Meter {
    /// The total so far.
    pub fn total(&self) -> Usage {
        *lock(&self.0)
    }

    fn add(&self, usage: Usage) -> Usage {
        let mut total = lock(&self.0);
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
    /// Model calls that the prompt may make; `None` is no bound.
    pub max_turns: Option<u32>,
    /// Tokens of the session.
    pub meter: Meter,
    /// Further attempts of this prompt, its subagents included.
    pub retries: RetryBudget,
    /// Interrupts the prompt.
    pub cancel: CancellationToken,
    /// What this agent is.
    pub init: Init,
    /// Whether `init` is sent first: on a session's first prompt, and for each child.
    pub announce: bool,
    /// What is asked.
    pub prompt: Vec<Block>,
    /// Who asks: `person`, `agent`, or the name of a feature.
    pub origin: String,
    /// Whether `terminal` carries the final history.
    pub report_messages: bool,
}

/// One agent at work: what it works with, where its events go, how deep it is nested. Every part of
/// the loop is given it.
pub(crate) struct Scope {
    pub(crate) params: QueryParams,
    pub(crate) outlet: Outlet,
    pub(crate) depth: u32,
}

/// How a prompt ended. There is always an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Why it ended.
    pub reason: TerminalReason,
    /// The agent's last words.
    pub text: String,
    /// What went wrong, if something did.
    pub error: Option<String>,
    /// Model calls that were made.
    pub turns: u32,
}

impl Outcome {
    fn of(reason: TerminalReason) -> Self {
        Self { reason, text: String::new(), error: None, turns: 0 }
    }

    pub(crate) fn terminal(&self, messages: Option<Arc<Vec<Arc<Message>>>>) -> AgentEvent {
        AgentEvent::Terminal { reason: self.reason, messages }
    }
}

/// Answers one prompt. The stream always ends with `terminal`; dropping it interrupts the work.
pub fn query(params: QueryParams) -> EventStream {
    drive(params, |scope| async move { run(&scope).await })
}

/// Summarises the history now, whatever its size. The stream ends with `terminal`.
pub fn compact_now(params: QueryParams) -> EventStream {
    drive(params, |scope| async move {
        let at = At { depth: scope.depth, turn: 1 };
        let mut progress = Progress::default();
        match help(&scope, at, Trouble::Asked, &mut progress, &mut None).await {
            Some(_) => Outcome::of(TerminalReason::Completed),
            None if scope.params.cancel.is_cancelled() => Outcome::of(TerminalReason::Aborted),
            None => Outcome::of(TerminalReason::Error),
        }
    })
}

fn drive<F>(params: QueryParams, work: impl FnOnce(Arc<Scope>) -> F) -> EventStream
where
    F: Future<Output = Outcome> + Send + 'static,
{
    let (outlet, stream) = outlet::channel(params.extensions.clone(), params.cancel.clone());
    let scope = Arc::new(Scope { params, outlet, depth: 0 });
    let work = work(scope.clone());
    tokio::spawn(async move {
        let Scope { params, outlet, .. } = &*scope;
        let history = || params.report_messages.then(|| params.conversation.lock().history());
        let whole = async {
            let _lease = params.conversation.lease().await;
            let outcome = work.await;
            outlet.send(outcome.terminal(history())).await;
        };
        if let Err(panic) = AssertUnwindSafe(whole).catch_unwind().await {
            let text = format!("rsagent failed inside: {}", panic_text(&*panic));
            let terminal = Outcome::of(TerminalReason::Error).terminal(history());
            for event in [AgentEvent::notice("loop", Level::Error, text), terminal] {
                // Where a feature is what fails, the consumer at least is told.
                if AssertUnwindSafe(outlet.send(event.clone())).catch_unwind().await.is_err() {
                    outlet.tell(event);
                }
            }
        }
        outlet.close();
    });
    stream
}

async fn fail(scope: &Scope, source: &str, text: &str, data: Value, reason: TerminalReason) -> Outcome {
    let notice = AgentEvent::Notice { source: source.into(), level: Level::Error, text: text.into(), data };
    scope.outlet.send(notice).await;
    Outcome { error: Some(text.into()), ..Outcome::of(reason) }
}

/// The same for a call of the model; programs are told what kind of failure it is.
async fn failed(scope: &Scope, error: &ModelError) -> Outcome {
    let kind: &str = error.kind.into();
    let data = json!({"kind": kind, "transient": error.kind.is_transient()});
    let refused = error.kind == ErrorKind::Refused;
    let reason = if refused { TerminalReason::Refused } else { TerminalReason::Error };
    fail(scope, "model", &error.to_string(), data, reason).await
}

/// What a prompt remembers from turn to turn.
#[derive(Default)]
pub(crate) struct Progress {
    /// Names of the remedies that it has had.
    pub(crate) tried: Vec<&'static str>,
    /// How long an answer may be, where that was changed.
    pub(crate) longer: Option<u32>,
    /// The last words.
    words: String,
}

/// The loop: the same for the main agent and for its children.
pub(crate) async fn run(scope: &Arc<Scope>) -> Outcome {
    let QueryParams { conversation, prompt, origin, init, announce, .. } = &scope.params;
    if *announce {
        scope.outlet.send(AgentEvent::Init(init.clone())).await;
    }
    let said = conversation.lock().push_user(prompt.clone());
    match said {
        Ok(message) => scope.outlet.send(AgentEvent::User { message, origin: origin.clone() }).await,
        Err(fault) => return fail(scope, "prompt", &fault.to_string(), Value::Null, TerminalReason::Error).await,
    }
    let mut progress = Progress::default();
    let mut turns = 0;
    loop {
        turns += 1;
        match turn(scope, At { depth: scope.depth, turn: turns }, &mut progress).await {
            Step::GoOn => {}
            Step::Again => turns -= 1,
            Step::End(outcome) => return Outcome { text: progress.words, turns, ..outcome },
        }
    }
}

/// What follows a turn.
pub(crate) enum Step {
    /// The next turn.
    GoOn,
    /// The same turn, with another history.
    Again,
    /// Nothing.
    End(Outcome),
}

impl Step {
    fn end(reason: TerminalReason) -> Self {
        Self::End(Outcome::of(reason))
    }
}

/// One turn: a call of the model, and the round of tools that it asks for.
async fn turn(scope: &Arc<Scope>, at: At, progress: &mut Progress) -> Step {
    let params = &scope.params;
    let last = params.max_turns.is_some_and(|limit| at.turn >= limit);
    for extension in params.extensions.iter() {
        let blocks = extension.before_model(at).await;
        append(scope, vec![(extension.name().to_owned(), blocks)]).await;
    }
    help(scope, at, Trouble::Before, progress, &mut None).await;
    if params.cancel.is_cancelled() {
        return Step::end(TerminalReason::Aborted);
    }
    scope.outlet.send(AgentEvent::TurnStart { turn: at.turn }).await;
    let reply = match call_model(scope, request(params, progress.longer), Audience::Consumer).await {
        Answered::Whole(reply) => reply,
        Answered::Aborted { text } => {
            // The text that was shown stays; what the answer wanted to run does not.
            keep(scope, vec![Block::text(text)], Usage::default()).await;
            return Step::end(TerminalReason::Aborted);
        }
        Answered::Stopped(why) => {
            return Step::End(fail(scope, "budget", &why, Value::Null, TerminalReason::Budget).await);
        }
        Answered::Failed { error, text } => {
            if let Some(step) = help(scope, at, Trouble::Failed(&error), progress, &mut None).await {
                return step;
            }
            if error.kind != ErrorKind::Refused {
                keep(scope, vec![Block::text(text)], Usage::default()).await;
            }
            return match params.cancel.is_cancelled() {
                true => Step::end(TerminalReason::Aborted),
                false => Step::End(failed(scope, &error).await),
            };
        }
    };
    let (stop, unfinished) = (reply.stop.clone(), reply.is_unfinished());
    let mut reply = Some(reply);
    if unfinished && !last {
        let helped = help(scope, at, Trouble::Unfinished(&stop), progress, &mut reply).await;
        if let Some(step) = helped {
            return step;
        }
    }
    let Some(Reply { blocks, usage, early, .. }) = reply else {
        let text = "the answer was not whole, and nothing helped";
        return Step::End(fail(scope, "model", text, Value::Null, TerminalReason::Error).await);
    };
    if let Some(message) = keep(scope, blocks, usage).await {
        if !message.text().trim().is_empty() {
            progress.words = message.text();
        }
        if message.tool_uses().next().is_some() {
            let added = run_round(scope, &message, early, at).await;
            append(scope, added).await;
            if params.cancel.is_cancelled() || last {
                // Unless a feature added something, the round stays open: the next prompt joins its results.
                let aborted = params.cancel.is_cancelled();
                return Step::end(if aborted { TerminalReason::Aborted } else { TerminalReason::MaxTurns });
            }
            params.conversation.lock().close_round();
            return Step::GoOn;
        }
    }
    match stop == StopReason::PauseTurn {
        true if last => Step::end(TerminalReason::MaxTurns),
        true => Step::GoOn,
        false => go_on(scope, at, &stop, unfinished, last).await,
    }
}

/// Puts an answer into the conversation, says so, and counts it where it was not counted before.
pub(crate) async fn keep(scope: &Scope, blocks: Vec<Block>, usage: Usage) -> Option<Arc<Message>> {
    let kept = {
        let mut conversation = scope.params.conversation.lock();
        let kept = conversation.push_assistant(blocks);
        conversation.measure(usage);
        kept
    };
    if let Some(message) = kept.clone() {
        scope.outlet.send(AgentEvent::Assistant { message }).await;
    }
    count(scope, usage).await;
    kept
}

pub(crate) async fn count(scope: &Scope, usage: Usage) {
    if usage.total() > 0 {
        let session = scope.params.meter.add(usage);
        scope.outlet.send(AgentEvent::Usage { call: usage, session }).await;
    }
}

/// Appends what features add, in one message, and says for each what it was.
pub(crate) async fn append(scope: &Scope, mut added: Vec<Added>) {
    added.iter_mut().for_each(|(_, blocks)| blocks.retain(|block| block.may_be_said_by(Role::User)));
    let blocks = added.iter().flat_map(|(_, blocks)| blocks).cloned().collect();
    scope.params.conversation.lock().append(blocks);
    for (origin, blocks) in added.into_iter().filter(|(_, blocks)| !blocks.is_empty()) {
        let message = Arc::new(Message::new(Role::User, blocks));
        scope.outlet.send(AgentEvent::User { message, origin }).await;
    }
}

/// The model is done. Asks the features whether the loop shall go on all the same.
async fn go_on(scope: &Scope, at: At, stop: &StopReason, unfinished: bool, last: bool) -> Step {
    for extension in scope.params.extensions.iter().filter(|_| !last) {
        if let Some(text) = extension.before_stop(at).await.filter(|text| !text.trim().is_empty()) {
            append(scope, vec![(extension.name().to_owned(), vec![Block::text(text)])]).await;
            return Step::GoOn;
        }
    }
    let text = match stop {
        StopReason::MaxTokens => "the answer was cut at the output limit",
        StopReason::ContextWindow => "the answer was cut: the context window is full",
        StopReason::HalfCall => {
            let text = "the model wrote half a tool call as text and stopped; nothing of it was run";
            return Step::End(fail(scope, "model", text, Value::Null, TerminalReason::Error).await);
        }
        _ if unfinished => "the model ended without an answer",
        // A refusal came as an error.
        StopReason::EndTurn | StopReason::PauseTurn | StopReason::Refusal(_) | StopReason::Other(_) => {
            return Step::end(TerminalReason::Completed);
        }
    };
    scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
    Step::end(TerminalReason::Completed)
}
