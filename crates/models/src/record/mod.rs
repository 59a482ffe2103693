//! Owns recordings: what a model was asked and what it answered, in a file for bug reports, and a
//! model that answers from such a file. Must not know dialects or why a call was made.

mod format;
mod log;
mod redact;
mod replay;

use std::path::Path;
use std::sync::Arc;

use futures::{StreamExt, stream};
use kernel::{Model, ModelError, ModelEvent, ModelEvents, ModelRequest};
use tokio::time::Instant;

pub use self::log::RecordError;
pub use self::replay::{Pace, Replay};

use self::format::{End, Line};
use self::log::Log;

/// A model that writes down what `model` is asked and what it says. A recording never fails a call:
/// where it cannot go on, it stops, and one [`ModelEvent::Notice`] says so.
pub struct Recording {
    model: Arc<dyn Model>,
    log: Arc<Log>,
}

impl Recording {
    /// Appends to the file at `path`, which is created where need be and is for this user only. No
    /// line holds any of `secrets`, or what has the shape of a secret.
    pub fn new(model: Arc<dyn Model>, path: &Path, secrets: &[String]) -> Result<Self, RecordError> {
        Ok(Self { model, log: Arc::new(Log::open(path, secrets)?) })
    }
}

impl Model for Recording {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let number = self.log.request(&request);
        let start = Instant::now();
        let answer = self.model.stream(request);
        let call = Call { log: self.log.clone(), number, start, answer, held: Vec::new(), over: false, next: None };
        Box::pin(stream::unfold(call, |mut call| async move { call.next().await.map(|event| (event, call)) }))
    }
}

type Event = Result<ModelEvent, ModelError>;

struct Call {
    log: Arc<Log>,
    number: u64,
    start: Instant,
    answer: ModelEvents,
    /// Events of a text that is not whole yet.
    held: Vec<(u64, ModelEvent)>,
    over: bool,
    /// What comes after a notice.
    next: Option<Option<Event>>,
}

impl Call {
    async fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.next.take() {
            return event;
        }
        let event = self.answer.next().await;
        match &event {
            _ if self.over => {}
            Some(Ok(event)) => self.hold(event),
            Some(Err(error)) => {
                self.release();
                self.over = true;
                let (request, after_ms) = (self.number, self.elapsed());
                self.log.line(&Line::Error { request, after_ms, error: error.clone() });
            }
            None => self.end(End::Cut),
        }
        match self.log.fault() {
            Some(text) => {
                self.next = Some(event);
                Some(Ok(ModelEvent::Notice(text)))
            }
            None => event,
        }
    }

    fn hold(&mut self, event: &ModelEvent) {
        self.held.push((self.elapsed(), event.clone()));
        let whole = match event {
            ModelEvent::Block(_) | ModelEvent::Stop(_) | ModelEvent::Retry { .. } => true,
            ModelEvent::TextDelta(_) | ModelEvent::ThinkingDelta(_) | ModelEvent::InputDelta => false,
            ModelEvent::Usage(_) | ModelEvent::Alive | ModelEvent::Notice(_) => false,
        };
        if whole {
            self.release();
        }
        self.over = matches!(event, ModelEvent::Stop(_));
    }

    fn release(&mut self) {
        self.log.events(self.number, std::mem::take(&mut self.held));
    }

    fn end(&mut self, how: End) {
        self.release();
        self.over = true;
        self.log.line(&Line::End { request: self.number, after_ms: self.elapsed(), how });
    }

    /// Milliseconds since the request.
    fn elapsed(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.over {
            self.end(End::Left);
        }
    }
}
