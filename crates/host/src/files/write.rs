//! Owns writing: a file is replaced as a whole or not at all, and stays what it was otherwise.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{FileError, ordinary};
use crate::paths;

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file that has the content now: where a link was named, its target.
    pub path: PathBuf,
    /// Whether it was not there before.
    pub created: bool,
}

/// Gives an absolute path this content. Folders above it are made as needed; a link is followed and
/// stays; the mode of a file that exists stays, and so does its owner where the system lets us.
///
/// The content is on disk under a temporary name in the same folder before it takes the file's
/// place, so readers see the old or the new content and a full disk leaves the old one. A further
/// hard link keeps the old content.
pub fn write(path: &Path, content: &[u8]) -> Result<Written, FileError> {
    let target = paths::resolve(path);
    let fault = |source| FileError::new("write", &target, source);
    let existing = match std::fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(missing) if missing.kind() == io::ErrorKind::NotFound => None,
        Err(other) => return Err(fault(other)),
    };
    if let Some(metadata) = &existing {
        ordinary(&target, metadata)?;
        may_write(&target).map_err(fault)?;
    }
    let folder = target.parent().unwrap_or(Path::new("/"));
    std::fs::create_dir_all(folder).map_err(|source| FileError::new("write", folder, source))?;
    let mut draft = Draft::create(folder).map_err(fault)?;
    draft.fill(content, existing.as_ref()).map_err(fault)?;
    draft.publish(&target).map_err(fault)?;
    Ok(Written { path: target, created: existing.is_none() })
}

/// Replacing a file asks only for rights to its folder; a file that was made read-only means it.
#[cfg(unix)]
fn may_write(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn may_write(path: &Path) -> io::Result<()> {
    let read_only = std::fs::metadata(path)?.permissions().readonly();
    if read_only { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// A file under a temporary name; removed again unless it was published.
struct Draft {
    file: File,
    path: PathBuf,
    published: bool,
}

impl Draft {
    /// The name does not build on the target's, which may be as long as names can be.
    fn create(folder: &Path) -> io::Result<Self> {
        let process = std::process::id();
        let mut attempt = 0_u32;
        loop {
            let path = folder.join(format!(".rsagent-{process}-{attempt}.tmp"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { file, path, published: false }),
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(fault) => return Err(fault),
            }
        }
    }

    fn fill(&mut self, content: &[u8], like: Option<&Metadata>) -> io::Result<()> {
        self.file.write_all(content)?;
        if let Some(metadata) = like {
            keep_owner(&self.file, metadata);
            self.file.set_permissions(metadata.permissions())?;
        }
        self.file.sync_all()
    }

    fn publish(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // Nothing better can be done here; the fault that led here is on its way.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Only root can give a file away; for everybody else the file was theirs or becomes theirs.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) {
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _like: &Metadata) {}
