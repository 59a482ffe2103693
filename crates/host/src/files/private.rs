//! Owns files that are nobody else's business: made for their owner alone, replaced as a whole. Must
//! not know what is in them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::FileError;

/// Gives a file this content, readable for its owner alone. A folder that is not there is made for the
/// owner alone, too; one in which others may write is refused, since they could put another file
/// there. A link in the file's place is replaced, not followed.
pub fn write_private(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let fault = |source| FileError::new("write", path, source);
    let folder = path.parent().unwrap_or(Path::new("/"));
    make(folder).map_err(fault)?;
    if others(folder).map_err(fault)? & 0o022 != 0 {
        let what = format!("others may write in {}; chmod 700 {}", folder.display(), folder.display());
        return Err(fault(io::Error::other(what)));
    }
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

/// What others than its owner may do with a file or folder, as the bits of its mode; 0 where the
/// system has no modes.
pub fn others(path: &Path) -> io::Result<u32> {
    let metadata = std::fs::metadata(path)?;
    #[cfg(unix)]
    let bits = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o077;
    #[cfg(not(unix))]
    let bits = {
        let _ = metadata;
        0
    };
    Ok(bits)
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
    fn a_folder_that_others_write_in_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("keys.json");
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o770)).unwrap();
        let fault = write_private(&path, b"x").unwrap_err().to_string();
        let folder = place.path().display();
        let expected = format!("cannot write {}: others may write in {folder}; chmod 700 {folder}", path.display());
        assert_eq!((fault, path.exists()), (expected, false));
    }
}
