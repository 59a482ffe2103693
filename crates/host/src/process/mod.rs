//! Owns the one way in which this product starts a child process, runs it to its end and leaves
//! nothing behind. Must not know what is run or why.
//!
//! A child has its own session and process group, no terminal, no input, and one pipe for what it
//! says. A run ends when the child exits, not when its pipe closes: a grandchild in the background may
//! hold the pipe for hours. What the child wrote before it exited is always in the result.

#[cfg(target_os = "linux")]
pub(crate) mod descriptors;
mod environment;
#[cfg(unix)]
mod inside;
mod output;
#[cfg(unix)]
mod session;
mod signals;
#[cfg(unix)]
mod tree;
#[cfg(unix)]
mod unix;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::time::Duration;

pub use environment::{git_settings, inherited};
pub use signals::signal_name;
#[cfg(unix)]
pub use unix::run;

/// How much of a child's output is kept unless told otherwise, in characters.
pub const OUTPUT_LIMIT: usize = 30_000;

/// A child process to be. Nothing is inherited that is not named here.
#[derive(Debug, Clone)]
pub struct Command {
    /// The program: an absolute path, or a name looked up in the child's `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its environment. Variables that keep programs from waiting for a person are added.
    pub env: Vec<(OsString, OsString)>,
    /// When it is ended; never, if `None`.
    pub timeout: Option<Duration>,
    /// How many characters of output are kept: the first half of them and the last.
    pub output_limit: usize,
    /// What bounds the child; nothing but the rights of this process, if `None`.
    #[cfg(unix)]
    pub sandbox: Option<Arc<crate::sandbox::Sandbox>>,
    /// What it may do beyond its sandbox.
    #[cfg(unix)]
    pub grant: crate::sandbox::Grant,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It was ended after its timeout.
    TimedOut,
    /// It was ended because it was cancelled.
    Cancelled,
}

/// A run that is over: nothing of it is left, except what a child that exited by itself put into
/// the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// Standard output and standard error in the order in which they were written, with a line in
    /// the place of what was left out. Invalid UTF-8 is replaced.
    pub output: String,
    /// How many bytes were left out.
    pub dropped: u64,
}

/// Why nothing could be run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The working folder is not there.
    #[error("the working folder {} does not exist; make it, or name another", .0.display())]
    NoFolder(PathBuf),
    /// The program is not there.
    #[error("there is no program `{}`; check its name and PATH", .0.display())]
    NoProgram(OsString),
    /// The sandbox could not be set up, so nothing was run.
    #[error("the sandbox could not be set up, so nothing was run: {0}")]
    Sandbox(String),
    /// The system refused.
    #[error("cannot start `{}`: {source}", .program.display())]
    System {
        /// The program.
        program: OsString,
        /// What the system said.
        source: io::Error,
    },
}

/// Children need process groups, which this system has not.
#[cfg(not(unix))]
pub async fn run(
    command: Command,
    _cancel: &tokio_util::sync::CancellationToken,
    _on_output: impl FnMut(&str) + Send,
) -> Result<Finished, SpawnError> {
    Err(SpawnError::System { program: command.program, source: io::Error::from(io::ErrorKind::Unsupported) })
}
