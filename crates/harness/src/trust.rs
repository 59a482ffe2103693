//! Owns the one answer to "is this folder trusted?": what the user said, kept in
//! `~/.rsagent/trust.json`. Must not know what trust changes.
//!
//! A trusted folder covers what is in it. Three do not: the root of the file system, the home folder
//! with the folders above it, and a folder in which everybody may write; in these somebody may put
//! another project at any time, so only they themselves are trusted.

use std::path::{Path, PathBuf};

use host::files::{FileError, others, read_whole, write_private};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::environment::Environment;

/// The longest file that is read, in bytes.
const LIMIT: u64 = 2 * 1024 * 1024;

/// Whom the user trusts, with what managed settings and this run add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Whether this run was told to trust the folder that it works in.
    told: bool,
    home: Option<PathBuf>,
    folders: Vec<PathBuf>,
    managed: Vec<PathBuf>,
    /// What a person should know: a file that cannot be read trusts nothing.
    pub notices: Vec<String>,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    trusted: Vec<PathBuf>,
}

/// Why trust was not saved.
#[derive(Debug, Error)]
pub enum TrustError {
    /// There is no home folder.
    #[error("there is no home folder to keep trust in. Set HOME, or trust the folder for one run with --trust")]
    Homeless,
    /// The file cannot be read; writing it would lose what it says.
    #[error("{0}")]
    Broken(String),
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Trust {
    /// Reads whom the user trusts. `managed` are the folders of managed settings.
    pub fn read(environment: &Environment, told: bool, managed: &[String]) -> Self {
        let home = environment.home();
        let named = |text: &String| {
            let path = match (text.strip_prefix("~/"), &home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(text),
            };
            path.is_absolute().then(|| resolved(&path))
        };
        let managed = managed.iter().filter_map(named).collect();
        let (folders, notices) = match file(environment).map(|path| load(&path)) {
            None => (Vec::new(), Vec::new()),
            Some(Ok(store)) => (store.trusted, Vec::new()),
            Some(Err(fault)) => (Vec::new(), vec![fault]),
        };
        Self { told, home: home.map(|home| resolved(&home)), folders, managed, notices }
    }

    /// Whether a folder is trusted. A link counts as what it leads to.
    pub fn covers(&self, folder: &Path) -> bool {
        let folder = resolved(folder);
        let saved = |entry: &PathBuf| folder == *entry || folder.starts_with(entry) && !self.stands_alone(entry);
        self.told || self.managed.iter().any(|entry| folder.starts_with(entry)) || self.folders.iter().any(saved)
    }

    /// Whether trust in a folder says nothing of what is in it.
    pub fn stands_alone(&self, folder: &Path) -> bool {
        let above_home = self.home.as_ref().is_none_or(|home| home.starts_with(folder));
        folder.parent().is_none() || above_home || others(folder).is_ok_and(|bits| bits & 0o002 != 0)
    }
}

/// Trusts a folder from now on.
pub fn save(environment: &Environment, folder: &Path) -> Result<(), TrustError> {
    let path = file(environment).ok_or(TrustError::Homeless)?;
    let mut store = load(&path).map_err(TrustError::Broken)?;
    let folder = resolved(folder);
    if !store.trusted.contains(&folder) {
        store.trusted.push(folder);
    }
    let text = serde_json::to_string_pretty(&store).map_err(|fault| TrustError::Broken(fault.to_string()))?;
    Ok(write_private(&path, format!("{text}\n").as_bytes())?)
}

fn file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.settings_folder()?.join("trust.json"))
}

