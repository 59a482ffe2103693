//! Owns giving a child a session of its own, so that it has no controlling terminal: nothing that it
//! runs can paint on the person's screen, read what they type, or stop because it tried to.

// The standard library starts a child in its own group, but has no safe way to a session.
#![allow(unsafe_code, reason = "setsid between fork and exec")]

use tokio::process::Command;

/// Makes the child the leader of a new session, and so of a new process group.
pub(super) fn lead(command: &mut Command) -> &mut Command {
    // SAFETY: setsid is on the list of functions that are safe between fork and exec, and the closure
    // allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into)) }
}
