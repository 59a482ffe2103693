//! Owns the user's settings file: its keys, and errors that name the file, line and column.
//! Must not know what the settings lead to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kernel::{Origin, Rule, Rules};
use models::Effort;
use models::registry::Rows;
use models::table::Quirks;
use serde::Deserialize;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::environment::Environment;

/// What the user has set. Keys that this version does not know are left alone.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// Providers by name, beside the built-in ones.
    pub providers: BTreeMap<String, Provider>,
    /// What is known of models, beside and in place of the built-in table.
    pub models: Rows,
    /// How much work a model puts into an answer.
    pub effort_level: Option<Effort>,
    /// Whether models think.
    pub always_thinking_enabled: Option<bool>,
    /// Permission rules.
    pub permissions: Permissions,
    /// What else stands there.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// `providers.NAME`. What a built-in provider has need not be said again.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// How it speaks: `anthropic` or `openai`.
    pub dialect: Option<String>,
    /// Where it is, such as `https://api.example.com`.
    pub base_url: Option<String>,
    /// The variable that holds its key; none where it needs no key.
    pub api_key_env: Option<String>,
    /// The model that is used unless another is named.
    pub model: Option<String>,
    /// A quick and cheap model for chores.
    pub small_model: Option<String>,
    /// What it does in its own way, in place of what the table says.
    pub quirks: Option<Quirks>,
    /// Fields that every request to it has beside ours.
    #[serde(default)]
    pub body: Map<String, Value>,
    /// What else stands there.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// `permissions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    /// What runs without a question.
    pub allow: Vec<String>,
    /// What is always asked.
    pub ask: Vec<String>,
    /// What never runs.
    pub deny: Vec<String>,
    /// Takes the place of the built-in deny list.
    pub builtin_deny: Option<Vec<String>>,
    /// What else stands there.
    #[serde(flatten)]
    unknown: BTreeMap<String, Value>,
}

/// Why settings could not be used. Nothing runs with half of them.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// The file is there and cannot be read.
    #[error("cannot read {path}: {fault}. Make it a readable file or remove it")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        fault: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{path}:{line}:{column}: {fault}. Correct the file or remove it")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        fault: String,
    },
    /// A rule cannot be read.
    #[error("{place}: {fault}")]
    Rule {
        /// The file and key, or the flag.
        place: String,
        /// What is wrong.
        fault: String,
    },
}

impl Settings {
    /// What stands in the settings folder of these surroundings.
    pub fn of(environment: &Environment) -> Result<Self, SettingsError> {
        let folder = environment.settings_folder();
        folder.map_or_else(|| Ok(Self::default()), |folder| Self::load(&folder.join("settings.json")))
    }

    /// Reads the file; a missing one is the same as an empty one.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let text = match read(path) {
            Ok(text) => text,
            Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(fault) => return Err(SettingsError::Unreadable { path: path.into(), fault }),
        };
        // Editors on some systems begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let malformed = |fault: serde_json::Error| SettingsError::Malformed {
            path: path.into(),
            line: fault.line(),
            column: fault.column(),
            fault: without_position(&fault),
        };
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        // A list would be read as an object without names: what it denies would not be denied.
        for (name, part) in [("the file", &value), ("`permissions`", &value["permissions"])] {
            if !part.is_object() && !part.is_null() {
                let fault = format!("{name} must be an object");
                return Err(SettingsError::Rule { place: path.display().to_string(), fault });
            }
        }
        serde_json::from_str(text).map_err(malformed)
    }

    /// Keys that mean nothing to this version: perhaps misspelt, and then without effect.
    pub fn unknown_keys(&self) -> Vec<String> {
        let own = self.unknown.keys().cloned();
        let permissions = self.permissions.unknown.keys().map(|key| format!("permissions.{key}"));
        let providers = self
            .providers
            .iter()
            .flat_map(|(name, provider)| provider.unknown.keys().map(move |key| format!("providers.{name}.{key}")));
        own.chain(permissions).chain(providers).collect()
    }

    /// The rules in force: the user's, those of flags, and the built-in deny list.
    pub fn rules(&self, flags: &FlagRules, builtin_deny: &[&str]) -> Result<Rules, SettingsError> {
        let own = &self.permissions;
        let user = |key: &str, list: &[String]| parse(list, Origin::User, &format!("permissions.{key}"));
        let mut rules =
            Rules { allow: user("allow", &own.allow)?, ask: user("ask", &own.ask)?, deny: user("deny", &own.deny)? };
        let flag = |key: &str, texts: &[String]| {
            let list: Vec<&str> = texts.iter().flat_map(|text| split_rules(text)).collect();
            parse(&list, Origin::Flag, key)
        };
        rules.allow.extend(flag("--allowed-tools", &flags.allow)?);
        rules.deny.extend(flag("--disallowed-tools", &flags.deny)?);
        rules.deny.extend(match &own.builtin_deny {
            Some(list) => parse(list, Origin::BuiltIn, "permissions.builtinDeny")?,
            None => parse(builtin_deny, Origin::BuiltIn, "built-in deny list")?,
        });
        Ok(rules)
    }
}

