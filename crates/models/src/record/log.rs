//! Owns the file of a recording while it is written: each line whole, no secret in it, no message twice.
//! Must not know what a call goes through.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use kernel::{Message, ModelEvent, ModelRequest, Prefix};
use thiserror::Error;

use super::format::{Line, VERSION};
use super::redact::Redactor;

/// Why nothing can be recorded.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file cannot be opened or written.
    #[error("the model's answers cannot be recorded in {}: {source}. Name another file", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The shapes of secrets, which are built in, cannot be used, and nothing is written without them.
    #[error("the model's answers cannot be recorded: the shapes of secrets are at fault: {0}")]
    Shapes(String),
}

/// The file, and what is in it already.
pub(super) struct Log {
    path: PathBuf,
    redactor: Redactor,
    state: Mutex<State>,
}

struct State {
    /// `None` once a line could not be written.
    file: Option<File>,
    /// Why, until somebody was told.
    fault: Option<String>,
    requests: u64,
    prefixes: Numbers<Prefix>,
    messages: Numbers<Message>,
}

impl Log {
    /// Opens the file, for this user only, and begins a session at its end.
    pub fn open(path: &Path, secrets: &[String]) -> Result<Self, RecordError> {
        let redactor = Redactor::new(secrets).map_err(RecordError::Shapes)?;
        let error = |source| RecordError::File { path: path.to_owned(), source };
        let mut file = private(path).map_err(error)?;
        let line = redacted(&redactor, &Line::Recording { version: VERSION }).map_err(error)?;
        file.write_all(&line).map_err(error)?;
        let state = State {
            file: Some(file),
            fault: None,
            requests: 0,
            prefixes: Numbers::default(),
            messages: Numbers::default(),
        };
        Ok(Self { path: path.to_owned(), redactor, state: Mutex::new(state) })
    }

    /// Writes a request, and before it what is new in it. Its number.
    pub fn request(&self, request: &ModelRequest) -> u64 {
        let mut state = self.lock();
        state.requests += 1;
        let number = state.requests;
        let (prefix, new) = state.prefixes.of(&request.prefix);
        if new {
            self.write(&mut state, &Line::prefix(&request.prefix));
        }
        let mut messages: Vec<(u64, u64)> = Vec::new();
        for message in request.messages.iter() {
            let (at, new) = state.messages.of(message);
            if new {
                self.write(&mut state, &Line::Message(message.clone()));
            }
            match messages.last_mut() {
                Some((first, count)) if *first + *count == at => *count += 1,
                _ => messages.push((at, 1)),
            }
        }
        let (model, max_tokens, extra) = (request.model.clone(), request.max_tokens, request.extra.clone());
        self.write(&mut state, &Line::Request { number, model, max_tokens, prefix, messages, extra });
        number
    }

    /// Writes events of one request, each with the milliseconds since it. Secrets are also found where
    /// they are spread over deltas.
    pub fn events(&self, request: u64, mut events: Vec<(u64, ModelEvent)>) {
        let (mut text, mut thinking) = (Vec::new(), Vec::new());
        for (_, event) in &mut events {
            match event {
                ModelEvent::TextDelta(piece) => text.push(piece),
                ModelEvent::ThinkingDelta(piece) => thinking.push(piece),
                _ => {}
            }
        }
        self.redactor.pieces(&mut text);
        self.redactor.pieces(&mut thinking);
        let mut state = self.lock();
        for (after_ms, event) in events {
            self.write(&mut state, &Line::Event { request, after_ms, event });
        }
    }

    /// Writes one more line.
    pub fn line(&self, line: &Line) {
        self.write(&mut self.lock(), line);
    }

    /// Why the recording has stopped, once.
    pub fn fault(&self) -> Option<String> {
        self.lock().fault.take()
    }

    fn write(&self, state: &mut State, line: &Line) {
        let Some(file) = &mut state.file else { return };
        let written = redacted(&self.redactor, line).and_then(|line| file.write_all(&line));
        if let Err(fault) = written {
            state.file = None;
            let path = self.path.display();
            state.fault = Some(format!("{path} cannot be written ({fault}); nothing more is recorded there"));
        }
    }

    /// Locks for a moment. What it guards is whole even if somebody panicked while holding it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a file that only this user may read, at its end.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    // One that was there before may be open to others; a device is none of our business.
    #[cfg(unix)]
    if file.metadata()?.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    }
    Ok(file)
}

fn redacted(redactor: &Redactor, line: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&redactor.value(serde_json::to_value(line)?))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Numbers for shared values, from 0, in the order in which they are first met. A weak pointer keeps
/// the address of a value from being used again.
struct Numbers<T>(HashMap<usize, (Weak<T>, u64)>);

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Numbers<T> {
    /// The number of a value, and whether it is new.
    fn of(&mut self, value: &Arc<T>) -> (u64, bool) {
        let next = u64::try_from(self.0.len()).unwrap_or(u64::MAX);
        let entry = self.0.entry(Arc::as_ptr(value).addr());
        let number = entry.or_insert_with(|| (Arc::downgrade(value), next)).1;
        (number, number == next)
    }
}
