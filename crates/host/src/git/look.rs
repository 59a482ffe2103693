//! Owns looking at files in a way that tells later, for a few calls to the system, whether anything has
//! changed since. Must not know what the files mean.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::files;

/// A file that changed so lately may change again without showing it.
const SETTLED: Duration = Duration::from_secs(2);

/// What is true of a file as long as it is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stamp {
    Nothing,
    /// Which folder it is; what is in it comes and goes.
    Folder(u64, u64),
    File {
        which: (u64, u64),
        size: u64,
        modified: Option<SystemTime>,
        /// When anything about it changed, that time included: nobody can set this one.
        changed: Option<SystemTime>,
    },
}

impl Stamp {
    fn of(path: &Path) -> Self {
        std::fs::metadata(path).map_or(Self::Nothing, |metadata| Self::new(&metadata))
    }

    #[cfg(unix)]
    fn new(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let which = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            return Self::Folder(which.0, which.1);
        }
        let nanoseconds = u32::try_from(metadata.ctime_nsec()).unwrap_or_default();
        let since = u64::try_from(metadata.ctime()).ok().map(|seconds| Duration::new(seconds, nanoseconds));
        let changed = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
        Self::File { which, size: metadata.len(), modified: metadata.modified().ok(), changed }
    }

    #[cfg(not(unix))]
    fn new(metadata: &Metadata) -> Self {
        if metadata.is_dir() {
            return Self::Folder(0, 0);
        }
        Self::File {
            which: (0, 0),
            size: metadata.len(),
            modified: metadata.modified().ok(),
            changed: metadata.modified().ok(),
        }
    }
}

/// Everything that was looked at on the way to an answer.
#[derive(Debug, Default)]
pub(super) struct Looked {
    stamps: Vec<(PathBuf, Stamp)>,
    /// Something changed so lately that a stamp may not tell the next change.
    unsettled: bool,
}

impl Looked {
    /// Whether nothing of it has changed, as far as can be told.
    pub(super) fn holds(&self) -> bool {
        !self.unsettled && self.stamps.iter().all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Whether it is there under this name, links followed; `Err` where there is something that leads nowhere.
    pub(super) fn find(&mut self, path: &Path) -> Result<Option<Metadata>, ()> {
        let found = std::fs::metadata(path).ok();
        let stamp = found.as_ref().map_or(Stamp::Nothing, Stamp::new);
        if let Stamp::File { changed, .. } = &stamp {
            // A time to come has not settled either.
            self.unsettled |= changed.is_none_or(|changed| changed.elapsed().map_or(true, |age| age < SETTLED));
        }
        self.stamps.push((path.to_path_buf(), stamp));
        match found {
            None if std::fs::symlink_metadata(path).is_ok() => Err(()),
            found => Ok(found),
        }
    }

    /// The bytes of a file that is there; `Err` where it cannot be read or has more than `limit`.
    pub(super) fn read(&mut self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ()> {
        let Some((file, size)) = self.open(path)? else { return Ok(None) };
        if size > limit {
            return Err(());
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes).map_err(drop)?;
        Ok(Some(bytes))
    }

    /// A file that is there, and its size.
    pub(super) fn open(&mut self, path: &Path) -> Result<Option<(File, u64)>, ()> {
        if self.find(path)?.is_none() {
            return Ok(None);
        }
        let file = files::open(path).map_err(drop)?;
        let size = file.metadata().map_err(drop)?.len();
        Ok(Some((file, size)))
    }
}
