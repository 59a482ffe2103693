//! Owns the place holders for protected names that are not there: something must stand where a read-only
//! mount is to lie. They are there while a command runs and are removed after the last one, or at the next
//! start if a crash came between.
//!
//! The place of a file is held by a socket that nobody listens on: opening it fails at once, and git
//! does not take it for a file that could be added. Whoever has commands running holds a shared lock on
//! the folder; place holders are removed only under an exclusive one, since a mount goes with the name
//! under it.

#[cfg(target_os = "linux")]
pub(crate) use linux::{Stubs, is_stub, sweep};

#[cfg(target_os = "linux")]
mod linux {
    //! Owns the work on disk.

    use std::collections::BTreeSet;
    use std::fs::{self, File};
    use std::io;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, Timespec, Timestamps, flock, mknodat, utimensat};

    use crate::sandbox::protect::Kind;

    /// No file of anybody's is as old as this: the mark of a place holder.
    const MARK: i64 = 1;
    /// How often a lock is tried for; whoever removes place holders holds it for a moment.
    const TRIES: u32 = 50;

    /// Place holders that are in use by one command.
    #[derive(Default)]
    pub(crate) struct Stubs {
        locks: Vec<File>,
        made: Vec<PathBuf>,
    }

    impl Stubs {
        /// Keeps the place holders in the folders of these paths from being removed.
        pub(crate) fn hold<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
            let folders: BTreeSet<&Path> = paths.filter_map(Path::parent).collect();
            let locks = folders.into_iter().filter_map(|folder| lock(folder, FlockOperation::NonBlockingLockShared));
            Self { locks: locks.collect(), made: Vec::new() }
        }

        /// Puts a place holder where nothing is.
        pub(crate) fn make(&mut self, path: &Path, kind: Kind) -> io::Result<()> {
            self.made.push(path.to_owned());
            let made = match kind {
                Kind::Folder => fs::create_dir(path),
                Kind::File | Kind::Pointer => {
                    mknodat(CWD, path, FileType::Socket, Mode::empty(), 0).map_err(io::Error::from)
                }
            };
            match made {
                Ok(()) => {}
                // Another command was faster, or a person: then it is sealed as it is.
                Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
                Err(fault) => return Err(fault),
            }
            if kind == Kind::Folder {
                fs::set_permissions(path, fs::Permissions::from_mode(0o555))?;
            }
            let then = Timespec { tv_sec: MARK, tv_nsec: 0 };
            let times = Timestamps { last_access: then, last_modification: then };
            Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
        }
    }

    impl Drop for Stubs {
        fn drop(&mut self) {
            self.locks.clear();
            sweep(std::mem::take(&mut self.made));
        }
    }

    /// Whether a place holder is there.
    pub(crate) fn is_stub(path: &Path) -> bool {
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        let (kind, mode) = (found.file_type(), found.permissions().mode() & 0o7777);
        found.mtime() == MARK && (kind.is_socket() && mode == 0 || kind.is_dir() && mode == 0o555)
    }

    /// Removes place holders in whose folders no command runs.
    pub(crate) fn sweep(paths: Vec<PathBuf>) {
        let folders: BTreeSet<&Path> = paths.iter().filter_map(|path| path.parent()).collect();
        for folder in folders {
            let stubs: Vec<&PathBuf> =
                paths.iter().filter(|path| path.parent() == Some(folder) && is_stub(path)).collect();
            if stubs.is_empty() {
                continue;
            }
            let Some(_alone) = lock_once(folder, FlockOperation::NonBlockingLockExclusive) else { continue };
            for stub in stubs.into_iter().filter(|path| is_stub(path)) {
                // A folder in which there is something is not removed.
                let _ = match stub.is_dir() {
                    true => fs::remove_dir(stub),
                    false => fs::remove_file(stub),
                };
            }
        }
    }

    fn lock_once(folder: &Path, how: FlockOperation) -> Option<File> {
        let file = File::open(folder).ok()?;
        flock(&file, how).ok()?;
        Some(file)
    }

    fn lock(folder: &Path, how: FlockOperation) -> Option<File> {
        let file = File::open(folder).ok()?;
        for _ in 0..TRIES {
            match flock(&file, how) {
                Ok(()) => return Some(file),
                Err(rustix::io::Errno::AGAIN) => std::thread::sleep(Duration::from_millis(1)),
                Err(_) => return None,
            }
        }
        None
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_last_command_removes_them_and_nothing_else() {
            let folder = tempfile::tempdir().unwrap();
            let paths: Vec<PathBuf> = ["a", "b", "mine"].iter().map(|name| folder.path().join(name)).collect();
            let hold = || Stubs::hold(paths.iter().map(PathBuf::as_path));
            let make = |stubs: &mut Stubs| {
                stubs.make(&paths[0], Kind::Folder).unwrap();
                stubs.make(&paths[1], Kind::File).unwrap();
            };
            fs::create_dir(&paths[2]).unwrap();
            let (mut first, mut second) = (hold(), hold());
            make(&mut first);
            make(&mut second);
            assert_eq!(paths.iter().map(|path| is_stub(path)).collect::<Vec<_>>(), [true, true, false]);
            drop(first);
            assert!(is_stub(&paths[0]) && is_stub(&paths[1]));
            drop(second);
            assert_eq!(paths.iter().map(|path| path.exists()).collect::<Vec<_>>(), [false, false, true]);
        }

        #[test]
        fn what_a_crash_left_is_swept() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(".envrc");
            let mut stubs = Stubs::hold([path.as_path()].into_iter());
            stubs.make(&path, Kind::File).unwrap();
            stubs.made.clear();
            drop(stubs);
            assert!(is_stub(&path));
            sweep(vec![path.clone()]);
            assert!(!path.exists());
        }
    }
}

/// Nothing is mounted on other systems.
#[cfg(not(target_os = "linux"))]
#[derive(Default)]
pub(crate) struct Stubs;
