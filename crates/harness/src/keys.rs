//! Owns keys that are kept: `~/.rsagent/keys.json`, readable for its owner alone. A variable goes before
//! it. Must not know who is asked with a key; a key never leaves through an error or `Debug`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use host::files::{FileError, others, read_whole, write_private};
use thiserror::Error;

use crate::environment::Environment;

/// The longest file that is read, in bytes.
const LIMIT: u64 = 2 * 1024 * 1024;
/// The longest key, in bytes.
const KEY: usize = 16 * 1024;

/// Keys by provider.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Keys(BTreeMap<String, String>);

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Why keys are not used or not kept. Each says what to do.
#[derive(Debug, Error)]
pub enum KeyError {
    /// Whoever can read the file has the keys already.
    #[error("others can read {path}, so its keys are not used. chmod 600 {path}, and think of new keys")]
    Exposed {
        /// The file.
        path: String,
    },
    /// It is not what it should be.
    #[error("{path}:{line}:{column}: it must be an object of keys by provider. Correct the file or remove it")]
    Malformed {
        /// The file.
        path: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
    },
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no home folder.
    #[error("there is no home folder to keep keys in. Set HOME")]
    Homeless,
    /// What was given is no key.
    #[error("that is no key: a key is one word of printable ASCII. Paste it again")]
    Unfit,
}

impl Keys {
    /// Reads the file; without one there are no keys.
    pub fn read(environment: &Environment) -> Result<Self, KeyError> {
        let Some(path) = file(environment) else { return Ok(Self::default()) };
        let whole = match read_whole(&path, LIMIT) {
            Ok(whole) => whole,
            Err(FileError::Missing(_)) => return Ok(Self::default()),
            Err(FileError::System { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory => {
                return Ok(Self::default());
            }
            Err(fault) => return Err(fault.into()),
        };
        let shown = path.display().to_string();
        if others(&path).is_ok_and(|bits| bits != 0) {
            return Err(KeyError::Exposed { path: shown });
        }
        // The parser's own words could hold a part of a key.
        let malformed = |fault: serde_json::Error| KeyError::Malformed {
            path: shown.clone(),
            line: fault.line(),
            column: fault.column(),
        };
        serde_json::from_slice(&whole.bytes).map(Self).map_err(malformed)
    }

    /// The key of a provider.
    pub fn get(&self, provider: &str) -> Option<&str> {
        self.0.get(provider).map(String::as_str)
    }
}

/// Keeps the key of a provider; without one it is forgotten. Gives the file, and whether there was one
/// before.
pub fn keep(environment: &Environment, provider: &str, key: Option<&str>) -> Result<(PathBuf, bool), KeyError> {
    let path = file(environment).ok_or(KeyError::Homeless)?;
    let mut keys = Keys::read(environment)?;
    let before = match key.map(str::trim) {
        Some(key) if key.is_empty() || key.len() > KEY || !key.chars().all(|c| c.is_ascii_graphic()) => {
            return Err(KeyError::Unfit);
        }
        Some(key) => keys.0.insert(provider.to_owned(), key.to_owned()),
        None => keys.0.remove(provider),
    };
    if key.is_some() || before.is_some() {
        let text = serde_json::to_string_pretty(&keys.0).map_err(|_| KeyError::Unfit)?;
        write_private(&path, format!("{text}\n").as_bytes())?;
    }
    Ok((path, before.is_some()))
}

fn file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.settings_folder()?.join("keys.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Environment, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("HOME".into(), home.path().into())]);
        let path = home.path().join(".rsagent/keys.json");
        (home, environment, path)
    }

    #[test]
    fn keys_are_kept_and_forgotten() {
        let (_home, environment, path) = home();
        assert_eq!(Keys::read(&environment).unwrap(), Keys::default());
        assert_eq!(keep(&environment, "a", None).unwrap(), (path.clone(), false));
        assert!(!path.exists());
        assert_eq!(keep(&environment, "a", Some(" sk-one\n")).unwrap(), (path.clone(), false));
        assert_eq!(keep(&environment, "b", Some("sk-two")).unwrap(), (path.clone(), false));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"a\": \"sk-one\",\n  \"b\": \"sk-two\"\n}\n");
        let keys = Keys::read(&environment).unwrap();
        assert_eq!((keys.get("a"), keys.get("c")), (Some("sk-one"), None));
        assert_eq!(format!("{keys:?}"), "{\"a\", \"b\"}");
        assert_eq!(keep(&environment, "a", None).unwrap(), (path, true));
        assert_eq!(Keys::read(&environment).unwrap().get("a"), None);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let (_home, environment, path) = home();
        for text in ["", " ", "two words", "sk-\u{7}", "schlüssel", &"x".repeat(KEY + 1)] {
            assert!(matches!(keep(&environment, "a", Some(text)), Err(KeyError::Unfit)), "{text}");
        }
        assert!(!path.exists());
        assert!(matches!(keep(&Environment::default(), "a", Some("k")), Err(KeyError::Homeless)));
    }

    #[test]
    fn a_broken_file_is_said_without_its_keys() {
        let (_home, environment, path) = home();
        keep(&environment, "a", Some("k")).unwrap();
        std::fs::write(&path, "{\"a\": [\"sk-secret\"]}").unwrap();
        let told =
            format!("{}:1:6: it must be an object of keys by provider. Correct the file or remove it", path.display());
        assert_eq!(Keys::read(&environment).unwrap_err().to_string(), told);
        assert_eq!(keep(&environment, "b", Some("k")).unwrap_err().to_string(), told);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let (_home, environment, path) = home();
        keep(&environment, "a", Some("k")).unwrap();
        for mode in [0o604, 0o640, 0o660] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let shown = path.display();
            let told =
                format!("others can read {shown}, so its keys are not used. chmod 600 {shown}, and think of new keys");
            assert_eq!(Keys::read(&environment).unwrap_err().to_string(), told, "{mode:o}");
        }
    }
}
