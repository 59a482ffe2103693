//! Owns giving a child a session of its own, so that it has no controlling terminal: nothing that it
//! runs can paint on the person's screen, read what they type, or stop because it tried to.

// The standard library starts a child in its own group, but has no safe way to a session.
#![allow(unsafe_code, reason = "setsid between fork and exec")]

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use tokio::process::Command;

#[cfg(target_os = "linux")]
use super::descriptors;

/// Makes the child the leader of a new session, and so of a new process group, and lets it inherit nothing
/// but its inputs and outputs and what is named, which stays open here until it was started.
pub(super) fn lead<'a>(command: &'a mut Command, inherited: &[OwnedFd]) -> &'a mut Command {
    let kept: Vec<RawFd> = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    let prepare = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            // Kernels before 5.11 cannot; what this process opens itself is closed there all the same.
            let _ = descriptors::close_at_exec();
            for number in &kept {
                descriptors::keep(*number)?;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = &kept;
        Ok(())
    };
    // SAFETY: setsid, close_range and fcntl are system calls that are safe between fork and exec, and the
    // closure allocates nothing and takes no lock.
    unsafe { command.pre_exec(prepare) }
}
