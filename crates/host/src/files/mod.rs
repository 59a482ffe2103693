//! Owns how a file's content is read and written: bounded, atomic, ordinary files only. Must not
//! know who may read or write what.
//!
//! Everything here blocks; call it where blocking is allowed.

mod private;
mod read;
mod write;

use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};

pub use private::{others, write_private};
pub(crate) use read::open;
pub use read::{LINE_LIMIT, Line, Whole, Window, read_whole, read_window};
pub use write::{Written, write};

/// What a path names that is not an ordinary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// It waits for somebody at its other end.
    Fifo,
    /// It is a way to talk to a program.
    Socket,
    /// It has no end, or does something when it is touched.
    Device,
}

impl std::fmt::Display for Special {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
        })
    }
}

/// Why a file was not read or written. Each text says what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is nothing.
    #[error("{} does not exist; check the path", .0.display())]
    Missing(PathBuf),
    /// It is a folder.
    #[error("{} is a directory, not a file; list it with `ls`, or name a file in it", .0.display())]
    Directory(PathBuf),
    /// It is not an ordinary file.
    #[error("{} is {kind}; only ordinary files can be read or written", .path.display())]
    Special {
        /// Which one.
        path: PathBuf,
        /// What it is.
        kind: Special,
    },
    /// Its content is not text.
    #[error("{} is a binary file of {size} bytes; look at it with a program made for it", .path.display())]
    Binary {
        /// Which one.
        path: PathBuf,
        /// Its size in bytes.
        size: u64,
    },
    /// The system refused.
    #[error("no permission to {action} {}; its mode or its folder's forbids it", .path.display())]
    Permission {
        /// `read` or `write`.
        action: &'static str,
        /// Which one.
        path: PathBuf,
    },
    /// Anything else that the system said.
    #[error("cannot {action} {}: {source}", .path.display())]
    System {
        /// `read` or `write`.
        action: &'static str,
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FileError {
    fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::PermissionDenied => Self::Permission { action, path },
            _ => Self::System { action, path, source },
        }
    }
}

/// Fails for everything but an ordinary file.
fn ordinary(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let file_type = metadata.file_type();
    if file_type.is_dir() {
        return Err(FileError::Directory(path.to_path_buf()));
    }
    match special(file_type) {
        Some(kind) => Err(FileError::Special { path: path.to_path_buf(), kind }),
        None => Ok(()),
    }
}

#[cfg(unix)]
fn special(file_type: FileType) -> Option<Special> {
    use std::os::unix::fs::FileTypeExt;
    if file_type.is_fifo() {
        Some(Special::Fifo)
    } else if file_type.is_socket() {
        Some(Special::Socket)
    } else if file_type.is_char_device() || file_type.is_block_device() {
        Some(Special::Device)
    } else {
        None
    }
}

#[cfg(not(unix))]
fn special(_file_type: FileType) -> Option<Special> {
    None
}
