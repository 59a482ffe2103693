//! Owns this side of the line to the helper of a sandbox: what it says, and telling it to end. Must not know
//! how the helper works.

use std::io::Read;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use super::{Command, End, SpawnError};
use crate::sandbox::Stubs;

/// What is held while a command runs in a sandbox.
#[derive(Default)]
pub(super) struct Held {
    pub(super) control: Option<Inside>,
    pub(super) _stubs: Stubs,
}

/// The line to the helper.
pub(super) struct Inside {
    line: UnixStream,
}

impl Inside {
    pub(super) fn new(line: UnixStream) -> Self {
        Self { line }
    }

    /// Tells all that runs inside to end.
    pub(super) fn tell_to_end(&self) {
        // A helper that is gone need not be told.
        let _ = self.line.shutdown(Shutdown::Write);
    }

    /// How the command ended, where the way into the sandbox ended with `outer`.
    pub(super) fn end(mut self, outer: End, command: &Command, output: &str) -> Result<End, SpawnError> {
        // All that there will be is there.
        let mut said = Vec::new();
        let _ = self.line.set_nonblocking(true);
        let _ = self.line.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let words: Vec<&str> = said.lines().collect();
        let last = words.last().copied().unwrap_or_default();
        let (word, rest) = last.split_once(' ').unwrap_or((last, ""));
        match (word, rest.parse::<i32>()) {
            ("code", Ok(number)) => Ok(End::Code(number)),
            ("signal", Ok(number)) => Ok(End::Signal(number)),
            ("missing", _) => Err(SpawnError::NoProgram(command.program.clone())),
            ("fault", _) => Err(SpawnError::Sandbox(rest.to_owned())),
            // It never came to the command: what there is of output is not the command's.
            _ if words.is_empty() => Err(SpawnError::Sandbox(output.trim().to_owned())),
            // The helper was ended by what it should have watched.
            _ => Ok(match outer {
                End::Code(code) if code > 128 => End::Signal(code - 128),
                other => other,
            }),
        }
    }
}
