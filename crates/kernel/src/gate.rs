//! Owns the moment of permission: mode and rules as they are now, and the question to a person.
//! Must not know how a person is asked; the entry layer answers by `request_id`.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::event::AgentEvent;
use crate::message::ToolUseId;
use crate::outlet::Outlet;
use crate::permission::{Decision, Judgement, Mode, Origin, Place, Rule, Rules, decide};
use crate::tool::Tool;

/// A person's answer to a permission question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Once,
    /// From now on, by the rules that the question showed.
    Always,
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

    fn open(&self) -> (String, oneshot::Receiver<Answer>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let request_id = format!("q{number}");
        let (sender, receiver) = oneshot::channel();
        lock(&self.pending).insert(request_id.clone(), sender);
        (request_id, receiver)
    }

    fn forget(&self, request_id: &str) {
        lock(&self.pending).remove(request_id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

/// What became of a call at the gate.
pub(crate) enum Admission {
    Granted,
    Denied(String),
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

    fn grant(&self, suggestions: &[String]) {
        let mut rules = lock(&self.rules);
        let granted = suggestions.iter().filter_map(|text| Rule::parse(text, Origin::Session).ok());
        Arc::make_mut(&mut rules).allow.extend(granted);
    }

    /// Decides on a call, and asks where the chain says so.
    pub(crate) async fn admit(
        &self,
        tool: &dyn Tool,
        id: &ToolUseId,
        input: &Value,
        place: &Place,
        outlet: &Outlet,
        cancel: &CancellationToken,
    ) -> Admission {
        // Held while it is decided, so that *always* on one question spares the next.
        let _turn = tokio::select! {
            turn = self.one_at_a_time.lock() => turn,
            () = cancel.cancelled() => return Admission::Denied("interrupted".into()),
        };
        let judgement = judge(tool, input, &self.rules(), place);
        let reason = match decide(self.mode(), &judgement) {
            Decision::Allow => return Admission::Granted,
            Decision::Deny(reason) => return Admission::Denied(reason),
            Decision::Ask(reason) => reason,
        };
        let Some(questions) = &self.questions else {
            return Admission::Denied(format!(
                "needs permission, and nobody can be asked: {reason}"
            ));
        };
        let (request_id, answer) = questions.open();
        let request = AgentEvent::PermissionRequest {
            request_id: request_id.clone(),
            id: id.clone(),
            name: tool.name().to_owned(),
            input: input.clone(),
            reason,
            suggestions: judgement.suggestions.clone(),
        };
        outlet.send(request).await;
        let answer = tokio::select! {
            answer = answer => answer.unwrap_or(Answer::No(None)),
            () = cancel.cancelled() => {
                questions.forget(&request_id);
                return Admission::Denied("interrupted".into());
            }
        };
        match answer {
            Answer::Once => Admission::Granted,
            Answer::Always => {
                self.grant(&judgement.suggestions);
                Admission::Granted
            }
            Answer::No(None) => Admission::Denied("the user said no".into()),
            Answer::No(Some(why)) => Admission::Denied(format!("the user said no: {why}")),
        }
    }
}

/// A tool that panics while it judges is asked about, like one that cannot tell.
fn judge(tool: &dyn Tool, input: &Value, rules: &Rules, place: &Place) -> Judgement {
    catch_unwind(AssertUnwindSafe(|| tool.judge(input, rules, place)))
        .unwrap_or_else(|_| Judgement::unjudged())
        .with_whole_tool_rules(tool.name(), rules)
}
