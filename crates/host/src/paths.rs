//! Owns what a path means: absolute by its text, and with links followed as far as it exists.
//! Must not know why anyone asks.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// More links than this on one way are taken for a circle, as the kernel does.
const MAX_LINKS: usize = 40;

/// One file under both of its names, each absolute and without `.`, `..` and doubled slashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// As it was given, links left alone.
    pub given: PathBuf,
    /// With every link followed, through the deepest part that exists.
    pub resolved: PathBuf,
}

impl Located {
    /// Looks at the links of an absolute path.
    pub fn new(given: PathBuf) -> Self {
        Self { resolved: resolve(&given), given }
    }

    /// Both names, or the one where they are equal.
    pub fn forms(&self) -> impl Iterator<Item = &Path> {
        let second = Some(self.resolved.as_path()).filter(|resolved| *resolved != self.given);
        std::iter::once(self.given.as_path()).chain(second)
    }
}

/// `path` seen from the absolute folder `cwd`, by its text alone: `~` and `~/` stand for `home`,
/// `..` takes back the part before it whether or not that exists.
pub fn absolute(path: &Path, cwd: &Path, home: Option<&Path>) -> PathBuf {
    let from_home = home.and_then(|home| Some(home.join(path.strip_prefix("~").ok()?)));
    let mut whole = PathBuf::new();
    for component in from_home.unwrap_or_else(|| cwd.join(path)).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                whole.push(component);
            }
        }
    }
    whole
}

/// Follows the links of an absolute path through the deepest part that exists, the last part
/// included; what does not exist is kept as it is written. Never fails: a path that cannot be
/// looked at is its own meaning, and opening it will say why.
pub fn resolve(path: &Path) -> PathBuf {
    let mut rest: VecDeque<OsString> = parts(path).map(OsStr::to_owned).collect();
    let mut whole = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            whole.pop();
            continue;
        }
        whole.push(&part);
        let Ok(target) = std::fs::read_link(&whole) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return path.to_path_buf();
        }
        whole.pop();
        for part in parts(&target).rev() {
            rest.push_front(part.to_owned());
        }
    }
    whole
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = &OsStr> {
    path.components().filter_map(|component| match component {
        Component::CurDir => None,
        Component::Prefix(_) | Component::RootDir | Component::ParentDir | Component::Normal(_) => {
            Some(component.as_os_str())
        }
    })
}

/// Whether names that differ only in letter case count as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// They do not.
    Exact,
    /// They do, as on file systems that fold case.
    Folded,
}

/// What is left of `path` below `folder`, by whole components; empty where they are the same.
/// `None` where `path` is not below it.
pub fn below<'a>(path: &'a Path, folder: &Path, case: Case) -> Option<&'a Path> {
    let mut rest = path.components();
    for expected in folder.components() {
        let found = rest.next()?;
        let equal = found == expected || case == Case::Folded && fold(found.as_os_str()) == fold(expected.as_os_str());
        if !equal {
            return None;
        }
    }
    Some(rest.as_path())
}

/// A name without letter case, for comparisons only.
pub fn fold(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_by_text() {
        let home = Some(Path::new("/home/me"));
        for (path, expected) in [
            ("a", "/w/a"),
            ("./a//b/./c/", "/w/a/b/c"),
            ("../a", "/a"),
            ("../../../a", "/a"),
            ("missing/../a", "/w/a"),
            ("/x/../y", "/y"),
            ("~", "/home/me"),
            ("~/a", "/home/me/a"),
            ("~x/a", "/w/~x/a"),
            ("a/~/b", "/w/a/~/b"),
            ("/", "/"),
        ] {
            assert_eq!(absolute(Path::new(path), Path::new("/w"), home), Path::new(expected));
        }
        assert_eq!(absolute(Path::new("~/a"), Path::new("/w"), None), Path::new("/w/~/a"));
    }

    #[test]
    fn below_goes_by_components() {
        let rest =
            |path, folder, case| below(Path::new(path), Path::new(folder), case).map(|rest| rest.display().to_string());
        assert_eq!(rest("/a/b/c", "/a/b", Case::Exact), Some("c".into()));
        assert_eq!(rest("/a/b", "/a/b/", Case::Exact), Some(String::new()));
        assert_eq!(rest("/a/bc", "/a/b", Case::Exact), None);
        assert_eq!(rest("/a", "/a/b", Case::Exact), None);
        assert_eq!(rest("/A/ß/c", "/a/ß", Case::Exact), None);
        assert_eq!(rest("/A/É/c", "/a/é", Case::Folded), Some("c".into()));
        assert_eq!(rest("/a/b", "/", Case::Exact), Some("a/b".into()));
    }
}
