//! Owns what the process tells its parent when it ends.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The prompt was completed, or the person left.
    Success,
    /// It failed, was refused, or met a limit.
    Failure,
    /// It failed for a reason that passes: the same run may succeed later (`EX_TEMPFAIL`).
    Temporary,
    /// The command line is wrong.
    Usage,
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// SIGHUP.
    HungUp,
    /// The reader of standard output is gone; what SIGPIPE would have left.
    BrokenPipe,
    /// What a command came to that was run for a person.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Temporary => 75,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
            Exit::HungUp => 129,
            Exit::BrokenPipe => 141,
            Exit::Of(code) => code,
        })
    }
}