/// Rules given on the command line.
#[derive(Debug, Clone, Default)]
pub struct FlagRules {
    /// `--allowed-tools`.
    pub allow: Vec<String>,
    /// `--disallowed-tools`.
    pub deny: Vec<String>,
}

/// Waits for nothing: a FIFO in the file's place must not hang the start.
fn read(path: &Path) -> std::io::Result<String> {
    match std::fs::metadata(path)?.is_file() {
        true => std::fs::read_to_string(path),
        false => Err(std::io::Error::other("it is not a file")),
    }
}

/// Each text is one rule, whatever commas and blanks are in it.
fn parse<T: AsRef<str>>(list: &[T], origin: Origin, place: &str) -> Result<Vec<Rule>, SettingsError> {
    list.iter()
        .map(|text| {
            tools::rules::grammar::parse(text.as_ref(), origin)
                .map_err(|fault| SettingsError::Rule { place: place.to_owned(), fault })
        })
        .collect()
}

/// Several rules in one text, apart by commas or blanks outside parentheses.
fn split_rules(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// The parser's text less the position, which we give in our own form.
fn without_position(fault: &serde_json::Error) -> String {
    let text = fault.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => what.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        Settings::load(&path).map_err(|fault| fault.to_string().replace(&shown, "FILE"))
    }

    #[test]
    fn reads_what_the_documents_name() {
        let settings = load(
            r#"{"providers": {"local": {"dialect": "anthropic", "baseUrl": "http://127.0.0.1:9",
                "apiKeyEnv": "K", "model": "m"}},
                "permissions": {"allow": ["Bash(ls *)"], "builtinDeny": [], "dney": []}, "other": 1}"#,
        )
        .unwrap();
        assert_eq!(settings.unknown_keys(), ["other", "permissions.dney"]);
        let expected = Settings {
            providers: BTreeMap::from([(
                "local".to_owned(),
                Provider {
                    dialect: Some("anthropic".into()),
                    base_url: Some("http://127.0.0.1:9".into()),
                    api_key_env: Some("K".into()),
                    model: Some("m".into()),
                    small_model: None,
                    quirks: None,
                    body: Map::new(),
                    unknown: BTreeMap::new(),
                },
            )]),
            permissions: Permissions {
                allow: vec!["Bash(ls *)".into()],
                builtin_deny: Some(Vec::new()),
                unknown: BTreeMap::from([("dney".to_owned(), Value::Array(Vec::new()))]),
                ..Permissions::default()
            },
            unknown: BTreeMap::from([("other".to_owned(), Value::from(1))]),
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }

    #[test]
    fn a_missing_or_empty_file_sets_nothing() {
        assert_eq!(Settings::load(Path::new("/nowhere/at/all")).unwrap(), Settings::default());
        assert_eq!(load(" \n").unwrap(), Settings::default());
    }

    #[test]
    fn faults_name_file_line_and_column() {
        assert_eq!(
            load("{\n  \"providers\": 3\n}").unwrap_err(),
            "FILE:2:16: invalid type: integer `3`, expected a map. Correct the file or remove it"
        );
        assert_eq!(load("{\"a\": }").unwrap_err(), "FILE:1:7: expected value. Correct the file or remove it");
    }

    #[test]
    fn rules_come_from_settings_flags_and_the_built_in_list() {
        let settings = Settings {
            permissions: Permissions {
                allow: vec!["Bash(git log *)".into(), "Bash(echo a) Read, (b)".into()],
                deny: vec!["Read(.env)".into()],
                ..Permissions::default()
            },
            ..Settings::default()
        };
        let flags = FlagRules { allow: vec!["Read,Bash(a, b) Write".into()], deny: vec!["Agent".into()] };
        let rules = settings.rules(&flags, &["Bash(rm -rf *)"]).unwrap();
        let shown = |list: &[Rule]| list.iter().map(|rule| format!("{rule} | {}", rule.origin)).collect::<Vec<_>>();
        assert_eq!(
            shown(&rules.allow),
            [
                "Bash(git log *) | user settings",
                "Bash(echo a) Read, (b) | user settings",
                "Read | command line",
                "Bash(a, b) | command line",
                "Write | command line"
            ]
        );
        assert_eq!(
            shown(&rules.deny),
            ["Read(.env) | user settings", "Agent | command line", "Bash(rm -rf *) | built-in list"]
        );
        let none = Permissions { builtin_deny: Some(Vec::new()), ..Permissions::default() };
        let settings = Settings { permissions: none, ..Settings::default() };
        assert_eq!(settings.rules(&FlagRules::default(), &["Bash(rm -rf *)"]).unwrap(), Rules::default());
    }

    #[test]
    fn a_list_in_place_of_an_object_is_refused() {
        assert_eq!(load("[]").unwrap_err(), "FILE: the file must be an object");
        assert_eq!(load("{\"permissions\": []}").unwrap_err(), "FILE: `permissions` must be an object");
    }

    #[test]
    fn a_bad_rule_names_its_place() {
        let flags = FlagRules { allow: vec!["Bash(".into()], deny: Vec::new() };
        assert_eq!(
            Settings::default().rules(&flags, &[]).unwrap_err().to_string(),
            "--allowed-tools: bad permission rule `Bash(`: the closing `)` is missing; \
             write `Tool` or `Tool(pattern)`"
        );
    }
}
