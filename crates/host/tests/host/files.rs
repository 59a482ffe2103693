//! Reading and writing real files.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use host::files::{FileError, Line, Special, Window, Written, read_window, write};
use tempfile::tempdir;

fn texts(window: &Window) -> Vec<&str> {
    window.lines.iter().map(|line| line.text.as_str()).collect()
}

fn fault(path: impl AsRef<Path>) -> FileError {
    read_window(path.as_ref(), 1, 10, 1_000).unwrap_err()
}

#[test]
fn windows_of_lines() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, "\u{FEFF}one\r\ntwo\n\nfour").unwrap();
    for (first, limit, bytes, lines, total) in [
        (1, 9, 99, vec!["one", "two", "", "four"], Some(4)),
        (2, 2, 99, vec!["two", ""], None),
        (3, 2, 99, vec!["", "four"], Some(4)),
        (4, 9, 99, vec!["four"], Some(4)),
        (5, 9, 99, vec![], Some(4)),
        (1, 9, 6, vec!["one", "two"], None),
        (1, 9, 1, vec!["one"], None),
        (0, 1, 99, vec!["one"], None),
    ] {
        let window = read_window(&path, first, limit, bytes).unwrap();
        assert_eq!((texts(&window), window.total), (lines, total), "from {first}, {limit} lines");
    }
}

#[test]
fn an_empty_file_has_no_lines() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("empty");
    for content in ["", "\u{FEFF}"] {
        std::fs::write(&path, content).unwrap();
        let window = read_window(&path, 1, 10, 100).unwrap();
        assert_eq!(window, Window { lines: vec![], total: Some(0) });
    }
}

#[test]
fn a_long_line_is_cut_and_the_next_one_found() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("long");
    std::fs::write(&path, format!("{}\nnext\n", "é".repeat(100_000))).unwrap();
    let window = read_window(&path, 1, 10, 100_000).unwrap();
    let first = Line { text: "é".repeat(2_000), dropped: 196_000 };
    let second = Line { text: "next".into(), dropped: 0 };
    assert_eq!(window, Window { lines: vec![first, second], total: Some(2) });
}

#[test]
fn what_is_no_text_file_is_refused_in_its_own_words() {
    let folder = tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("binary"), b"\x7fELF\0\0").unwrap();
    assert!(matches!(fault(path("binary")), FileError::Binary { size: 6, .. }));
    assert!(matches!(fault(folder.path()), FileError::Directory(_)));
    assert!(matches!(fault(path("nothing")), FileError::Missing(_)));
    let _listener = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    assert!(matches!(fault(path("socket")), FileError::Special { kind: Special::Socket, .. }));
    let made = std::process::Command::new("mkfifo").arg(path("fifo")).status().unwrap();
    assert!(made.success());
    assert!(matches!(fault(path("fifo")), FileError::Special { kind: Special::Fifo, .. }));
    for device in ["/dev/zero", "/dev/stdin", "/dev/null"] {
        let fault = fault(device);
        assert!(matches!(fault, FileError::Special { .. }), "{device}: {fault}");
    }
    symlink("/dev/zero", path("link")).unwrap();
    assert!(matches!(fault(path("link")), FileError::Special { kind: Special::Device, .. }));
}

#[test]
fn a_new_file_with_its_folders() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a/b/c.txt");
    assert_eq!(write(&path, b"x").unwrap(), Written { path: path.clone(), created: true });
    assert_eq!(std::fs::read(&path).unwrap(), b"x");
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft stays");
}

#[test]
fn a_file_is_replaced_and_keeps_its_mode() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("run.sh");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    let before = std::fs::metadata(&path).unwrap();
    assert_eq!(write(&path, b"new").unwrap(), Written { path: path.clone(), created: false });
    let after = std::fs::metadata(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(after.mode(), before.mode());
    assert_ne!(after.ino(), before.ino(), "it was replaced, not overwritten");
}

#[test]
fn a_link_stays_and_its_target_changes() {
    let folder = tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    std::fs::write(real.join("target"), "old").unwrap();
    symlink("target", real.join("link")).unwrap();
    symlink("new/made", real.join("dangling")).unwrap();
    let written = write(&real.join("link"), b"new").unwrap();
    assert_eq!(written, Written { path: real.join("target"), created: false });
    let written = write(&real.join("dangling"), b"made").unwrap();
    assert_eq!(written, Written { path: real.join("new/made"), created: true });
    assert!(real.join("link").is_symlink() && real.join("dangling").is_symlink());
    assert_eq!(std::fs::read(real.join("target")).unwrap(), b"new");
    assert_eq!(std::fs::read(real.join("new/made")).unwrap(), b"made");
}

#[test]
fn what_cannot_be_replaced_stays() {
    let folder = tempdir().unwrap();
    assert!(matches!(write(folder.path(), b"x").unwrap_err(), FileError::Directory(_)));
    let device = write(Path::new("/dev/null"), b"x").unwrap_err();
    assert!(matches!(device, FileError::Special { kind: Special::Device, .. }));
    let file = folder.path().join("file");
    std::fs::write(&file, "old").unwrap();
    assert!(write(&file.join("below"), b"x").is_err());
    assert_eq!(std::fs::read(&file).unwrap(), b"old");
}

#[test]
fn a_read_only_file_is_respected() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("locked");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let written = write(&path, b"new");
    // Root may write everything.
    match rustix::process::geteuid().is_root() {
        true => assert!(!written.unwrap().created),
        false => assert!(matches!(written.unwrap_err(), FileError::Permission { .. })),
    }
}
