//! Owns where lines come from: a line editor on a terminal, or a pipe. Reads only when asked, in a
//! thread of its own, so that waiting costs nothing.

use std::io::{BufRead, Read};
use std::sync::mpsc;

use rustyline::error::ReadlineError;
use tokio::sync::oneshot;

/// The longest line taken from a pipe, in bytes.
const LIMIT: u64 = 10 * 1024 * 1024;

/// What a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A line.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the end of the pipe.
    End,
}

/// What a line is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A prompt; the editor's history keeps it.
    Prompt,
    /// An answer to a question.
    Answer,
}

type Reply = oneshot::Sender<anyhow::Result<Line>>;
type Request = (String, Purpose, Reply);

/// The reading thread. A blocked read cannot be called off: one that nobody waited for any more, since
/// a signal came first, serves the next who reads, so that no line is lost.
pub struct Input {
    requests: mpsc::Sender<Request>,
    pending: Option<oneshot::Receiver<anyhow::Result<Line>>>,
}

impl Input {
    /// Starts the thread.
    pub fn start(is_terminal: bool) -> Self {
        let (requests, receiver) = mpsc::channel::<Request>();
        std::thread::spawn(move || {
            let mut source = Source::new(is_terminal);
            while let Ok((prompt, purpose, reply)) = receiver.recv() {
                let line = match &mut source {
                    Ok(source) => source.read(&prompt, purpose),
                    Err(fault) => Err(anyhow::anyhow!("cannot use the terminal: {fault}")),
                };
                // Only a process that is about to end has nobody left to tell.
                let _ = reply.send(line);
            }
        });
        Self { requests, pending: None }
    }

    /// Reads one line. May be dropped and called again.
    pub async fn read(&mut self, prompt: &str, purpose: Purpose) -> anyhow::Result<Line> {
        let requests = &self.requests;
        let pending = self.pending.get_or_insert_with(|| {
            let (reply, line) = oneshot::channel();
            // A thread that is gone reads no more; the dropped reply says so.
            let _ = requests.send((prompt.to_owned(), purpose, reply));
            line
        });
        let line = pending.await;
        self.pending = None;
        line.unwrap_or(Ok(Line::End))
    }
}

enum Source {
    Editor(Box<rustyline::DefaultEditor>),
    Pipe(std::io::BufReader<std::io::Stdin>),
}

impl Source {
    fn new(is_terminal: bool) -> rustyline::Result<Self> {
        Ok(match is_terminal {
            true => Self::Editor(Box::new(rustyline::DefaultEditor::new()?)),
            false => Self::Pipe(std::io::BufReader::new(std::io::stdin())),
        })
    }

    fn read(&mut self, prompt: &str, purpose: Purpose) -> anyhow::Result<Line> {
        match self {
            Self::Editor(editor) => match editor.readline(prompt) {
                Ok(text) => {
                    if purpose == Purpose::Prompt {
                        editor.add_history_entry(&text)?;
                    }
                    Ok(Line::Text(text))
                }
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(fault) => Err(fault.into()),
            },
            Self::Pipe(reader) => {
                let mut bytes = Vec::new();
                let length = reader.by_ref().take(LIMIT).read_until(b'\n', &mut bytes)?;
                Ok(match length {
                    0 => Line::End,
                    _ => Line::Text(String::from_utf8_lossy(&bytes).into_owned()),
                })
            }
        }
    }
}
