//! Owns the private folder of a sandbox: temporary files of its commands, and the few files that are laid
//! over others. Must not know which.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Only its owner can enter it. Removed when this is dropped.
pub(super) struct Private {
    folder: PathBuf,
}

impl Private {
    /// A fresh folder.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let private = loop {
            let folder = parent.join(format!("rsagent-{:012x}", fastrand::u64(..1 << 48)));
            match make(&folder) {
                Ok(()) => break Self { folder },
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {}
                Err(fault) => return Err(fault),
            }
        };
        make(&private.temp())?;
        fs::write(private.empty(), "")?;
        fs::write(private.dot(), ".\n")?;
        fs::write(private.closed(), "")?;
        close(&private.closed())?;
        Ok(private)
    }

    /// What commands have for `TMPDIR`.
    pub(super) fn temp(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// A file with nothing in it.
    pub(super) fn empty(&self) -> PathBuf {
        self.folder.join("empty")
    }

    /// A file that says "here".
    pub(super) fn dot(&self) -> PathBuf {
        self.folder.join("dot")
    }

    /// A file that nobody may open.
    pub(super) fn closed(&self) -> PathBuf {
        self.folder.join("closed")
    }

    /// The socket of the proxy.
    pub(super) fn proxy(&self) -> PathBuf {
        self.folder.join("proxy")
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What stays is in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(unix)]
fn make(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().mode(0o700).create(folder)
}

#[cfg(unix)]
fn close(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o000))
}

#[cfg(not(unix))]
fn make(folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)
}

#[cfg(not(unix))]
fn close(_file: &Path) -> io::Result<()> {
    Ok(())
}
