//! Owns when another model answers in place of the one that was asked, and what it is given.
//! Must not know how either speaks, or when a call is made again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{Block, ErrorKind, Message, Model, ModelError, ModelEvent, ModelEvents, ModelRequest};
use tokio::time::Instant;

use crate::retry::is_answer;

/// As many failures in a row are not chance.
const FAILURES: u32 = 3;
/// How long the other model answers before the first is tried again.
const STAY: Duration = Duration::from_secs(300);
/// Stands where a message was nothing but thinking.
const OMITTED: &str = "(thinking omitted)";

/// The model that answers when the one that was asked cannot.
pub struct Other {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Its id as its provider knows it.
    pub id: String,
    /// Upper bound of its answers in tokens.
    pub max_tokens: u32,
    /// Whether it can read the thinking of the first model. Where it cannot, it gets the history
    /// without thinking, and its own is shown but not kept: the first model will go on with it.
    pub reads: bool,
}

/// Asks `primary`, and another model for five minutes once `primary` does not exist or was overloaded
/// three times in a row. It changes over only before anything of an answer was seen, and says so.
pub struct Fallback {
    primary: Arc<dyn Model>,
    shared: Arc<Shared>,
}

impl Fallback {
    /// Asks `primary` while it answers, and `other` while it does not.
    pub fn new(primary: Arc<dyn Model>, other: Other) -> Self {
        Self { primary, shared: Arc::new(Shared { other, state: Mutex::default(), copies: Mutex::default() }) }
    }
}

impl Model for Fallback {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let call =
            Call { primary: self.primary.clone(), shared: self.shared.clone(), request, answer: None, begun: false };
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }))
    }
}

/// What all calls share.
struct Shared {
    other: Other,
    state: Mutex<State>,
    /// Messages without thinking, by the address of the original, so that a dialect serialises each once.
    copies: Mutex<HashMap<usize, Stripped>>,
}

/// A message without thinking.
struct Stripped {
    /// Keeps the address of the original from being used again.
    original: Weak<Message>,
    copy: Arc<Message>,
}

#[derive(Default)]
struct State {
    /// Failures of the primary since it last gave an answer.
    failures: u32,
    /// Until when the other answers.
    until: Option<Instant>,
    /// What the next call of the other says first.
    notice: Option<String>,
}

struct Call {
    primary: Arc<dyn Model>,
    shared: Arc<Shared>,
    request: ModelRequest,
    answer: Option<(Source, ModelEvents)>,
    begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Primary,
    Other,
}

impl Call {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let shared = &self.shared;
            let Some((source, answer)) = &mut self.answer else {
                let away = shared.is_away();
                self.answer = Some(match away {
                    true => (Source::Other, shared.other.model.stream(shared.for_other(&self.request))),
                    false => (Source::Primary, self.primary.stream(self.request.clone())),
                });
                match lock(&shared.state).notice.take_if(|_| away) {
                    Some(text) => return Some(Ok(ModelEvent::Notice(text))),
                    None => continue,
                }
            };
            let source = *source;
            let event = answer.next().await;
            match &event {
                Some(Ok(ModelEvent::Block(block))) if source == Source::Other && shared.hides(block) => continue,
                Some(Ok(said)) => {
                    self.begun |= is_answer(said);
                    if source == Source::Primary && matches!(said, ModelEvent::Stop(_)) {
                        lock(&shared.state).failures = 0;
                    }
                }
                Some(Err(error)) if source == Source::Primary => {
                    shared.failed(&self.request.model, error.kind);
                    if !self.begun && may_switch(error.kind) && shared.is_away() {
                        self.answer = None;
                        continue;
                    }
                }
                Some(Err(_)) | None => {}
            }
            return event;
        }
    }
}

/// Whether another model may help.
fn may_switch(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::Overloaded(_) | ErrorKind::RateLimited(None))
}

impl Shared {
    /// Whether the other answers now.
    fn is_away(&self) -> bool {
        lock(&self.state).until.is_some_and(|until| Instant::now() < until)
    }

    /// Counts a failure of the primary. Enough of them, or one that will not pass, send the calls to
    /// the other.
    fn failed(&self, primary: &str, kind: ErrorKind) {
        let mut state = lock(&self.state);
        let why = match kind {
            ErrorKind::NotFound => "was not found",
            ErrorKind::Overloaded(_) => "is overloaded",
            ErrorKind::RateLimited(None) => "limits how often it is asked",
            _ => return,
        };
        state.failures += 1;
        let now = Instant::now();
        let away = state.until.is_some_and(|until| now < until);
        if !away && (kind == ErrorKind::NotFound || state.failures >= FAILURES) {
            state.until = Some(now + STAY);
            state.notice = Some(format!("{primary} {why}; {} answers for now", self.other.id));
        }
    }

    fn for_other(&self, request: &ModelRequest) -> ModelRequest {
        let messages = match self.other.reads {
            true => request.messages.clone(),
            false => self.without_thinking(&request.messages),
        };
        ModelRequest {
            model: self.other.id.clone(),
            max_tokens: request.max_tokens.min(self.other.max_tokens),
            messages,
            ..request.clone()
        }
    }

    /// The same messages, those with thinking replaced by copies without.
    fn without_thinking(&self, messages: &[Arc<Message>]) -> Arc<Vec<Arc<Message>>> {
        let mut copies = lock(&self.copies);
        copies.retain(|_, stripped| stripped.original.strong_count() > 0);
        let mut copy = |message: &Arc<Message>| {
            if !message.content.iter().any(is_thinking) {
                return message.clone();
            }
            let made = || Stripped { original: Arc::downgrade(message), copy: Arc::new(stripped(message)) };
            copies.entry(Arc::as_ptr(message).addr()).or_insert_with(made).copy.clone()
        };
        Arc::new(messages.iter().map(&mut copy).collect())
    }

    /// Whether a block of the other's answer would be of no use to either model later.
    fn hides(&self, block: &Block) -> bool {
        !self.other.reads && is_thinking(block)
    }
}

fn stripped(message: &Message) -> Message {
    let mut content: Vec<Block> = message.content.iter().filter(|block| !is_thinking(block)).cloned().collect();
    if content.is_empty() {
        content.push(Block::text(OMITTED));
    }
    Message::new(message.role, content)
}

fn is_thinking(block: &Block) -> bool {
    match block {
        Block::Thinking { .. } => true,
        Block::Other(value) => value.get("type").is_some_and(|kind| kind == "redacted_thinking"),
        Block::Text { .. } | Block::ToolUse { .. } | Block::ToolResult { .. } => false,
    }
}

/// Locks for a moment. What the locks guard is whole even if somebody panicked while holding one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
