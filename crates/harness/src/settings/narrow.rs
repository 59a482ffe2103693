//! Owns what a layer may set. A project's files are somebody else's text: until the folder is trusted
//! they may only deny and ask, and even then they never choose who is asked with which key, nor switch
//! protection off. Must not know how files are read.

use kernel::Origin;
use serde_json::{Map, Value};

use super::source::Source;

/// A key that a file sets and that has no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The key, with the one above it before a dot.
    pub key: String,
    /// Why.
    pub why: Why,
}

/// Why a key has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The folder is not trusted.
    Untrusted,
    /// No project may set it.
    Project,
    /// Only whoever manages the machine may set it.
    Managed,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Untrusted => "the folder is not trusted",
            Self::Project => "a project may not set it",
            Self::Managed => "only managed settings may set it",
        })
    }
}

/// What a trusted project may set. The settings of the local layer come under the same rule: nothing
/// shows that the user wrote them, since an archive can bring the file together with a repository
/// that does not list it.
const PROJECT: [&str; 6] = ["model", "fallbackModel", "effortLevel", "alwaysThinkingEnabled", "env", "permissions"];
/// The same in `permissions`.
const PERMISSIONS: [&str; 6] =
    ["allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"];
/// What anybody may set in `permissions`.
const NARROWING: [&str; 2] = ["ask", "deny"];
const BYPASS: &str = "bypassPermissions";
const MANAGED: &str = "trustedFolders";

/// What of `permissions` can only narrow.
pub(super) fn narrowing(permissions: &Map<String, Value>) -> Map<String, Value> {
    let narrow = permissions.iter().filter(|(key, _)| NARROWING.contains(&key.as_str()));
    narrow.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What of a file holds, and what does not. Keys without a meaning are not counted.
pub(super) fn narrow(source: &Source, trusted: bool) -> (Map<String, Value>, Vec<Ignored>) {
    let allows: &dyn Fn(&str, &Value) -> Result<(), Why> = match source.origin {
        Origin::Managed | Origin::BuiltIn | Origin::Session => &|_, _| Ok(()),
        Origin::User | Origin::Flag => &|key, _| if key == MANAGED { Err(Why::Managed) } else { Ok(()) },
        Origin::Project | Origin::Local if trusted => &project,
        Origin::Project | Origin::Local => &stranger,
    };
    let known = super::known::known();
    let mut ignored = Vec::new();
    let mut keep = |key: &str, value: &Value| match allows(key, value) {
        Ok(()) => true,
        Err(why) => {
            if !known.contains_key(key) && !source.unknown.iter().any(|unknown| unknown == key) {
                ignored.push(Ignored { key: key.to_owned(), why });
            }
            false
        }
    };
    let mut value = source.value.clone();
    if let Some(Value::Object(permissions)) = value.get_mut("permissions") {
        permissions.retain(|key, part| keep(&format!("permissions.{key}"), part));
    }
    value.retain(|key, part| key == "permissions" || keep(key, part));
    (value, ignored)
}

fn project(key: &str, value: &Value) -> Result<(), Why> {
    let may = match key.strip_prefix("permissions.") {
        Some("defaultMode") => value != BYPASS,
        Some(key) => PERMISSIONS.contains(&key),
        None => PROJECT.contains(&key),
    };
    if may { Ok(()) } else { Err(Why::Project) }
}

fn stranger(key: &str, _: &Value) -> Result<(), Why> {
    let may = key.strip_prefix("permissions.").is_some_and(|key| NARROWING.contains(&key));
    if may { Ok(()) } else { Err(Why::Untrusted) }
}
