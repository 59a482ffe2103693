//! Owns the question whether git, only reading in a folder, would obey a configuration that names
//! programs. Answered by reading files: git is not run, and nothing in the folder is trusted. Must not
//! know what anybody wants to run.
//!
//! The user's own configuration is theirs and does not count. Hooks and the file system monitor do not
//! count either: whoever runs git to read turns them off, see `process`.

mod config;
mod index;
mod keys;
mod look;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use config::Setting;
use look::Looked;

/// No configuration that people write is longer.
const MAX_CONFIG: u64 = 1024 * 1024;
/// Files that hold a path, or the name of a branch.
const MAX_POINTER: u64 = 16 * 1024;
/// Repositories within repositories, in all.
const MAX_REPOSITORIES: usize = 500;
/// Answers that are kept.
const MAX_KEPT: usize = 256;

/// Answers the question, and remembers answers as long as nothing that led to them changes.
#[derive(Debug, Default)]
pub struct Probe {
    kept: Mutex<HashMap<PathBuf, (Looked, Option<String>)>>,
}

impl Probe {
    /// Why git may run a program or fetch although it only reads in this absolute folder; `None` where the
    /// configuration was read and does not make it. A folder without a repository does not.
    pub fn objection(&self, folder: &Path) -> Option<String> {
        // A process is in a folder whatever links lead there.
        let Ok(folder) = std::fs::canonicalize(folder) else { return Some("its folder cannot be found".into()) };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((looked, answer)) = kept.get(&folder)
            && looked.holds()
        {
            return answer.clone();
        }
        let mut search = Search { looked: Looked::default(), folder: folder.clone(), left: MAX_REPOSITORIES };
        let answer = search.above().err();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(folder, (search.looked, answer.clone()));
        answer
    }
}

/// One search for repositories. Whatever is odd ends it with a reason.
struct Search {
    looked: Looked,
    /// Where it began; paths in reasons are seen from there.
    folder: PathBuf,
    /// How many more repositories are looked at.
    left: usize,
}

impl Search {
    /// Looks where git looks: in the folder and those above it, up to the first repository.
    fn above(&mut self) -> Result<(), String> {
        let start = self.folder.clone();
        for folder in start.ancestors() {
            if self.at(folder)? {
                return Ok(());
            }
            // Git takes a folder that looks like the inside of a repository for one.
            let within = |name: &str| folder.join(name);
            if self.there(&within("HEAD"))? && (self.there(&within("objects"))? || self.there(&within("refs"))?) {
                return Err(format!("{} may be a repository without a work tree", self.shown(folder)));
            }
        }
        Ok(())
    }

    /// Looks at the repository whose work tree is this folder. False where it is not one.
    fn at(&mut self, folder: &Path) -> Result<bool, String> {
        let link = folder.join(".git");
        let Some(found) = self.find(&link)? else { return Ok(false) };
        let home = if found.is_dir() {
            // Git passes by a folder of that name that is no repository.
            if std::fs::symlink_metadata(link.join("HEAD")).is_err() {
                self.find(&link.join("HEAD"))?;
                return Ok(false);
            }
            link
        } else {
            let target = self.pointer(&link)?;
            let target = target.strip_prefix("gitdir: ").ok_or_else(|| self.unreadable(&link))?;
            folder.join(target)
        };
        self.repository(&home, folder)?;
        Ok(true)
    }

    fn repository(&mut self, home: &Path, work_tree: &Path) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or("there are too many repositories within it")?;
        self.valid_head(&home.join("HEAD"))?;
        let common = match self.find(&home.join("commondir"))? {
            None => home.to_path_buf(),
            Some(_) => home.join(self.pointer(&home.join("commondir"))?),
        };
        for name in ["objects", "refs"] {
            // The name in it tells whether the folder may be entered, which git asks as well.
            let inside = common.join(name).join(".");
            if !self.there(&inside)? {
                return Err(self.unreadable(&common.join(name)));
            }
        }
        let mut hash = 20;
        for path in [common.join("config"), home.join("config.worktree")] {
            let Some(bytes) = self.looked.read(&path, MAX_CONFIG).map_err(|()| self.unreadable(&path))? else {
                continue;
            };
            let settings = config::read(&bytes)
                .map_err(|line| format!("{} cannot be read for certain (line {line})", self.shown(&path)))?;
            for setting in &settings {
                self.judge(setting, &path, home, work_tree)?;
                let name = setting.to_string();
                if name == "extensions.objectformat" && setting.value.as_deref() == Some("sha256") {
                    hash = 32;
                }
            }
        }
        self.submodules(&home.join("index"), hash, work_tree)
    }

    /// Git would go on to a repository further up where a head is not valid.
    fn valid_head(&mut self, path: &Path) -> Result<(), String> {
        let text = self.pointer(path)?;
        let names = text.strip_prefix("ref:").is_some_and(|rest| rest.trim_start().starts_with("refs/"));
        let detached = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if names || detached { Ok(()) } else { Err(self.unreadable(path)) }
    }

    fn judge(&self, setting: &Setting, path: &Path, home: &Path, work_tree: &Path) -> Result<(), String> {
        let objection = if setting.to_string() == "core.worktree" {
            let named = std::fs::canonicalize(home.join(setting.value.as_deref().unwrap_or_default())).ok();
            let same = named.is_some() && named == std::fs::canonicalize(work_tree).ok();
            (!same).then(|| "sets core.worktree to another folder".to_owned())
        } else {
            keys::objection(setting)
        };
        objection.map_or(Ok(()), |objection| Err(format!("{} {objection}", self.shown(path))))
    }

    /// Git asks each submodule for its state, and so obeys its configuration as well.
    fn submodules(&mut self, path: &Path, hash: usize, work_tree: &Path) -> Result<(), String> {
        let Some((file, size)) = self.looked.open(path).map_err(|()| self.unreadable(path))? else { return Ok(()) };
        let found = index::submodules(file, size, hash).ok_or_else(|| self.unreadable(path))?;
        found.iter().try_for_each(|submodule| self.at(&work_tree.join(submodule)).map(drop))
    }

    /// A file that holds one line.
    fn pointer(&mut self, path: &Path) -> Result<String, String> {
        let bytes = self.looked.read(path, MAX_POINTER).ok().flatten().ok_or_else(|| self.unreadable(path))?;
        let text = String::from_utf8(bytes).map_err(|_| self.unreadable(path))?;
        let line = text.trim_end_matches(['\n', '\r']);
        let odd = line.is_empty() || line.contains(['\n', '\r', '\0']);
        if odd { Err(self.unreadable(path)) } else { Ok(line.to_owned()) }
    }

    fn find(&mut self, path: &Path) -> Result<Option<std::fs::Metadata>, String> {
        self.looked.find(path).map_err(|()| self.unreadable(path))
    }

    fn there(&mut self, path: &Path) -> Result<bool, String> {
        Ok(self.find(path)?.is_some())
    }

    fn unreadable(&self, path: &Path) -> String {
        format!("{} cannot be read for certain", self.shown(path))
    }

    /// A path as it is seen from the folder.
    fn shown(&self, path: &Path) -> String {
        let seen = path.strip_prefix(&self.folder).unwrap_or(path);
        let seen = if seen.as_os_str().is_empty() { path } else { seen };
        seen.display().to_string()
    }
}
