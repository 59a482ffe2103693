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
    pub(super) stubs: Stubs,
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

    /// What the helper said in the end. To be called when all that there will be is there.
    pub(super) fn word(mut self) -> Word {
        let mut said = Vec::new();
        let _ = self.line.set_nonblocking(true);
        let _ = self.line.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said);
        let Some(last) = said.lines().last() else { return Word::None };
        let (word, rest) = last.split_once(' ').unwrap_or((last, ""));
        match (word, rest.parse()) {
            ("code", Ok(number)) => Word::Ended(End::Code(number)),
            ("signal", Ok(number)) => Word::Ended(End::Signal(number)),
            ("missing", _) => Word::Missing,
            ("fault", _) => Word::Fault(rest.to_owned()),
            _ => Word::Lost,
        }
    }
}

/// The last word of a helper.
pub(super) enum Word {
    /// The command ended, and nothing of it is left.
    Ended(End),
    /// There is no such program.
    Missing,
    /// The sandbox is not as it should be.
    Fault(String),
    /// It was itself ended, by what it should have watched or by us.
    Lost,
    /// It never began.
    None,
}

impl Word {
    /// Whether nothing can be left of the command.
    pub(super) fn is_sure(&self) -> bool {
        match self {
            Self::Ended(_) | Self::Missing | Self::Fault(_) | Self::None => true,
            Self::Lost => false,
        }
    }

    /// How the command ended, where the way into the sandbox ended with `outer`.
    pub(super) fn end(self, outer: End, command: &Command, output: &str) -> Result<End, SpawnError> {
        match self {
            Self::Ended(end) => Ok(end),
            Self::Missing => Err(SpawnError::NoProgram(command.program.clone())),
            Self::Fault(fault) => Err(SpawnError::Sandbox(fault)),
            // What there is of output is not the command's.
            Self::None => Err(SpawnError::Sandbox(output.trim().to_owned())),
            Self::Lost => Ok(match outer {
                End::Code(code) if code > 128 => End::Signal(code - 128),
                other => other,
            }),
        }
    }
}
