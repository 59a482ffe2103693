//! Owns saving a rule and taking it back: the file is changed in place and stays what it was otherwise.
//! Must not know who decided that.

use std::path::{Path, PathBuf};

use host::files::write;
use host::paths::{Case, below, resolve};
use kernel::Origin;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};
use tools::rules::grammar;

use super::error::SettingsError;
use super::file::{object, text, typed};
use super::source::{Where, files_of, local_file, user_file};

/// Where a rule is saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// For this project: `.rsagent/settings.local.json` at its root.
    Local,
    /// Everywhere: `~/.rsagent/settings.json`.
    User,
}

/// The list that a rule is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// What runs without a question.
    Allow,
    /// What is always asked.
    Ask,
    /// What never runs.
    Deny,
}

impl List {
    fn key(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Where a rule was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The file.
    pub path: PathBuf,
    /// Whether it was not there before. Nothing keeps a new file out of the repository: whoever shows
    /// this may say so, since writing to `.gitignore` unasked would change the project.
    pub created: bool,
}

/// Saves a rule, exactly as it is written; one that is there already is not doubled.
pub fn add_rule(at: &Where<'_>, scope: Scope, list: List, rule: &str) -> Result<Saved, SettingsError> {
    let path = match (scope, at.project) {
        (Scope::User, _) => user_file(at.environment).ok_or_else(|| fault("there is no home folder; set HOME"))?,
        (Scope::Local, Some(project)) => {
            let path = local_file(project.root);
            // A link in the project must not lead the writing elsewhere.
            if below(&resolve(&path), &resolve(project.root), Case::Exact).is_none() {
                return Err(fault(format!("{} leads out of the project; remove the link", path.display())));
            }
            path
        }
        (Scope::Local, None) => return Err(fault("there is no project to save it in")),
    };
    grammar::parse(rule, Origin::User).map_err(fault)?;
    let before = text(&path, false)?;
    let mut all = sound(&path, before.as_deref().unwrap_or(""))?;
    let permissions = all.entry("permissions").or_insert_with(|| json!({}));
    let rules = permissions.as_object_mut().map(|all| all.entry(list.key()).or_insert_with(|| json!([])));
    let Some(rules) = rules.and_then(Value::as_array_mut) else {
        return Err(fault(format!("{}: `permissions.{}` is no list", path.display(), list.key())));
    };
    if !rules.iter().any(|other| same(other, rule)) {
        rules.push(Value::from(rule));
        put(&path, before.as_deref(), &all)?;
    }
    Ok(Saved { path, created: before.is_none() })
}

/// Takes a rule out of every file of its layer. Gives the files; an error where it is in none.
pub fn remove_rule(at: &Where<'_>, origin: Origin, list: List, rule: &str) -> Result<Vec<PathBuf>, SettingsError> {
    if !matches!(origin, Origin::User | Origin::Project | Origin::Local) {
        return Err(fault(format!("rule {rule} is of the {origin}, which cannot be changed here")));
    }
    let mut changed = Vec::new();
    for path in files_of(at, origin) {
        let Some(before) = text(&path, false)? else { continue };
        let mut all = sound(&path, &before)?;
        let rules = all.get_mut("permissions").and_then(|all| all.get_mut(list.key())).and_then(Value::as_array_mut);
        let Some(rules) = rules else { continue };
        let count = rules.len();
        rules.retain(|other| !same(other, rule));
        if rules.len() < count {
            put(&path, Some(&before), &all)?;
            changed.push(path);
        }
    }
    match changed.is_empty() {
        true => Err(fault(format!("rule {rule} is in no file of the {origin}"))),
        false => Ok(changed),
    }
}

fn fault(text: impl Into<String>) -> SettingsError {
    SettingsError::Edit(text.into())
}

/// What a file says, if every part of it can be read: nobody knows what a change of a broken file does.
fn sound(path: &Path, text: &str) -> Result<Map<String, Value>, SettingsError> {
    typed(text).map_err(|fault| fault.in_file(path, false))?;
    object(text).map_err(|fault| fault.in_file(path, false))
}

/// Whether two texts are one rule, however they are written.
fn same(other: &Value, rule: &str) -> bool {
    let read = |text: &str| grammar::parse(text, Origin::User);
    let Some(other) = other.as_str() else { return false };
    other == rule || matches!((read(other), read(rule)), (Ok(other), Ok(rule)) if other == rule)
}

/// Writes a file anew, indented as it was and with its line ends.
fn put(path: &Path, before: Option<&str>, all: &Map<String, Value>) -> Result<(), SettingsError> {
    let before = before.unwrap_or("\n");
    let indent = before.lines().find_map(|line| {
        let blank = line.len() - line.trim_start().len();
        (blank > 0 && blank < line.len()).then(|| &line[..blank])
    });
    let mut bytes = Vec::new();
    let form = PrettyFormatter::with_indent(indent.unwrap_or("  ").as_bytes());
    all.serialize(&mut Serializer::with_formatter(&mut bytes, form)).map_err(|other| fault(other.to_string()))?;
    let mut text = String::from_utf8(bytes).map_err(|other| fault(other.to_string()))?;
    if before.ends_with('\n') || before.trim().is_empty() {
        text.push('\n');
    }
    if before.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    write(path, text.as_bytes()).map_err(|other| fault(other.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::source::{Project, Sources};
    use super::super::tests::Stage;
    use super::*;

    const USER: &str = "home/.rsagent/settings.json";
    const LOCAL: &str = "work/.rsagent/settings.local.json";

    fn at<T>(stage: &Stage, use_it: impl FnOnce(&Where<'_>) -> T) -> T {
        let (cwd, root, environment) = (stage.path("work/deep"), stage.path("work"), stage.environment());
        let project = Some(Project { cwd: &cwd, root: &root });
        use_it(&Where { environment: &environment, project, flag: None, sources: Sources::default() })
    }

    fn add(stage: &Stage, scope: Scope, list: List, rule: &str) -> Result<Saved, String> {
        at(stage, |at| add_rule(at, scope, list, rule)).map_err(|fault| stage.shown(&fault.to_string()))
    }

    fn remove(stage: &Stage, origin: Origin, rule: &str) -> Result<Vec<String>, String> {
        let changed = at(stage, |at| remove_rule(at, origin, List::Allow, rule));
        let shown = |paths: Vec<PathBuf>| paths.iter().map(|path| stage.shown(&path.display().to_string())).collect();
        changed.map(shown).map_err(|fault| stage.shown(&fault.to_string()))
    }

    fn read(stage: &Stage, file: &str) -> String {
        fs::read_to_string(stage.path(file)).unwrap()
    }

    #[test]
    fn a_rule_makes_its_file_and_is_not_doubled() {
        for (scope, file) in [(Scope::User, USER), (Scope::Local, LOCAL)] {
            let stage = Stage::new();
            let saved = |created| Ok(Saved { path: stage.path(file), created });
            assert_eq!(add(&stage, scope, List::Allow, "Bash(cargo test *)"), saved(true));
            assert_eq!(add(&stage, scope, List::Allow, "Bash(cargo test *)"), saved(false));
            assert_eq!(add(&stage, scope, List::Deny, "Bash(*)"), saved(false));
            assert_eq!(add(&stage, scope, List::Deny, "Bash"), saved(false));
            let expected = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(cargo test *)\"\n    ],\n    \"deny\": [\n      \"Bash(*)\"\n    ]\n  }\n}\n";
            assert_eq!(read(&stage, file), expected);
            assert!(!stage.path("work/.gitignore").exists() && !stage.path("work/.rsagent/.gitignore").exists());
        }
    }

    #[test]
    fn the_rest_of_a_file_stays_as_it_is() {
        let before = "{\n\t\"zeta\": 1,\n\t\"permissions\": {\n\t\t\"ask\": [],\n\t\t\"allow\": [\n\t\t\t\"Read\",\n\t\t\t\"Bash(*)\"\n\t\t],\n\t\t\"other\": null\n\t},\n\t\"alpha\": {\n\t\t\"b\": 2.5,\n\t\t\"a\": \"\\\\ 你\"\n\t}\n}";
        for ends in ["\n", "\r\n"] {
            let before = before.replace('\n', ends);
            let stage = Stage::new().with_text(USER, &before);
            add(&stage, Scope::User, List::Allow, "Write(/src/**)").unwrap();
            let grown = before.replace("\"Bash(*)\"", &format!("\"Bash(*)\",{ends}\t\t\t\"Write(/src/**)\""));
            assert_eq!(read(&stage, USER), grown);
            assert_eq!(remove(&stage, Origin::User, "Write(/src/**)"), Ok(vec![USER.into()]));
            assert_eq!(read(&stage, USER), before);
            // As a rule is shown, not only as it was written.
            assert_eq!(remove(&stage, Origin::User, "Bash"), Ok(vec![USER.into()]));
            assert_eq!(read(&stage, USER), before.replace(&format!(",{ends}\t\t\t\"Bash(*)\""), ""));
        }
    }

    #[test]
    fn a_rule_is_taken_out_of_every_file_of_its_layer() {
        let rules = json!({"permissions": {"allow": ["Bash(a)", "Bash(b)"]}});
        let files =
            ["home/.claude/settings.json", USER, "work/deep/.claude/settings.json", "work/.claude/settings.local.json"];
        let stage = files.iter().fold(Stage::new(), |stage, file| stage.with(file, &rules));
        assert_eq!(remove(&stage, Origin::User, "Bash(a)"), Ok(vec![files[0].into(), files[1].into()]));
        assert_eq!(remove(&stage, Origin::Project, "Bash(a)"), Ok(vec![files[2].into()]));
        assert_eq!(remove(&stage, Origin::Local, "Bash(a)"), Ok(vec![files[3].into()]));
        let left = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(b)\"\n    ]\n  }\n}";
        assert_eq!(files.map(|file| read(&stage, file)), [left; 4].map(|left| format!("{left}{}", "")));
        assert_eq!(
            remove(&stage, Origin::User, "Bash(a)").unwrap_err(),
            "rule Bash(a) is in no file of the user settings"
        );
        for (origin, name) in [(Origin::Managed, "managed settings"), (Origin::Session, "this session")] {
            let told = format!("rule Bash(b) is of the {name}, which cannot be changed here");
            assert_eq!(remove(&stage, origin, "Bash(b)").unwrap_err(), told);
        }
    }

    #[test]
    fn a_broken_file_is_not_touched() {
        for text in ["{\"permissions\": {\"allow\": \"x\"}}", "{\"a\": }", "{\"permissions\": {}, \"permissions\": {}}"]
        {
            let stage = Stage::new().with_text(USER, text);
            assert!(add(&stage, Scope::User, List::Allow, "Read").unwrap_err().starts_with(&format!("{USER}:1:")));
            assert!(remove(&stage, Origin::User, "Read").unwrap_err().starts_with(&format!("{USER}:1:")));
            assert_eq!(read(&stage, USER), text);
        }
        let stage = Stage::new();
        assert!(add(&stage, Scope::User, List::Allow, "Bash(").unwrap_err().starts_with("bad permission rule"));
        assert!(!stage.path(USER).exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_project_leads_nowhere_else() {
        for (link, target) in [("work/.rsagent", "home"), (LOCAL, "home/new.json")] {
            let stage = Stage::new();
            fs::create_dir_all(stage.path(link).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(stage.path(target), stage.path(link)).unwrap();
            let told = format!("{LOCAL} leads out of the project; remove the link");
            assert_eq!(add(&stage, Scope::Local, List::Allow, "Read").unwrap_err(), told);
            assert!(!stage.path("home/settings.local.json").exists() && !stage.path("home/new.json").exists());
        }
    }
}
