//! Owns answers from a recording. Must not know who recorded it.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::stream;
use kernel::{ErrorKind, Model, ModelError, ModelEvents, ModelRequest};
use tokio::time::{Instant, sleep_until};

use super::Event;
use super::format::{Line, VERSION};

const HINT: &str = "Record the session again, or leave out what is broken";

/// How fast a recording is answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// As fast as it goes.
    AtOnce,
    /// Each event as long after its request as it was.
    AsRecorded,
}

/// Events, each with the milliseconds since the request.
type Answer = VecDeque<(u64, Event)>;

/// A model that answers the n-th request with the n-th answer of a recording, whatever is asked. When
/// there is none left, every further call fails with [`ErrorKind::Invalid`].
pub struct Replay {
    pace: Pace,
    answers: Mutex<VecDeque<Answer>>,
    /// Says that no answer is left.
    exhausted: ModelError,
}

impl Replay {
    /// Reads the recording at `path`. What is wrong with it is an [`ErrorKind::Invalid`] that names
    /// file and line.
    pub fn open(path: &Path, pace: Pace) -> Result<Self, ModelError> {
        let file = path.display();
        let invalid = |text: String| ModelError::new(ErrorKind::Invalid, text).with_hint(HINT);
        let unreadable = |fault| invalid(format!("the recording {file} cannot be read: {fault}"));
        let mut reader = Reader::default();
        let mut last = 0;
        for (at, line) in BufReader::new(File::open(path).map_err(unreadable)?).lines().enumerate() {
            last = at + 1;
            let taken = line.map_err(|fault| fault.to_string()).and_then(|line| reader.take(&line));
            taken.map_err(|fault| invalid(format!("the recording {file} is broken in line {last}: {fault}")))?;
        }
        let count = reader.answers.len();
        let exhausted =
            format!("the recording {file} ends in line {last}, after {count} answers; one more was asked for");
        Ok(Self { pace, answers: Mutex::new(reader.answers.into()), exhausted: invalid(exhausted) })
    }
}

impl Model for Replay {
    fn stream(&self, _: ModelRequest) -> ModelEvents {
        let answer = self.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let answer = answer.unwrap_or_else(|| [(0, Err(self.exhausted.clone()))].into());
        let (pace, start) = (self.pace, Instant::now());
        Box::pin(stream::unfold(answer, move |mut answer| async move {
            let (after_ms, event) = answer.pop_front()?;
            if pace == Pace::AsRecorded {
                sleep_until(start + Duration::from_millis(after_ms)).await;
            }
            Some((event, answer))
        }))
    }
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    begun: bool,
    answers: Vec<Answer>,
    /// Where the answer to a request of this session is, by its number.
    session: HashMap<u64, usize>,
}

impl Reader {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let line: Line = serde_json::from_str(line).map_err(|fault| fault.to_string())?;
        match line {
            Line::Recording { version: VERSION } => {
                self.begun = true;
                self.session.clear();
            }
            Line::Recording { version } => return Err(format!("version {version} is not known here")),
            _ if !self.begun => return Err("a recording begins with its version".to_owned()),
            Line::Prefix { .. } | Line::Message(_) | Line::End { .. } => {}
            Line::Request { number, .. } => {
                self.session.insert(number, self.answers.len());
                self.answers.push(Answer::new());
            }
            Line::Event { request, after_ms, event } => self.answer(request)?.push_back((after_ms, Ok(event))),
            Line::Error { request, after_ms, error } => self.answer(request)?.push_back((after_ms, Err(error))),
        }
        Ok(())
    }

    fn answer(&mut self, request: u64) -> Result<&mut Answer, String> {
        let at = self.session.get(&request).and_then(|at| self.answers.get_mut(*at));
        at.ok_or_else(|| format!("there is no request {request} before it"))
    }
}
