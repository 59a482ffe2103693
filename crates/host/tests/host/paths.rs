//! Links on a real file system.

use std::os::unix::fs::symlink;

use host::paths::{Located, resolve};
use tempfile::tempdir;

#[test]
fn links_are_followed_as_far_as_anything_exists() {
    let folder = tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("real/deep")).unwrap();
    std::fs::write(root.join("real/file"), "").unwrap();
    symlink("real", root.join("dir")).unwrap();
    symlink("../real/./file", root.join("real/up")).unwrap();
    symlink(root.join("dir"), root.join("twice")).unwrap();
    symlink("real/deep/none", root.join("dangling")).unwrap();
    symlink("circle", root.join("circle")).unwrap();
    symlink("real/deep", root.join("deep")).unwrap();
    symlink("deep/../file", root.join("physical")).unwrap();
    for (path, expected) in [
        ("real/file", "real/file"),
        ("dir/file", "real/file"),
        ("dir/new/file", "real/new/file"),
        ("twice/up", "real/file"),
        ("dangling", "real/deep/none"),
        ("dangling/below", "real/deep/none/below"),
        ("circle", "circle"),
        ("physical", "real/file"),
    ] {
        assert_eq!(resolve(&root.join(path)), root.join(expected), "{path}");
    }
    let located = Located::new(root.join("dir"));
    assert_eq!(located.forms().collect::<Vec<_>>(), [root.join("dir"), root.join("real")]);
    assert_eq!(Located::new(root.join("real")).forms().count(), 1);
}
