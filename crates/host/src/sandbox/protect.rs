//! Owns which paths stay as they are inside folders that may be written: names that make programs run
//! something, and the parts of a repository that do. Must not know how that is enforced.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;

use super::plan::{Grant, Plan};

/// What a name that is not there yet would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// The file in which git finds the folder that holds the rest of a repository.
    Pointer,
}

/// What may not change, present or not, and what may be written to after all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Protection {
    /// Paths that stay as they are.
    pub(super) fixed: BTreeSet<(PathBuf, Kind)>,
    /// Folders that a grant opens.
    pub(super) open: BTreeSet<PathBuf>,
}

#[derive(Deserialize, Default)]
struct Names {
    folders: Vec<String>,
    files: Vec<String>,
}

static NAMES: LazyLock<Option<Names>> = LazyLock::new(|| serde_json::from_str(include_str!("protected.json")).ok());

/// The parts of a repository that run or configure something.
const INSIDE: [(&str, Kind); 6] = [
    ("config", Kind::File),
    ("config.worktree", Kind::File),
    ("hooks", Kind::Folder),
    ("info", Kind::Folder),
    ("modules", Kind::Folder),
    ("commondir", Kind::Pointer),
];

impl Protection {
    /// What a command with this grant may not change in these folders.
    pub(super) fn of(plan: &Plan, writable: &[PathBuf], grant: Grant) -> Result<Self, String> {
        let names = NAMES.as_ref().ok_or("the list of protected names cannot be read")?;
        let mut found = Self::default();
        for folder in writable {
            let folders = names.folders.iter().map(|name| (name, Kind::Folder));
            let files = names.files.iter().map(|name| (name, Kind::File));
            for (name, kind) in folders.chain(files) {
                let path = folder.join(name);
                let fixed = match (grant, name.as_str()) {
                    (Grant::Nothing, ".git") => {
                        found.repository_elsewhere(&path, writable);
                        true
                    }
                    (Grant::Commit | Grant::Checkout, ".git") => false,
                    (Grant::Nothing | Grant::Commit, _) => true,
                    (Grant::Checkout, _) => false,
                };
                if fixed {
                    found.fixed.insert((path, kind));
                }
            }
            if grant != Grant::Nothing
                && let Some(repository) = Repository::above(folder)
            {
                found.open(&repository);
            }
        }
        for path in &plan.deny_write {
            if writable.iter().any(|folder| path.starts_with(folder)) {
                found.fixed.insert((path.clone(), if path.is_dir() { Kind::Folder } else { Kind::File }));
            }
        }
        Ok(found)
    }

    /// A `.git` that is a file names folders, which may be writable as part of another root.
    fn repository_elsewhere(&mut self, entry: &Path, writable: &[PathBuf]) {
        if !entry.is_file() {
            return;
        }
        let Some(repository) = Repository::at(entry) else { return };
        for folder in [repository.own, repository.common] {
            if writable.iter().any(|root| folder.starts_with(root)) {
                self.fixed.insert((folder, Kind::Folder));
            }
        }
    }

    /// Lets a repository be written, save what runs or configures something.
    fn open(&mut self, repository: &Repository) {
        let Repository { entry, own, common } = repository;
        self.open.extend([own.clone(), common.clone()]);
        if entry != own {
            self.fixed.insert((entry.clone(), Kind::File));
        }
        self.fixed.extend(INSIDE.map(|(name, kind)| (common.join(name), kind)));
        if own != common {
            for name in ["commondir", "gitdir", "config.worktree"] {
                self.fixed.insert((own.join(name), Kind::File));
            }
        }
        // Other working trees of the repository are not this one's affair.
        for tree in fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten() {
            if tree.path() != *own {
                self.fixed.insert((tree.path(), Kind::Folder));
            }
        }
    }
}

/// A repository as git would find it.
#[derive(Debug, PartialEq, Eq)]
struct Repository {
    /// The entry `.git`.
    entry: PathBuf,
    /// The folder of this working tree.
    own: PathBuf,
    /// The folder that all working trees share.
    common: PathBuf,
}

impl Repository {
    /// The one to which a folder belongs.
    fn above(folder: &Path) -> Option<Self> {
        let entry = folder.ancestors().map(|up| up.join(".git")).find(|entry| fs::symlink_metadata(entry).is_ok())?;
        Self::at(&entry)
    }

    fn at(entry: &Path) -> Option<Self> {
        let kind = fs::symlink_metadata(entry).ok()?.file_type();
        let own = if kind.is_dir() {
            entry.to_owned()
        } else if kind.is_file() {
            let text = fs::read_to_string(entry).ok()?;
            let named = text.trim().strip_prefix("gitdir:")?.trim();
            entry.parent()?.join(named).canonicalize().ok()?
        } else {
            return None;
        };
        let common = match fs::read_to_string(own.join("commondir")) {
            Ok(text) => own.join(text.trim()).canonicalize().ok()?,
            Err(_) => own.clone(),
        };
        // Anything else that a file may point to is no repository, and stays as it is.
        let is_one = common.join("HEAD").is_file() && common.join("objects").is_dir() && own.join("HEAD").is_file();
        is_one.then(|| Self { entry: entry.to_owned(), own, common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(folder: &Path) {
        fs::create_dir_all(folder.join("objects")).unwrap();
        fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    #[test]
    fn a_repository_is_found_through_a_worktree_and_nothing_else_passes_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let common = root.join("main/.git");
        repository(&common);
        let own = common.join("worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/w\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let entry = root.join("w/.git");
        fs::create_dir_all(root.join("w/deep")).unwrap();
        fs::write(&entry, "gitdir: ../main/.git/worktrees/w\n").unwrap();
        let found = Repository::above(&root.join("w/deep"));
        assert_eq!(found, Some(Repository { entry: entry.clone(), own, common: common.clone() }));
        let main = Repository { entry: common.clone(), own: common.clone(), common };
        assert_eq!(Repository::above(&root.join("main")), Some(main));
        fs::write(&entry, "gitdir: /etc\n").unwrap();
        assert_eq!(Repository::above(&root.join("w")), None);
    }
}
