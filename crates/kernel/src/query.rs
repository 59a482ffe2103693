//! Owns the loop. Must not know I/O, user interfaces or vendors.
//!
//! One turn is one call of the model and the round of tools that it asks for. The loop takes no
//! decision that depends on an event before every extension has taken that event, so a journal is a
//! write-ahead log.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::*;

/// What a model is told once that thought and then stopped.
const NUDGE: &str = "Your last message had no answer in it. Go on.";

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
    /// Bounds.
    pub limits: Limits,
    /// Tokens of the session.
    pub meter: Meter,
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
        match compact::compact(&scope, "manual").await {
            Ok(()) => Outcome::of(TerminalReason::Completed),
            Err(Some(fault)) => fail(&scope, "compact", fault, TerminalReason::Error).await,
            Err(None) => Outcome::of(TerminalReason::Aborted),
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

async fn fail(scope: &Scope, source: &str, text: String, reason: TerminalReason) -> Outcome {
    scope.outlet.send(AgentEvent::notice(source, Level::Error, text.clone())).await;
    Outcome { error: Some(text), ..Outcome::of(reason) }
}

/// What may still happen within a prompt, each once.
struct Chances {
    compact: bool,
    recover: bool,
    nudge: bool,
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
        Err(fault) => return fail(scope, "prompt", fault.to_string(), TerminalReason::Error).await,
    }
    let mut chances = Chances { compact: true, recover: true, nudge: true };
    let mut text = String::new();
    let mut turns = 0;
    loop {
        turns += 1;
        match turn(scope, At { depth: scope.depth, turn: turns }, &mut chances, &mut text).await {
            Step::GoOn => {}
            Step::Again => turns -= 1,
            Step::End(outcome) => return Outcome { text, turns, ..outcome },
        }
    }
}

/// What follows a turn.
enum Step {
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
async fn turn(scope: &Arc<Scope>, at: At, chances: &mut Chances, words: &mut String) -> Step {
    let params = &scope.params;
    let last = params.limits.max_turns.is_some_and(|limit| at.turn >= limit);
    for extension in params.extensions.iter() {
        let blocks = extension.before_model(at).await;
        append(scope, vec![(extension.name().to_owned(), blocks)]).await;
    }
    if chances.compact && compact::is_due(params) {
        chances.compact = compact_or_say(scope).await;
    }
    if params.cancel.is_cancelled() {
        return Step::end(TerminalReason::Aborted);
    }
    scope.outlet.send(AgentEvent::TurnStart { turn: at.turn }).await;
    let (blocks, stop, usage) = match call_model(scope, request(params), Audience::Consumer).await {
        Answered::Whole { blocks, stop, usage } => (blocks, stop, usage),
        Answered::Aborted { text } => {
            // The text that was shown stays; what the answer wanted to run does not.
            keep(scope, vec![Block::text(text)], Usage::default()).await;
            return Step::end(TerminalReason::Aborted);
        }
        Answered::Failed(error) => {
            if std::mem::take(&mut chances.recover) && recover(scope, at, &error).await {
                return Step::Again;
            }
            let refused = error.kind == ErrorKind::Refused;
            let reason = if refused { TerminalReason::Refused } else { TerminalReason::Error };
            return Step::End(fail(scope, "model", error.to_string(), reason).await);
        }
    };
    let Some(message) = keep(scope, blocks, usage).await else {
        let text = "the model sent an empty answer";
        scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
        return go_on(scope, at, &stop, last).await;
    };
    *words = message.text();
    if message.tool_uses().next().is_some() {
        let added = run_round(scope, &message, at).await;
        append(scope, added).await;
        if params.cancel.is_cancelled() || last {
            // Unless a feature added something, the round stays open: the next prompt joins its results.
            let aborted = params.cancel.is_cancelled();
            return Step::end(if aborted { TerminalReason::Aborted } else { TerminalReason::MaxTurns });
        }
        params.conversation.lock().close_round();
        return Step::GoOn;
    }
    let paused = stop == StopReason::PauseTurn;
    if paused && last {
        return Step::end(TerminalReason::MaxTurns);
    }
    let only_thought = message.content.iter().all(|block| matches!(block, Block::Thinking { .. }));
    if only_thought && !last && std::mem::take(&mut chances.nudge) {
        append(scope, vec![("loop".into(), vec![Block::text(NUDGE)])]).await;
        return Step::GoOn;
    }
    if paused { Step::GoOn } else { go_on(scope, at, &stop, last).await }
}

/// Puts an answer into the conversation, says so, and counts it where it was not counted before.
async fn keep(scope: &Scope, blocks: Vec<Block>, usage: Usage) -> Option<Arc<Message>> {
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
async fn append(scope: &Scope, mut added: Vec<Added>) {
    added.iter_mut().for_each(|(_, blocks)| blocks.retain(|block| block.may_be_said_by(Role::User)));
    let blocks = added.iter().flat_map(|(_, blocks)| blocks).cloned().collect();
    scope.params.conversation.lock().append(blocks);
    for (origin, blocks) in added.into_iter().filter(|(_, blocks)| !blocks.is_empty()) {
        let message = Arc::new(Message::new(Role::User, blocks));
        scope.outlet.send(AgentEvent::User { message, origin }).await;
    }
}

/// Summarises the history. A failure is said; whether it may be tried again in this prompt.
async fn compact_or_say(scope: &Scope) -> bool {
    let params = &scope.params;
    let (level, text) = match compact::compact(scope, "auto").await {
        Ok(()) if compact::threshold(params) >= params.conversation.lock().tokens() => return true,
        Ok(()) => (Level::Warning, "the summary is still over the threshold".to_owned()),
        Err(Some(fault)) => (Level::Error, fault),
        Err(None) => return false,
    };
    scope.outlet.send(AgentEvent::notice("compact", level, text)).await;
    false
}

/// Lets the features propose a history with which a failed call may succeed.
async fn recover(scope: &Scope, at: At, error: &ModelError) -> bool {
    for extension in scope.params.extensions.iter() {
        let Some(draft) = extension.on_model_error(at, error).await else { continue };
        return compact::open_epoch(scope, draft, extension.name()).await.is_ok();
    }
    false
}

/// The model is done. Asks the features whether the loop shall go on all the same.
async fn go_on(scope: &Scope, at: At, stop: &StopReason, last: bool) -> Step {
    for extension in scope.params.extensions.iter().filter(|_| !last) {
        if let Some(text) = extension.before_stop(at).await.filter(|text| !text.trim().is_empty()) {
            append(scope, vec![(extension.name().to_owned(), vec![Block::text(text)])]).await;
            return Step::GoOn;
        }
    }
    let cut = match stop {
        StopReason::MaxTokens => Some("the answer was cut at the output limit"),
        StopReason::ContextWindow => Some("the answer was cut: the context window is full"),
        // A refusal came as an error.
        StopReason::EndTurn | StopReason::PauseTurn | StopReason::Refusal(_) | StopReason::Other(_) => None,
    };
    if let Some(text) = cut {
        scope.outlet.send(AgentEvent::notice("model", Level::Warning, text)).await;
    }
    Step::end(TerminalReason::Completed)
}
