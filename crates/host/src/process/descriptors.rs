//! Owns the calls of Linux that have no safe form: which open files a child inherits, none but those that are
//! named, and a signal to a whole namespace. Must not know what they are for.

// A descriptor that came over exec has no owner yet, and there is no safe call that marks all of them.
#![allow(unsafe_code, reason = "ownership of inherited descriptors, close_range, kill of all")]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// The first that is not an input or output of its own.
const FIRST: libc::c_uint = 3;

/// Takes over a descriptor that this process was started with.
pub(crate) fn adopt(number: RawFd) -> io::Result<OwnedFd> {
    if number < FIRST as RawFd {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: called once, for a number that was given on the command line for this purpose; whether it is
    // open is checked before anything else uses it.
    let taken = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_getfd(&taken)?;
    Ok(taken)
}

/// Closes everything but the first three when this process becomes another program. Allocates nothing.
pub(crate) fn close_at_exec() -> io::Result<()> {
    // SAFETY: the call takes numbers alone.
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Keeps one open after all. Allocates nothing.
pub(super) fn keep(number: RawFd) -> io::Result<()> {
    // SAFETY: the call takes numbers alone, and touches nothing but a flag of that descriptor.
    let done = unsafe { libc::fcntl(number, libc::F_SETFD, 0) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Signals every process in this namespace but the first and this one. Whether there was any. To be called
/// where the namespace is a sandbox's own.
pub(crate) fn signal_everybody(signal: i32) -> bool {
    // SAFETY: the call takes numbers alone.
    unsafe { libc::kill(-1, signal) == 0 }
}
