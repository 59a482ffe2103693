//! Owns where settings files are, lowest layer first, and reads them. Must not know what a layer may
//! set.

use std::path::{Path, PathBuf};

use kernel::Origin;
use serde_json::{Map, Value, json};

use super::error::SettingsError;
use super::file::{object, text, typed};
use crate::environment::Environment;

/// Which layers are looked at beside managed ones and flags: `--setting-sources`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    /// The user's own.
    pub user: bool,
    /// The working folder's.
    pub project: bool,
    /// The user's own in the project.
    pub local: bool,
}

impl Default for Sources {
    fn default() -> Self {
        Self { user: true, project: true, local: true }
    }
}

impl std::str::FromStr for Sources {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut sources = Self { user: false, project: false, local: false };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "user" => sources.user = true,
                "project" => sources.project = true,
                "local" => sources.local = true,
                _ => return Err(format!("unknown settings `{name}`; use user, project and local, apart by commas")),
            }
        }
        Ok(sources)
    }
}

/// The folders that a project's settings are in.
#[derive(Debug, Clone, Copy)]
pub struct Project<'a> {
    /// The working folder, absolute and resolved.
    pub cwd: &'a Path,
    /// The root of its repository, or the working folder again.
    pub root: &'a Path,
}

/// Where settings are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Where<'a> {
    /// The surroundings.
    pub environment: &'a Environment,
    /// The project; none where it does not matter.
    pub project: Option<Project<'a>>,
    /// `--settings`: a file, or an object.
    pub flag: Option<&'a str>,
    /// The layers.
    pub sources: Sources,
}

/// What a file says, as it stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// Its layer.
    pub origin: Origin,
    /// The file; `--settings` for an object on the command line.
    pub path: PathBuf,
    /// The folder that must be trusted before it may do more than narrow.
    pub(super) folder: Option<PathBuf>,
    pub(super) value: Map<String, Value>,
    /// Parts that were left out since they cannot be read.
    pub(super) faults: Vec<String>,
    /// Keys that mean nothing.
    pub(super) unknown: Vec<String>,
}

/// One place where a file may be.
struct Candidate {
    origin: Origin,
    path: PathBuf,
    folder: Option<PathBuf>,
}

const FILE: &str = "settings.json";
const LOCAL: &str = "settings.local.json";
/// Our folder's values go before those of Claude Code's.
const FOLDERS: [&str; 2] = [".claude", ".rsagent"];

/// The user's own file.
pub(super) fn user_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.settings_folder()?.join(FILE))
}

/// The user's file in the project.
pub(super) fn local_file(root: &Path) -> PathBuf {
    root.join(".rsagent").join(LOCAL)
}

/// The places of a layer's files, the less important first.
pub(super) fn files_of(at: &Where<'_>, origin: Origin) -> Vec<PathBuf> {
    let own = candidates(at).into_iter().filter(|candidate| candidate.origin == origin);
    own.map(|candidate| candidate.path).collect()
}

/// Reads every file that is there, lowest layer first.
pub(super) fn read_all(at: &Where<'_>) -> Result<Vec<Source>, SettingsError> {
    let mut sources: Vec<Source> = Vec::new();
    for candidate in candidates(at) {
        // In the home folder the user's and the project's file are one.
        let same = |source: &Source| same_file(&source.path, &candidate.path);
        if candidate.origin == Origin::Project && sources.iter().any(same) {
            continue;
        }
        sources.extend(read(candidate)?);
    }
    let managed = sources.iter().position(|source| source.origin == Origin::Managed).unwrap_or(sources.len());
    if let Some(flag) = flag(at)? {
        sources.insert(managed, flag);
    }
    Ok(sources)
}

