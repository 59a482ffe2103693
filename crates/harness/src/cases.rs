//! Owns files of permission cases, so that a team can keep tests beside its rules: one call a line, the rules in force,
//! and the decision that is wanted. Must not know how results are shown.
//!
//! Each case is judged in a workspace and a home folder of its own, by the same tools and the same chain as a real
//! call. The built-in deny list does not count, and nothing is run.

use std::io;
use std::path::{Path, PathBuf};

use kernel::{Decision, Mode, Origin, Place, Rule, Rules, ToolPool, decide, gate};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use thiserror::Error;

/// A case as it stands in the file. `@ROOT@` and `@HOME@` in any text are the workspace and the home folder.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    /// Only needed to tell needless questions apart.
    #[serde(default)]
    group: String,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    tool: String,
    input: Value,
    /// The decision that is wanted; without one the case is decided and not counted.
    expect: Option<Word>,
    /// All that pass, where it is more than one.
    #[serde(default)]
    accept: Vec<Word>,
    /// Whether somebody can be asked.
    ask_channel: Option<bool>,
    cwd: Option<PathBuf>,
    /// What is made beforehand: `["file", PATH]`, `["link", PATH, TARGET]` and so on.
    #[serde(default)]
    setup: Vec<Vec<String>>,
}

/// A decision in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// It runs.
    Allow,
    /// It does not.
    Deny,
    /// A person is asked.
    Ask,
}

/// What became of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its name.
    pub id: String,
    /// What the chain said.
    pub decision: Word,
    /// Why, in words.
    pub reason: String,
    /// How it differs from what is wanted.
    pub fault: Option<Fault>,
}

/// Differences by how much they matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It would run and must not.
    WrongAllow,
    /// An everyday call, or one that a deny rule does not mean, would not simply run.
    WrongAsk,
    /// Anything else.
    Other,
}

/// Groups of calls that must never be in anybody's way.
const NEVER_IN_THE_WAY: [&str; 2] = ["everyday", "denynomatch"];

/// Why a file of cases could not be run.
#[derive(Debug, Error)]
pub enum CaseError {
    /// A line is no case.
    #[error("{path}:{line}: {fault}. Each line is one JSON object with at least id, tool and input")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        fault: String,
    },
    /// Files could not be read or made.
    #[error("{path}: {fault}")]
    System {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        fault: io::Error,
    },
}

/// Decides every case of a file, in order.
pub fn run(path: &Path) -> Result<Vec<Outcome>, CaseError> {
    let text = std::fs::read_to_string(path).map_err(|fault| CaseError::System { path: path.into(), fault })?;
    let tools = ToolPool::new(tools::builtin(Vec::new(), &[], &tools::sandbox::Jail::default()));
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let malformed = |fault| CaseError::Malformed { path: path.into(), line: at + 1, fault };
            let world = World::new().map_err(|fault| CaseError::System { path: std::env::temp_dir(), fault })?;
            let value = serde_json::from_str(line).map_err(|fault| malformed(fault.to_string()))?;
            let case = serde_json::from_value(world.filled(value)).map_err(|fault| malformed(fault.to_string()))?;
            judge(case, &world, &tools).map_err(malformed)
        })
        .collect()
}

fn judge(case: Case, world: &World, tools: &ToolPool) -> Result<Outcome, String> {
    for step in &case.setup {
        world.make(step).map_err(|fault| format!("setup {step:?}: {fault}"))?;
    }
    let parse = |texts: &[String]| -> Result<Vec<Rule>, String> {
        texts.iter().map(|text| tools::rules::grammar::parse(text, Origin::User)).collect()
    };
    let rules = Rules { allow: parse(&case.allow)?, ask: parse(&case.ask)?, deny: parse(&case.deny)? };
    let place = Place {
        cwd: case.cwd.unwrap_or_else(|| world.root.clone()),
        roots: vec![world.root.clone()],
        home: Some(world.home.clone()),
        trusted: true,
    };
    // Whatever changes a file is judged alike.
    let (name, input) = match case.tool.as_str() {
        "Write" | "Edit" => ("Write", json!({"file_path": case.input["file_path"], "content": ""})),
        other => (other, case.input),
    };
    let tool = tools.get(name).ok_or_else(|| format!("there is no tool {name:?}"))?;
    let judgement = gate::judge(&**tool, &input, &rules, &place);
    let (decision, reason) = match decide(case.mode, &judgement) {
        Decision::Allow => (Word::Allow, judgement.reason),
        Decision::Deny(reason) => (Word::Deny, reason),
        Decision::Ask(reason) if case.ask_channel == Some(false) => (Word::Deny, reason),
        Decision::Ask(reason) => (Word::Ask, reason),
    };
    let wanted = if case.accept.is_empty() { Vec::from_iter(case.expect) } else { case.accept };
    let fault = match (wanted.is_empty() || wanted.contains(&decision), decision) {
        (true, _) => None,
        (false, Word::Allow) => Some(Fault::WrongAllow),
        (false, _) if NEVER_IN_THE_WAY.contains(&case.group.as_str()) => Some(Fault::WrongAsk),
        (false, _) => Some(Fault::Other),
    };
    Ok(Outcome { id: case.id, decision, reason, fault })
}

