//! Owns the moment of permission: mode and rules as they are now, and the question to a person.
//! Must not know how a person is asked; the entry layer answers by `request_id`.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::*;

/// A person's answer to a permission question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Once,
    /// From now on, by these rules: those that the question showed.
    Always(Vec<Rule>),
    /// No, and why.
    No(Option<String>),
}

/// The questions that wait for an answer. Each is answered at most once.
#[derive(Default)]
pub struct Questions {
    pending: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    next: AtomicU64,
}

impl Questions {
    /// Answers a question. `false` when no such question waits (any more).
    pub fn answer(&self, request_id: &str, answer: Answer) -> bool {
        let waiting = lock(&self.pending).remove(request_id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }
}

/// Permission state, shared by an agent and its children: a rule that is granted to one holds for
/// all, and one question is asked at a time.
#[derive(Clone)]
pub struct Gate {
    mode: Arc<Mutex<Mode>>,
    rules: Arc<Mutex<Arc<Rules>>>,
    questions: Option<Arc<Questions>>,
    one_at_a_time: Arc<tokio::sync::Mutex<()>>,
}

impl Gate {
    /// A gate. Without `questions` nobody can be asked, and what would be asked is denied.
    pub fn new(mode: Mode, rules: Rules, questions: Option<Arc<Questions>>) -> Self {
        Self {
            mode: Arc::new(Mutex::new(mode)),
            rules: Arc::new(Mutex::new(Arc::new(rules))),
            questions,
            one_at_a_time: Arc::default(),
        }
    }

    /// The gate of a child that only reads and never asks, under the same rules.
    pub fn read_only(&self) -> Self {
        Self { mode: Arc::new(Mutex::new(Mode::Plan)), questions: None, ..self.clone() }
    }

    /// The mode now.
    pub fn mode(&self) -> Mode {
        *lock(&self.mode)
    }

    /// Changes the mode, from the next call on.
    pub fn set_mode(&self, mode: Mode) {
        *lock(&self.mode) = mode;
    }

    /// The rules now.
    pub fn rules(&self) -> Arc<Rules> {
        lock(&self.rules).clone()
    }

    /// Puts other rules in force, from the next call on.
    pub fn set_rules(&self, rules: Rules) {
        *lock(&self.rules) = Arc::new(rules);
    }

    /// Whether a call only reads and may happen without a question, as things are now.
    pub(crate) fn allows_to_read(&self, scope: &Scope, tool: &dyn Tool, input: &Value) -> bool {
        let judgement = judge(tool, input, &self.rules(), &scope.params.place);
        judgement.effect == Effect::ReadOnly && decide(self.mode(), &judgement) == Decision::Allow
    }

    /// Decides on a call, and asks where the chain says so. The error is why it may not run.
    pub(crate) async fn admit(&self, scope: &Scope, tool: &dyn Tool, call: &Call) -> Result<(), String> {
        let QueryParams { place, cancel, .. } = &scope.params;
        // Held while it is decided, so that *always* on one question spares the next.
        let _held = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err("interrupted".into()),
            held = self.one_at_a_time.lock() => held,
        };
        let judgement = judge(tool, &call.input, &self.rules(), place);
        let reason = match decide(self.mode(), &judgement) {
            Decision::Allow => return Ok(()),
            Decision::Deny(reason) => return Err(reason),
            Decision::Ask(reason) => reason,
        };
        let Some(questions) = &self.questions else {
            return Err(format!("needs permission, and nobody can be asked: {reason}"));
        };
        let request_id = format!("q{}", questions.next.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, answer) = oneshot::channel();
        lock(&questions.pending).insert(request_id.clone(), sender);
        let request = AgentEvent::PermissionRequest {
            request_id: request_id.clone(),
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            reason,
            suggestions: judgement.suggestions.iter().map(Rule::to_string).collect(),
        };
        scope.outlet.send(request).await;
        let answer = tokio::select! {
            answer = answer => answer.unwrap_or(Answer::No(None)),
            () = cancel.cancelled() => Answer::No(Some("interrupted".into())),
        };
        lock(&questions.pending).remove(&request_id);
        match answer {
            Answer::Once => Ok(()),
            Answer::Always(rules) => {
                Arc::make_mut(&mut lock(&self.rules)).allow.extend(rules);
                Ok(())
            }
            Answer::No(None) => Err("the user said no".into()),
            Answer::No(Some(why)) => Err(format!("the user said no: {why}")),
        }
    }
}

/// What bears on a call, rules for the whole tool included. A tool that panics while it judges is asked about, like one
/// that cannot tell.
pub fn judge(tool: &dyn Tool, input: &Value, rules: &Rules, place: &Place) -> Judgement {
    catch_unwind(AssertUnwindSafe(|| tool.judge(input, rules, place)))
        .unwrap_or_else(|_| Judgement::unjudged_under(tool.name(), rules))
        .with_whole_tool_rules(tool.name(), rules)
}