fn candidates(at: &Where<'_>) -> Vec<Candidate> {
    let mut all = Vec::new();
    let mut add = |origin, path: Option<PathBuf>, folder: Option<&Path>| {
        all.extend(path.map(|path| Candidate { origin, path, folder: folder.map(Path::to_path_buf) }));
    };
    if at.sources.user {
        add(Origin::User, at.environment.claude_folder().map(|folder| folder.join(FILE)), None);
        add(Origin::User, user_file(at.environment), None);
    }
    if let Some(Project { cwd, root }) = at.project {
        for folder in FOLDERS.into_iter().filter(|_| at.sources.project) {
            add(Origin::Project, Some(cwd.join(folder).join(FILE)), Some(cwd));
        }
        for folder in FOLDERS.into_iter().filter(|_| at.sources.local) {
            add(Origin::Local, Some(root.join(folder).join(LOCAL)), Some(root));
        }
    }
    for folder in at.environment.managed_folders() {
        add(Origin::Managed, Some(folder.join("managed-settings.json")), None);
    }
    all
}

fn same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn flag(at: &Where<'_>) -> Result<Option<Source>, SettingsError> {
    let Some(given) = at.flag else { return Ok(None) };
    if given.trim_start().starts_with('{') {
        let fault = |fault: super::file::Fault| {
            SettingsError::Flag(format!("{}:{}: {}. Correct the text", fault.line, fault.column, fault.text))
        };
        let value = object(given).map_err(fault)?;
        let unknown = typed(given).map_err(fault)?.unknown_keys();
        let (path, faults) = ("--settings".into(), Vec::new());
        return Ok(Some(Source { origin: Origin::Flag, path, folder: None, value, faults, unknown }));
    }
    let path = at.project.map_or_else(|| given.into(), |project| project.cwd.join(given));
    let missing = || SettingsError::Flag(format!("there is no file {}. Name one, or give an object", path.display()));
    let read = read(Candidate { origin: Origin::Flag, path: path.clone(), folder: None })?;
    read.ok_or_else(missing).map(Some)
}

/// Reads one file. In a project's file a part of the wrong type is left out and said, since that can
/// only narrow; what it denies or asks is never left out.
fn read(candidate: Candidate) -> Result<Option<Source>, SettingsError> {
    let Candidate { origin, path, folder } = candidate;
    let shared = folder.is_some();
    let Some(text) = text(&path, shared)? else { return Ok(None) };
    let mut value = object(&text).map_err(|fault| fault.in_file(&path, shared))?;
    let mut faults = Vec::new();
    let settings = match typed(&text) {
        Ok(settings) => settings,
        Err(fault) if !shared => return Err(fault.in_file(&path, shared)),
        Err(fault) => {
            let denied = json!({"permissions": narrowing(&value).map_err(|()| fault.clone().in_file(&path, shared))?});
            typed(&denied.to_string()).map_err(|_| fault.clone().in_file(&path, shared))?;
            faults = salvage(&mut value, &path);
            // A key that stands there twice is no matter of types: one of the two would be lost.
            if faults.is_empty() {
                return Err(fault.in_file(&path, shared));
            }
            typed(&Value::Object(value.clone()).to_string()).map_err(|_| fault.in_file(&path, shared))?
        }
    };
    let unknown = settings.unknown_keys();
    Ok(Some(Source { origin, path, folder, value, faults, unknown }))
}

/// The part of settings that can only narrow. An error where `permissions` is no object.
fn narrowing(value: &Map<String, Value>) -> Result<Map<String, Value>, ()> {
    match value.get("permissions") {
        None => Ok(Map::new()),
        Some(Value::Object(permissions)) => Ok(super::narrow::narrowing(permissions)),
        Some(_) => Err(()),
    }
}

/// Takes out what has the wrong type, key by key, and says so.
fn salvage(value: &mut Map<String, Value>, path: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let mut keep = |name: &str, alone: Value| match typed(&alone.to_string()) {
        Ok(_) => true,
        Err(fault) => {
            let what = fault.text.split_once("`: ").map_or(fault.text.as_str(), |(_, what)| what);
            faults.push(format!("{}: `{name}` is left out: {what}", path.display()));
            false
        }
    };
    if let Some(Value::Object(permissions)) = value.get_mut("permissions") {
        permissions.retain(|key, part| keep(&format!("permissions.{key}"), json!({"permissions": {key: part}})));
    }
    value.retain(|key, part| key == "permissions" || keep(key, json!({ key: part })));
    faults
}
