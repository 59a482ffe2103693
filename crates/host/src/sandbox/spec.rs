//! Owns what the helper is told, as one line of JSON. Must not know how either side acts on it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file or folder by name and identity: a name alone may come to mean something else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Where it is.
    pub path: PathBuf,
    /// The number of its device.
    pub device: u64,
    /// Its number on the device.
    pub inode: u64,
}

impl Node {
    /// What is there now. A link is refused.
    #[cfg(unix)]
    pub fn at(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::symlink_metadata(path)?;
        if found.file_type().is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        Ok(Self { path: path.to_owned(), device: found.dev(), inode: found.ino() })
    }

    /// Identity means nothing here.
    #[cfg(not(unix))]
    pub fn at(path: &Path) -> io::Result<Self> {
        std::fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: 0, inode: 0 })
    }
}

/// Which sockets a command may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sockets {
    /// IPv4 and IPv6.
    pub internet: bool,
    /// Unix sockets with a name.
    pub unix: bool,
}

/// What Landlock grants, path by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lists {
    /// Files and folders that may be read with all that is below them.
    pub read: Vec<PathBuf>,
    /// Files and folders that may be changed with all that is below them.
    pub write: Vec<PathBuf>,
}

/// What the helper is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The descriptor over which it reports and is told to stop.
    pub control: i32,
    /// The folders that must be what they were when the sandbox was prepared.
    pub writable: Vec<Node>,
    /// What must be on a read-only mount.
    pub sealed: Vec<PathBuf>,
    /// What a command may make.
    pub sockets: Sockets,
    /// What Landlock grants, where it is the layer.
    pub landlock: Option<Lists>,
    /// The proxy to which the relay leads, where there is one.
    pub proxy: Option<PathBuf>,
}

/// The port of the relay, in a network in which nobody else is.
pub const PROXY_PORT: u16 = 3128;
/// The same as a command is told of it.
pub const PROXY_URL: &str = "http://127.0.0.1:3128";
