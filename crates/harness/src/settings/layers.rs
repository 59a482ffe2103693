//! Owns how the layers come together: user, project, local, flag, managed, each over the one before.
//! Objects merge key by key, lists are joined, of anything else the highest layer's value holds. Must
//! not know what the values mean.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::Origin;
use serde_json::{Map, Value};

use super::content::{AUTO, Settings};
use super::error::SettingsError;
use super::narrow::{Ignored, Why, narrow};
use super::source::{Source, Where, read_all};

/// Lists that are one value: the highest layer's holds. Under `models` and `providers` all are.
const WHOLE: [&str; 2] = ["fallbackModel", "permissions.builtinDeny"];

/// What every file says. Nothing of it holds yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Layers {
    sources: Vec<Source>,
}

/// What holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effective {
    /// The values.
    pub settings: Settings,
    /// The same as they were written.
    pub(super) value: Map<String, Value>,
    /// The files, less what has no effect, lowest layer first.
    pub(super) sources: Vec<Source>,
    /// What has no effect, by file.
    pub ignored: Vec<(PathBuf, Ignored)>,
    /// What a person should know of it.
    pub notices: Vec<String>,
}

impl Layers {
    /// Reads the files.
    pub fn read(at: &Where<'_>) -> Result<Self, SettingsError> {
        Ok(Self { sources: read_all(at)? })
    }

    /// The folders that managed settings trust.
    pub fn trusted_folders(&self) -> Vec<String> {
        let managed = self.sources.iter().filter(|source| source.origin == Origin::Managed);
        let lists = managed.filter_map(|source| source.value.get("trustedFolders")?.as_array());
        lists.flatten().filter_map(|path| path.as_str().map(str::to_owned)).collect()
    }

    /// Whether more would hold if the project were trusted.
    pub fn want_trust(&self) -> bool {
        let mut shared = self.sources.iter().filter(|source| source.folder.is_some());
        shared.any(|source| narrow(source, true).0 != narrow(source, false).0)
    }

    /// Lays them over one another. `trusted` answers for the folder of a project's file.
    pub fn settle(self, trusted: impl Fn(&Path) -> bool) -> Result<Effective, SettingsError> {
        let mut all = Effective::default();
        for source in self.sources {
            let trusted = source.folder.as_deref().is_none_or(&trusted);
            let (value, ignored) = narrow(&source, trusted);
            all.notices.extend(said(&source, &ignored));
            all.ignored.extend(ignored.into_iter().map(|ignored| (source.path.clone(), ignored)));
            lay(&mut all.value, &value, &mut Vec::new());
            all.sources.push(Source { value, ..source });
        }
        let whole = Value::Object(all.value.clone());
        let fault =
            |fault: serde_json::Error| SettingsError::Rule { place: "settings".into(), fault: fault.to_string() };
        all.settings = serde_json::from_value(whole).map_err(fault)?;
        Ok(all)
    }
}

/// What a person should know of one file.
fn said(source: &Source, ignored: &[Ignored]) -> Vec<String> {
    let file = source.path.display();
    let mut notices = source.faults.clone();
    notices.extend(source.unknown.iter().map(|key| match secret(key) {
        true => format!("{file}: `{key}` is not used: keys do not belong there. Use `rsagent config set-key`"),
        false => format!("{file}: `{key}` means nothing to this version"),
    }));
    let keys = |why| {
        let keys = ignored.iter().filter(move |ignored| ignored.why == why);
        keys.map(|ignored| format!("`{}`", ignored.key)).collect::<Vec<_>>().join(", ")
    };
    for (why, hint) in [
        (Why::Untrusted, "Trust it with --trust"),
        (Why::Project, "Set it in ~/.rsagent/settings.json"),
        (Why::Managed, "Trust a folder with --trust"),
    ] {
        let keys = keys(why);
        if !keys.is_empty() {
            notices.push(format!("{file}: no effect: {keys} ({why}). {hint}"));
        }
    }
    if source.value.get("permissions").and_then(|all| all.get("defaultMode")).is_some_and(|mode| mode == AUTO) {
        notices.push(format!("{file}: there is no mode `{AUTO}` here; the default mode is used"));
    }
    notices
}

/// Whether a name is that of a key or token.
fn secret(key: &str) -> bool {
    let name = key.rsplit('.').next().unwrap_or(key).to_lowercase().replace(['-', '_'], "");
    matches!(name.as_str(), "key" | "apikey" | "token" | "authtoken" | "secret" | "apitoken")
}

fn lay(low: &mut Map<String, Value>, high: &Map<String, Value>, path: &mut Vec<String>) {
    for (key, value) in high {
        // Null is no value, and takes none back: a switch that a lower layer has thrown stays.
        if value.is_null() {
            continue;
        }
        path.push(key.clone());
        match (low.get_mut(key), value) {
            (Some(Value::Object(low)), Value::Object(high)) if !is_row(path) => lay(low, high, path),
            (Some(Value::Array(low)), Value::Array(high)) if joins(path) => {
                // What two layers say is said once.
                let fresh: Vec<Value> = high.iter().filter(|item| !low.contains(item)).cloned().collect();
                low.extend(fresh);
            }
            _ => {
                low.insert(key.clone(), value.clone());
            }
        }
        path.pop();
    }
}

/// A field of a model's row is one value, whatever it is made of.
fn is_row(path: &[String]) -> bool {
    path.len() > 2 && path.first().is_some_and(|first| first == "models")
}

pub(super) fn joins(path: &[String]) -> bool {
    !matches!(path.first().map(String::as_str), Some("models" | "providers"))
        && !WHOLE.contains(&path.join(".").as_str())
}

impl Effective {
    /// The layer and file that a value comes from: the highest that has it.
    pub fn source_of(&self, path: &[&str]) -> Option<(Origin, &Path)> {
        let mut high_first = self.sources.iter().rev();
        let found = high_first.find(|source| {
            let first = path.first().and_then(|key| source.value.get(*key));
            let value = path.iter().skip(1).fold(first, |value, key| value?.get(*key));
            value.is_some_and(|value| !value.is_null())
        })?;
        Some((found.origin, &found.path))
    }

    /// Whether whoever manages the machine has set a value, so that no flag goes before it.
    pub fn is_managed(&self, path: &[&str]) -> bool {
        self.source_of(path).is_some_and(|(origin, _)| origin == Origin::Managed)
    }

    /// Whether a value is a project's.
    pub fn is_shared(&self, path: &[&str]) -> bool {
        self.source_of(path).is_some_and(|(origin, _)| matches!(origin, Origin::Project | Origin::Local))
    }

    /// The variables that hold for rsagent itself: a project's neither give nor take any.
    pub fn own_variables(&self) -> BTreeMap<String, String> {
        let own = self.sources.iter().filter(|source| source.folder.is_none());
        let lists = own.filter_map(|source| source.value.get("env")?.as_object());
        let given = lists.flatten().filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(boolean) => boolean.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((name.clone(), value))
        });
        given.collect()
    }
}
