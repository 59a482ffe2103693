//! Paths as text: absolute and normalised without looking at any disk. Also the symbolic working folder.

use std::path::{Component, Path, PathBuf};

use crate::analysis::{Cause, Place, Target, Word};

/// More possible folders than this count as unknown.
const MAX_FOLDERS: usize = 4;

/// The folders in which a command may run; empty means unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// Exactly this folder.
    pub fn one(folder: PathBuf) -> Self {
        Self(vec![folder])
    }

    /// Any folder.
    pub fn unknown() -> Self {
        Self(Vec::new())
    }

    /// Whether it is this folder for certain.
    pub fn is_exactly(&self, folder: &Path) -> bool {
        matches!(self.0.as_slice(), [only] if only == folder)
    }

    /// Where either of two branches may end.
    pub fn or(&self, other: &Self) -> Self {
        if self.0.is_empty() || other.0.is_empty() {
            return Self::unknown();
        }
        let mut folders = self.0.clone();
        for folder in &other.0 {
            if !folders.contains(folder) {
                folders.push(folder.clone());
            }
        }
        if folders.len() > MAX_FOLDERS {
            return Self::unknown();
        }
        Self(folders)
    }

    /// Where `cd` with this argument leads if it succeeds.
    pub fn enter(&self, argument: Option<&Word>, place: &Place) -> Self {
        let Some(word) = argument else {
            return place.home.clone().map_or_else(Self::unknown, Self::one);
        };
        let Some(text) = word.text().filter(|text| !text.starts_with('-')) else {
            return Self::unknown();
        };
        if word.tilde {
            return home_path(text, place).map_or_else(Self::unknown, Self::one);
        }
        Self(self.0.iter().map(|folder| join(folder, text)).collect())
    }

    /// The files that a word names, one for each possible folder.
    pub fn targets(&self, word: &Word, place: &Place) -> Vec<Target> {
        let shown = word.shown();
        if word.tilde {
            let home = word.text().and_then(|text| home_path(text, place));
            return vec![home.map_or_else(|| unknown(&shown), Target::Path)];
        }
        let globs = word.causes().all(|cause| cause == Cause::Glob);
        if !globs {
            return vec![unknown(&shown)];
        }
        let absolute = word.prefix().starts_with('/');
        if !absolute && self.0.is_empty() {
            return vec![Target::Unknown {
                reason: format!("`{shown}` is beneath a folder that is only known when it runs"),
            }];
        }
        let root = [PathBuf::from("/")];
        let folders = if absolute { root.as_slice() } else { self.0.as_slice() };
        folders.iter().map(|folder| locate(folder, word, &shown)).collect()
    }
}

fn locate(folder: &Path, word: &Word, shown: &str) -> Target {
    if let Some(text) = word.text() {
        return Target::Path(join(folder, text));
    }
    let prefix = word.prefix();
    let (fixed, _) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let fixed = if prefix.starts_with('/') && fixed.is_empty() { "/" } else { fixed };
    let directory = join(folder, fixed);
    let rest = shown.get(fixed.len()..).unwrap_or(shown).trim_start_matches('/');
    // What `..` after a pattern leads to depends on what the pattern finds.
    if rest.split('/').any(|part| part == "..") {
        return unknown(shown);
    }
    let rest: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let pattern = join(&directory, &rest.join("/")).to_string_lossy().into_owned();
    Target::Glob { directory, pattern }
}

fn unknown(shown: &str) -> Target {
    Target::Unknown { reason: format!("`{shown}` is only known when it runs") }
}

fn home_path(text: &str, place: &Place) -> Option<PathBuf> {
    let rest = text.strip_prefix('~')?;
    let home = place.home.as_ref()?;
    if rest.is_empty() {
        return Some(join(home, ""));
    }
    rest.strip_prefix('/').map(|rest| join(home, rest.trim_start_matches('/')))
}

/// `text` seen from `folder`, without `.`, `..` and doubled slashes.
pub fn join(folder: &Path, text: &str) -> PathBuf {
    let mut path = PathBuf::from("/");
    for component in folder.join(text).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}
