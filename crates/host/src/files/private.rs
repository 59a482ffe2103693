//! Owns files that are nobody else's business: made for their owner alone, replaced as a whole. Must
//! not know what is in them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::FileError;

/// Gives a file this content, readable for its owner alone. A folder that is not there is made for the
/// owner alone, too; one in which others may write is closed to them, since they could put another
/// file there. A link in the file's place is replaced, not followed.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let fault = |source| FileError::new("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("/"));
    make(folder).map_err(fault)?;
    close(folder).map_err(fault)?;
    let mut attempt = 0_u32;
    let (draft, mut file) = loop {
        let draft = folder.join(format!(".private-{}-{attempt}.tmp", std::process::id()));
        match create(&draft) {
            Ok(file) => break (draft, file),
            Err(taken) if taken.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
            Err(other) => return Err(fault(other)),
        }
    };
    let written = file.write_all(content).and_then(|()| file.sync_all()).and_then(|()| std::fs::rename(&draft, path));
    if written.is_err() {
        // Nothing better can be done here; the fault that led here is on its way.
        let _ = std::fs::remove_file(&draft);
    }
    written.map_err(fault)
}

/// What others than us may do with a file or folder, as the bits of its mode: everything where it is
/// neither ours nor root's; nothing where the system has no modes.
#[cfg(unix)]
pub fn others(path: &Path) -> io::Result<u32> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let metadata = std::fs::metadata(path)?;
    let us = rustix::process::geteuid();
    let ours = us.is_root() || metadata.uid() == us.as_raw() || metadata.uid() == 0;
    Ok(if ours { metadata.permissions().mode() & 0o077 } else { 0o077 })
}

/// The same where the system has no modes.
#[cfg(not(unix))]
pub fn others(path: &Path) -> io::Result<u32> {
    std::fs::metadata(path).map(|_| 0)
}

/// Takes from others the right to write in a folder.
#[cfg(unix)]
fn close(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if others(folder)? & 0o022 == 0 {
        return Ok(());
    }
    let mut permissions = std::fs::metadata(folder)?.permissions();
    permissions.set_mode(permissions.mode() & 0o755);
    let shown = folder.display();
    let refused = |fault| {
        io::Error::other(format!("others may write in {shown} ({fault}); chmod 700 it, or give it to yourself"))
    };
    std::fs::set_permissions(folder, permissions).map_err(refused)
}

#[cfg(not(unix))]
fn close(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create(path: &Path) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn file_and_folder_are_the_owners_alone() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/keys.json");
        write_private(&path, b"one").unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(others(&path).unwrap(), 0o044);
        write_private(&path, b"two").unwrap();
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), mode(&path)), ("two", 0o600));
        // Of a link the name is taken, and what it led to is left alone.
        let other = place.path().join("other");
        std::fs::write(&other, "other").unwrap();
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&other, &path).unwrap();
        write_private(&path, b"three").unwrap();
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("keys.json");
        for (before, after) in [(0o775, 0o755), (0o770, 0o750), (0o777, 0o755), (0o711, 0o711)] {
            std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(before)).unwrap();
            write_private(&path, b"x").unwrap();
            assert_eq!((mode(place.path()), mode(&path)), (after, 0o600));
        }
    }
}
