//! Owns what holds, value by value, with the file that each comes from. Must not know how it is printed.

use std::path::{Path, PathBuf};

use kernel::Origin;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::layers::{Effective, joins};

/// One value, or one entry of a list that several layers make.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown {
    /// The key, with those above it before dots.
    pub key: String,
    /// What holds; of something that looks like a secret only that it is there.
    pub value: Value,
    /// The layer.
    #[serde(serialize_with = "name")]
    pub origin: Origin,
    /// The file.
    pub path: PathBuf,
}

fn name<S: Serializer>(origin: &Origin, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(origin)
}

impl Effective {
    /// The files, lowest layer first.
    pub fn files(&self) -> impl Iterator<Item = (Origin, &Path)> {
        self.sources.iter().map(|source| (source.origin, source.path.as_path()))
    }

    /// Every value, in the order of the files.
    pub fn show(&self) -> Vec<Shown> {
        let mut all = Vec::new();
        self.walk(&self.value, &mut Vec::new(), &mut all);
        all
    }

    fn walk<'a>(&self, map: &'a Map<String, Value>, path: &mut Vec<&'a str>, all: &mut Vec<Shown>) {
        for (key, value) in map {
            path.push(key);
            let names: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
            match value {
                Value::Object(map) if !map.is_empty() && names.len() < 3 => self.walk(map, path, all),
                Value::Array(list) if joins(&names) => {
                    all.extend(list.iter().filter_map(|item| self.shown(path, item, Some(item))));
                }
                _ => all.extend(self.shown(path, value, None)),
            }
            path.pop();
        }
    }

    fn shown(&self, path: &[&str], value: &Value, item: Option<&Value>) -> Option<Shown> {
        // An entry that several layers have was given by the lowest.
        let has = |source: &&super::source::Source| {
            let first = path.first().and_then(|key| source.value.get(*key));
            let found = path.iter().skip(1).fold(first, |value, key| value?.get(*key));
            found.is_some_and(|found| match item {
                Some(item) => found.as_array().is_some_and(|list| list.contains(item)),
                None => !found.is_null(),
            })
        };
        let source = match item {
            Some(_) => self.sources.iter().find(has),
            None => self.sources.iter().rev().find(has),
        }?;
        let value = hidden(path, value);
        Some(Shown { key: path.join("."), value, origin: source.origin, path: source.path.clone() })
    }
}

/// Words in the names of what nobody should see.
const SECRET: [&str; 7] = ["key", "token", "secret", "password", "authorization", "headers", "credential"];

/// A value without what looks like a secret by its name.
fn hidden(path: &[&str], value: &Value) -> Value {
    let name = path.last().copied().unwrap_or_default().to_lowercase();
    let secret = SECRET.iter().any(|word| name.contains(word)) && name != "apikeyenv";
    match value {
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), hidden(&[key], value))).collect())
        }
        Value::String(_) if secret => Value::from("(hidden)"),
        _ => value.clone(),
    }
}