fn load(path: &Path) -> Result<Store, String> {
    let remedy = "Nothing is trusted; correct the file or remove it";
    let whole = match read_whole(path, LIMIT) {
        Ok(whole) => whole,
        Err(FileError::Missing(_)) => return Ok(Store::default()),
        Err(fault) => return Err(format!("{fault}. {remedy}")),
    };
    if others(path).is_ok_and(|bits| bits & 0o022 != 0) {
        let path = path.display();
        return Err(format!("others may write {path}. Nothing is trusted; look through it, then chmod 600 {path}"));
    }
    serde_json::from_slice(&whole.bytes).map_err(|fault| {
        let text = fault.to_string();
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("{}:{}:{}: {what}. {remedy}", path.display(), fault.line(), fault.column())
    })
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Stage {
        folder: tempfile::TempDir,
    }

    impl Stage {
        fn new() -> Self {
            let stage = Self { folder: tempfile::tempdir().unwrap() };
            for name in ["users/me/code/a/b", "users/me/code-evil", "other"] {
                fs::create_dir_all(stage.path(name)).unwrap();
            }
            stage
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn environment(&self) -> Environment {
            Environment::of([("HOME".into(), self.path("users/me").into())])
        }

        fn trust(&self, folder: &str) {
            save(&self.environment(), &self.path(folder)).unwrap();
        }

        fn covers(&self, folder: &str) -> bool {
            Trust::read(&self.environment(), false, &[]).covers(&self.path(folder))
        }
    }

    #[test]
    fn a_folder_covers_what_is_in_it_by_whole_names() {
        let stage = Stage::new();
        assert!(!stage.covers("users/me/code"));
        stage.trust("users/me/code");
        stage.trust("users/me/code/../code");
        let store = fs::read_to_string(stage.path("users/me/.rsagent/trust.json")).unwrap();
        assert_eq!(store, format!("{{\n  \"trusted\": [\n    {:?}\n  ]\n}}\n", stage.path("users/me/code")));
        for (folder, expected) in [
            ("users/me/code", true),
            ("users/me/code/a/b", true),
            ("users/me/code/../code-evil", false),
            ("users/me/code-evil", false),
            ("users/me", false),
            ("users", false),
        ] {
            assert_eq!(stage.covers(folder), expected, "{folder}");
        }
    }

    #[test]
    fn home_and_what_is_above_it_cover_only_themselves() {
        for folder in ["users/me", "users"] {
            let stage = Stage::new();
            stage.trust(folder);
            assert!(stage.covers(folder));
            assert_eq!((stage.covers("users/me/code"), stage.covers("other")), (false, false), "{folder}");
            assert_eq!(stage.covers("users/me"), folder == "users/me");
        }
        let stage = Stage::new();
        save(&stage.environment(), Path::new("/")).unwrap();
        assert_eq!((stage.covers("other"), stage.covers("users/me/code")), (false, false));
    }

    #[cfg(unix)]
    #[test]
    fn links_count_as_what_they_lead_to() {
        use std::os::unix::fs::symlink;
        let stage = Stage::new();
        symlink(stage.path("other"), stage.path("users/me/code/link")).unwrap();
        stage.trust("users/me/code");
        assert!(!stage.covers("users/me/code/link"));
        // A folder that was trusted and is a link now is another folder.
        fs::rename(stage.path("users/me/code"), stage.path("users/me/old")).unwrap();
        symlink(stage.path("other"), stage.path("users/me/code")).unwrap();
        assert!(!stage.covers("users/me/code") && !stage.covers("other"));
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_for_everybody_covers_only_itself() {
        use std::os::unix::fs::PermissionsExt;
        let stage = Stage::new();
        fs::create_dir(stage.path("other/x")).unwrap();
        stage.trust("other");
        assert!(stage.covers("other/x"));
        fs::set_permissions(stage.path("other"), fs::Permissions::from_mode(0o1777)).unwrap();
        assert_eq!((stage.covers("other/x"), stage.covers("other")), (false, true));
    }

    #[test]
    fn managed_settings_and_the_run_add_folders() {
        let stage = Stage::new();
        let (environment, code) = (stage.environment(), stage.path("users/me/code/a"));
        assert!(Trust::read(&environment, true, &[]).covers(&code));
        let managed = |entry: &str| Trust::read(&environment, false, &[entry.to_owned()]).covers(&code);
        let users = stage.path("users").display().to_string();
        assert_eq!(
            (managed(&users), managed("~/code"), managed("~/cod"), managed("users")),
            (true, true, false, false)
        );
    }

    #[test]
    fn a_broken_file_trusts_nothing_and_is_kept() {
        let stage = Stage::new();
        stage.trust("other");
        let path = stage.path("users/me/.rsagent/trust.json");
        fs::write(&path, "{\n \"trusted\": [3]}").unwrap();
        let trust = Trust::read(&stage.environment(), false, &[]);
        let told = format!(
            "{}:2:14: invalid type: integer `3`, expected path string. Nothing is trusted; correct the file or remove it",
            path.display()
        );
        assert_eq!((trust.covers(&stage.path("other")), &trust.notices), (false, &vec![told.clone()]));
        assert_eq!(save(&stage.environment(), &stage.path("other")).unwrap_err().to_string(), told);
        assert!(save(&Environment::default(), Path::new("/x")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_trusts_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let stage = Stage::new();
        stage.trust("other");
        let path = stage.path("users/me/.rsagent/trust.json");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
        let trust = Trust::read(&stage.environment(), false, &[]);
        let path = path.display();
        let told = format!("others may write {path}. Nothing is trusted; look through it, then chmod 600 {path}");
        assert_eq!((trust.covers(&stage.path("other")), trust.notices), (false, vec![told]));
    }
}
