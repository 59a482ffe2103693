//! Owns a model that says what a script says, when the script says it, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream;
use kernel::{
    Block, ErrorKind, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, StopReason, ToolUseId, Usage,
};
use serde_json::{Map, Value};

/// One event of an answer.
pub type Event = Result<ModelEvent, ModelError>;

/// One step of an answer.
#[derive(Debug, Clone)]
pub enum Step {
    /// Nothing for so long.
    Wait(Duration),
    /// An event.
    Say(Event),
    /// Nothing, for ever.
    Hang,
}

pub fn wait(seconds: u64) -> Step {
    Step::Wait(Duration::from_secs(seconds))
}

pub fn say(event: ModelEvent) -> Step {
    Step::Say(Ok(event))
}

pub fn delta(text: &str) -> Step {
    say(ModelEvent::TextDelta(text.into()))
}

pub fn fails(kind: ErrorKind) -> Vec<Step> {
    vec![Step::Say(Err(ModelError::new(kind, "it failed")))]
}

/// A whole answer of one text.
pub fn answer(text: &str) -> Vec<Step> {
    let usage = Usage { input_tokens: 3, output_tokens: 1, ..Usage::default() };
    let block = ModelEvent::Block(Block::text(text));
    vec![say(ModelEvent::Usage(usage)), delta(text), say(block), say(ModelEvent::Stop(StopReason::EndTurn))]
}

/// The events among steps, as they are when nothing goes wrong.
pub fn events(steps: &[Step]) -> Vec<Event> {
    let said = |step: &Step| if let Step::Say(event) = step { Some(event.clone()) } else { None };
    steps.iter().filter_map(said).collect()
}

pub fn thinking(text: &str) -> Block {
    Block::Thinking { thinking: text.into(), signature: Some("c2ln".into()), extra: Map::new() }
}

pub fn tool_use(id: &str, input: Value) -> Block {
    Block::ToolUse { id: ToolUseId(id.into()), name: "Write".into(), input, extra: Map::new() }
}

/// Gives the answers of its script one after the other, and the last one for ever.
#[derive(Default)]
pub struct Script {
    answers: Mutex<VecDeque<Vec<Step>>>,
    /// What it was asked.
    pub requests: Mutex<Vec<ModelRequest>>,
    /// Answers that are being given.
    pub open: Arc<AtomicUsize>,
}

impl Script {
    pub fn new(answers: impl IntoIterator<Item = Vec<Step>>) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.into_iter().collect()), ..Self::default() })
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Model for Script {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        self.requests.lock().unwrap().push(request);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        self.open.fetch_add(1, Ordering::Relaxed);
        let steps = (answer.unwrap_or_default().into_iter(), Open(self.open.clone()));
        Box::pin(stream::unfold(steps, |mut steps| async move {
            loop {
                match steps.0.next()? {
                    Step::Wait(delay) => tokio::time::sleep(delay).await,
                    Step::Say(event) => return Some((event, steps)),
                    Step::Hang => std::future::pending().await,
                }
            }
        }))
    }
}