/// The folders of one case, removed with it.
struct World {
    root: PathBuf,
    home: PathBuf,
    outside: PathBuf,
    _folder: TempDir,
}

impl World {
    fn new() -> io::Result<Self> {
        let folder = TempDir::new()?;
        // The workspace's own path holds no link.
        let top = folder.path().canonicalize()?;
        let [root, home, outside] = ["work", "home", "outside"].map(|name| top.join(name));
        for path in [&root, &home, &outside] {
            std::fs::create_dir(path)?;
        }
        Ok(Self { root, home, outside, _folder: folder })
    }

    /// The same value with the folders' paths in every text.
    fn filled(&self, value: Value) -> Value {
        match value {
            Value::String(text) => {
                let text = text.replace("@ROOT@", &self.root.to_string_lossy());
                Value::String(text.replace("@HOME@", &self.home.to_string_lossy()))
            }
            Value::Array(items) => items.into_iter().map(|item| self.filled(item)).collect(),
            Value::Object(map) => map.into_iter().map(|(key, item)| (key, self.filled(item))).collect(),
            other => other,
        }
    }

    /// Carries out one step of `setup`.
    fn make(&self, step: &[String]) -> io::Result<()> {
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        match step.as_slice() {
            ["file", path] => file(&self.root.join(path)),
            ["dir", path] => std::fs::create_dir_all(self.root.join(path)),
            ["link", path, target] => link(Path::new(target), &self.root.join(path)),
            ["hardlink", path, target] => {
                let path = self.root.join(path);
                above(&path)?;
                std::fs::hard_link(self.root.join(target), path)
            }
            ["homefile", path] => file(&self.home.join(path)),
            ["homelink", path, target] => link(&self.home.join(target), &self.root.join(path)),
            ["outfile", path] => file(&self.outside.join(path)),
            ["outdir", path] => std::fs::create_dir_all(self.outside.join(path)),
            ["outlink", path, target] => link(&self.outside.join(target), &self.root.join(path)),
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no such step")),
        }
    }
}

fn above(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)
}

fn file(path: &Path) -> io::Result<()> {
    above(path)?;
    std::fs::write(path, "content\n")
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> io::Result<()> {
    above(path)?;
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_target: &Path, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(lines: &str) -> Result<Vec<(String, Word, Option<Fault>)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cases.jsonl");
        std::fs::write(&path, lines).unwrap();
        let outcomes = run(&path).map_err(|fault| fault.to_string().replace(&path.display().to_string(), "FILE"))?;
        Ok(outcomes.into_iter().map(|outcome| (outcome.id, outcome.decision, outcome.fault)).collect())
    }

    #[test]
    fn cases_are_decided_and_differences_told_apart() {
        let lines = r#"{"id": "a", "group": "everyday", "tool": "Bash", "input": {"command": "ls"}, "expect": "allow"}
            {"id": "b", "group": "everyday", "tool": "Bash", "input": {"command": "touch x"}, "expect": "allow"}
            {"id": "c", "tool": "Bash", "input": {"command": "ls"}, "expect": "deny"}
            {"id": "d", "tool": "Bash", "deny": ["Bash(ls *)"], "input": {"command": "ls"}, "expect": "ask"}

            {"id": "e", "tool": "Bash", "input": {"command": "touch x"}, "ask_channel": false, "expect": "deny"}
            {"id": "f", "tool": "Bash", "input": {"command": "touch x"}}
            {"id": "g", "tool": "Edit", "mode": "acceptEdits", "input": {"file_path": "@ROOT@/in"}, "expect": "ask",
             "accept": ["ask", "deny"], "setup": [["homefile", "f"], ["homelink", "in", "f"]]}"#
            .replace("\n             ", "");
        let given = outcomes(&lines).unwrap();
        let expected = [
            ("a", Word::Allow, None),
            ("b", Word::Ask, Some(Fault::WrongAsk)),
            ("c", Word::Allow, Some(Fault::WrongAllow)),
            ("d", Word::Deny, Some(Fault::Other)),
            ("e", Word::Deny, None),
            ("f", Word::Ask, None),
            ("g", Word::Ask, None),
        ];
        assert_eq!(given, expected.map(|(id, word, fault)| (id.to_owned(), word, fault)));
    }

    #[test]
    fn a_line_that_is_no_case_is_named() {
        let hint = ". Each line is one JSON object with at least id, tool and input";
        for (lines, fault) in [
            ("\n{}", "FILE:2: missing field `id`"),
            (r#"{"id": "a", "tool": "Nope", "input": {}}"#, "FILE:1: there is no tool \"Nope\""),
            (
                r#"{"id": "a", "tool": "Read", "input": {}, "setup": [["pipe", "x"]]}"#,
                "FILE:1: setup [\"pipe\", \"x\"]: there is no such step",
            ),
        ] {
            assert_eq!(outcomes(lines).unwrap_err(), format!("{fault}{hint}"));
        }
    }
}
