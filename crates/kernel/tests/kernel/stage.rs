//! Owns what every test stands on: the parts wired together, a clock that never really waits, a
//! guard against hanging, and a consumer that answers questions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use harness::context::{Context, Policy};
use kernel::event::Init;
use kernel::query::{Meter, compact_now};
use kernel::{
    AgentEvent, Answer, Block, Conversation, EventStream, Extension, Extensions, Gate, Mode, Place, Prefix,
    QueryParams, Questions, RetryBudget, Rules, SharedConversation, SystemBlock, ToolPool, query,
};
use tokio_util::sync::CancellationToken;

use crate::cast::{Log, Signals, cast};
use crate::notation;
use crate::script::Script;

/// No test takes longer. The clock is paused: where everything waits, it is over at once.
const HANG: Duration = Duration::from_secs(30);

/// Runs the body of a test on one thread and a clock that jumps to the next timer.
pub fn act<T>(body: impl Future<Output = T>) -> T {
    act_within(HANG, body)
}

/// The same with another guard, for bodies that wait for many timers.
pub fn act_within<T>(guard: Duration, body: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async { tokio::time::timeout(guard, body).await }).expect("hangs")
}

/// Runs the body of a test on two threads and the real clock, for what only races can show.
pub fn act_in_threads<T: Send + 'static>(body: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let task = runtime.spawn(body);
    runtime.block_on(async { tokio::time::timeout(HANG, task).await }).expect("hangs").unwrap()
}

/// One session with a scripted model.
#[derive(Clone)]
pub struct Stage {
    pub script: Arc<Script>,
    pub signals: Signals,
    pub log: Log,
    pub conversation: SharedConversation,
    pub questions: Arc<Questions>,
    pub gate: Gate,
    pub extensions: Vec<Arc<dyn Extension>>,
    /// The feature that makes room, as every session has it.
    pub context: Arc<Context>,
    pub max_turns: Option<u32>,
    /// Further attempts of each prompt.
    pub retries: u32,
    pub meter: Meter,
    /// Replaced before each prompt.
    cancel: Arc<Mutex<CancellationToken>>,
    answers: Arc<Mutex<VecDeque<Answer>>>,
}

impl Stage {
    /// A session in which everything is allowed that no rule stops.
    pub fn new(script: &str) -> Self {
        Self::with_gate(script, Mode::BypassPermissions, Rules::default())
    }

    /// A session in default mode with a person who answers.
    pub fn asking(script: &str, answers: &[Answer]) -> Self {
        let stage = Self::with_gate(script, Mode::Default, Rules::default());
        stage.answers.lock().unwrap().extend(answers.iter().cloned());
        stage
    }

    pub fn with_gate(script: &str, mode: Mode, rules: Rules) -> Self {
        let questions = Arc::new(Questions::default());
        let system = |text: &str, cache| SystemBlock { text: text.into(), cache };
        let blocks = vec![system("You are a test.", true), system("The weather is fine.", false)];
        Self {
            script: Arc::new(Script::new(script)),
            signals: Signals::default(),
            log: Log::default(),
            conversation: SharedConversation::new(Conversation::new(Prefix::new(blocks, Vec::new()))),
            gate: Gate::new(mode, rules, Some(questions.clone())),
            questions,
            extensions: Vec::new(),
            context: Arc::default(),
            max_turns: None,
            retries: 3,
            meter: Meter::default(),
            cancel: Arc::default(),
            answers: Arc::default(),
        }
    }

    pub fn with(mut self, extension: impl Extension + 'static) -> Self {
        self.extensions.push(Arc::new(extension));
        self
    }

    pub fn threshold(self, tokens: u64) -> Self {
        self.policy(Policy { threshold: Some(tokens), ..Policy::default() })
    }

    pub fn policy(mut self, policy: Policy) -> Self {
        self.context = Arc::new(Context::new(policy));
        self
    }

    pub fn max_turns(mut self, turns: u32) -> Self {
        self.max_turns = Some(turns);
        self
    }

    /// What the main agent is said to be.
    pub fn init() -> Init {
        Init {
            session_id: "s".into(),
            model: "m".into(),
            provider: "p".into(),
            mode: Mode::AcceptEdits,
            tools: vec!["echo".into()],
            cwd: "/w".into(),
            sandbox: "none".into(),
        }
    }

    pub fn params(&self, prompt: &str) -> QueryParams {
        let cancel = CancellationToken::new();
        *self.cancel.lock().unwrap() = cancel.clone();
        QueryParams {
            model: self.script.clone(),
            model_id: "scripted".into(),
            max_tokens: 1000,
            conversation: self.conversation.clone(),
            tools: ToolPool::new(cast(&self.signals, &self.log)),
            gate: self.gate.clone(),
            extensions: Extensions::new(
                self.extensions.iter().cloned().chain([self.context.clone() as Arc<dyn Extension>]).collect(),
            ),
            place: Arc::new(Place { cwd: "/w".into(), roots: vec!["/w".into()], home: None, trusted: true }),
            max_turns: self.max_turns,
            retries: RetryBudget::new(self.retries),
            meter: self.meter.clone(),
            cancel,
            init: Self::init(),
            announce: false,
            prompt: vec![Block::text(prompt)],
            origin: "person".into(),
            report_messages: false,
        }
    }

    /// Waits until no task can go on: only then does the paused clock move.
    pub async fn idle() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Starts a prompt.
    pub fn prompt(&self, text: &str) -> EventStream {
        query(self.params(text))
    }

    /// Interrupts the last prompt.
    pub fn cancel(&self) {
        self.cancel.lock().unwrap().cancel();
    }

    /// Reads until an event whose line starts with `start`, answering questions on the way.
    pub async fn until(&self, stream: &mut EventStream, start: &str) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            self.answer(&event);
            let found = notation::line(&event).starts_with(start);
            events.push(event);
            if found {
                return events;
            }
        }
        panic!("the stream ended before `{start}`: {:#?}", notation::lines(&events));
    }

    /// Reads to the end, answering questions on the way.
    pub async fn rest(&self, mut stream: EventStream) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            self.answer(&event);
            events.push(event);
        }
        events
    }

    /// A whole prompt, as lines.
    pub async fn play(&self, text: &str) -> Vec<String> {
        notation::lines(&self.rest(self.prompt(text)).await)
    }

    /// A manual compaction, as lines.
    pub async fn compact(&self) -> Vec<String> {
        notation::lines(&self.rest(compact_now(self.params("unused"))).await)
    }

    /// Answers a question with the next answer there is; without one it stays open.
    pub fn answer(&self, event: &AgentEvent) {
        match event {
            AgentEvent::Subagent { event, .. } => self.answer(event),
            AgentEvent::PermissionRequest { request_id, .. } => {
                let answer = self.answers.lock().unwrap().pop_front();
                if let Some(answer) = answer {
                    // Only an interruption lets a question go that was not answered.
                    let waits = self.questions.answer(request_id, answer);
                    assert!(waits || self.cancel.lock().unwrap().is_cancelled(), "nobody waits");
                }
            }
            _ => {}
        }
    }

    /// The messages of the nth request that was not for a summary, from 1.
    pub fn request(&self, number: usize) -> Vec<String> {
        notation::request(&self.script.turns()[number - 1].messages)
    }

    /// The history as it would be sent now.
    pub fn history(&self) -> Vec<String> {
        self.conversation.lock().history().iter().map(|m| notation::message(m)).collect()
    }
}
