//! The permission corpus: each case is judged by its tool and decided by the chain, in folders of its own.
//! The format is in `tests/permissions/README.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use kernel::{Mode, Origin, Place, Rule, Rules};
use serde::Deserialize;
use serde_json::Value;

use crate::support::{World, tool_or, word};

const CASES: &str = include_str!("../permissions/permissions.jsonl");
/// Differences that are known: reason to ids. What is listed and passes is a failure too.
const EXCEPTIONS: &str = include_str!("../permissions/exceptions.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    group: String,
    mode: String,
    allow: Vec<String>,
    deny: Vec<String>,
    tool: String,
    input: Value,
    expect: String,
    accept: Option<Vec<String>>,
    #[serde(default = "somebody")]
    ask_channel: bool,
    #[serde(default = "workspace")]
    cwd: String,
    #[serde(default)]
    setup: Vec<Vec<String>>,
    why: String,
}

fn somebody() -> bool {
    true
}

fn workspace() -> String {
    "@ROOT@".into()
}

/// The three numbers, worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fault {
    WrongAllow,
    NeedlessQuestion,
    Other,
}

impl Case {
    fn accepts(&self, decision: &str) -> bool {
        match &self.accept {
            Some(all) => all.iter().any(|one| one == decision),
            None => self.expect == decision,
        }
    }

    fn fault(&self, decision: &str) -> Option<Fault> {
        match (self.accepts(decision), decision, self.group.as_str()) {
            (true, _, _) => None,
            (false, "allow", _) => Some(Fault::WrongAllow),
            (false, _, "everyday" | "denynomatch") => Some(Fault::NeedlessQuestion),
            (false, _, _) => Some(Fault::Other),
        }
    }

    /// What the product decides: the tool's judgement, and the chain over it.
    fn decide(&self) -> (&'static str, String) {
        let world = World::new();
        make(&self.setup, &world);
        let fill = |text: &str| {
            text.replace("@ROOT@", &world.root.to_string_lossy()).replace("@HOME@", &world.home.to_string_lossy())
        };
        let place = Place { cwd: PathBuf::from(fill(&self.cwd)), ..world.place() };
        let parse = |list: &[String]| -> Vec<Rule> {
            list.iter().map(|text| tools::rules::grammar::parse(&fill(text), Origin::User).unwrap()).collect()
        };
        let rules = Rules { allow: parse(&self.allow), ask: Vec::new(), deny: parse(&self.deny) };
        let mut input = self.input.clone();
        for value in input.as_object_mut().unwrap().values_mut() {
            if let Value::String(text) = value {
                *text = fill(text);
            }
        }
        // A tool that changes files in another way is judged by the same rules.
        let tool = tool_or(&self.tool, "Write");
        if tool.name() != self.tool {
            input = serde_json::json!({"file_path": input["file_path"], "content": ""});
        }
        // What the tool cannot take is never asked about and never runs.
        if let Err(reason) = tool.check(&input) {
            return ("deny", reason);
        }
        let judgement = tool.judge(&input, &rules, &place).with_whole_tool_rules(tool.name(), &rules);
        let decision = match word(self.mode.parse::<Mode>().unwrap(), &judgement) {
            "ask" if !self.ask_channel => "deny",
            decision => decision,
        };
        (decision, judgement.uncertain.unwrap_or(judgement.reason))
    }
}

/// Carries out the steps in the folders of `world`.
fn make(steps: &[Vec<String>], world: &World) {
    let below = |folder: &Path, name: &str| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    };
    let (root, home, outside) = (&world.root, &world.home, &world.outside);
    for step in steps {
        let words: Vec<&str> = step.iter().map(String::as_str).collect();
        match words[..] {
            ["file", path] => fs::write(below(root, path), "a\n").unwrap(),
            ["dir", path] => fs::create_dir_all(below(root, path)).unwrap(),
            ["link", path, target] => symlink(target, below(root, path)).unwrap(),
            ["hardlink", path, target] => fs::hard_link(root.join(target), below(root, path)).unwrap(),
            ["homefile", path] => fs::write(below(home, path), "a\n").unwrap(),
            ["homelink", path, target] => symlink(home.join(target), below(root, path)).unwrap(),
            ["outfile", path] => fs::write(below(outside, path), "a\n").unwrap(),
            ["outdir", path] => fs::create_dir_all(below(outside, path)).unwrap(),
            ["outlink", path, target] => symlink(outside.join(target), below(root, path)).unwrap(),
            _ => panic!("no such step: {step:?}"),
        }
    }
}

#[test]
fn every_case_is_decided_as_it_should_be() {
    let exceptions: BTreeMap<String, Vec<String>> = serde_json::from_str(EXCEPTIONS).unwrap();
    let listed: Vec<&String> = exceptions.values().flatten().collect();
    let mut faults: Vec<(Fault, Case, &str, String)> = Vec::new();
    let mut cases = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        cases += 1;
        let (decision, reason) = case.decide();
        if let Some(fault) = case.fault(decision) {
            faults.push((fault, case, decision, reason));
        }
    }
    faults.sort_by_key(|(fault, ..)| *fault);
    let count = |kind| faults.iter().filter(|(fault, ..)| *fault == kind).count();
    let wrong_allows = count(Fault::WrongAllow);
    println!(
        "{cases} cases: {wrong_allows} wrong allows, {} wrong asks or denies of everyday commands, {} others; {} are listed",
        count(Fault::NeedlessQuestion),
        count(Fault::Other),
        listed.len(),
    );
    let mut report = String::new();
    for (fault, case, decision, reason) in &faults {
        if *fault == Fault::WrongAllow || !listed.contains(&&case.id) {
            let Case { id, mode, allow, deny, input, expect, why, .. } = case;
            writeln!(report, "{fault:?} {id} [{mode}] allow {allow:?} deny {deny:?}: {input}").unwrap();
            writeln!(report, "    {decision}, not {expect} ({why}): {reason}").unwrap();
        }
    }
    let stale: Vec<_> = listed.iter().filter(|id| !faults.iter().any(|(_, case, ..)| case.id == ***id)).collect();
    if !stale.is_empty() {
        writeln!(report, "listed in exceptions.json and right, or no case: {stale:?}").unwrap();
    }
    assert_eq!(report, "", "differences");
}
