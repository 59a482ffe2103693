//! Owns what a command line was found to be, part by part, for a person who wants to know why it may run or not.
//! Must not know decisions or how they are shown.

use host::git::Probe;
use kernel::{Place, Rule, Rules};
use serde::Serialize;
use shell::matching::{Pattern, candidate, covers, denies};
use shell::{Access, Analysis, FileAccess, SimpleCommand, Target, Verdict};

use super::judge::{analysis, patterns};

/// Everything that the judgement of a command line rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Each command that it can run, in the order of the text.
    pub parts: Vec<Part>,
    /// Each file that it visibly reads or writes.
    pub files: Vec<File>,
    /// What only the run can tell, and why.
    pub unknown: Vec<String>,
    /// Why no rule can cover it as a whole, where that is so.
    pub opaque: Option<String>,
}

/// One command, as rules see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its words after quote removal; empty for a redirection, an assignment or a definition.
    pub command: String,
    /// The commands around it that run it, outermost first.
    pub under: Vec<String>,
    /// Why it does not only read; `None` where it does.
    pub not_read_only: Option<String>,
    /// Why no allow rule can cover it; `None` where one can.
    pub uncoverable: Option<String>,
    /// The deny rule that means it, with where it comes from.
    pub denied_by: Option<String>,
    /// The ask rule that means it.
    pub asked_by: Option<String>,
    /// The allow rule that covers it.
    pub allowed_by: Option<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// `reads` or `writes`.
    pub access: &'static str,
    /// Its path, a glob, or why it is not known.
    pub path: String,
}

/// Takes a command line apart under these rules. Runs nothing.
pub fn explain(command: &str, rules: &Rules, place: &Place) -> Explanation {
    let analysis = analysis(command, place, &Probe::default());
    Explanation {
        parts: analysis.commands.iter().filter(|part| !part.guess).map(|command| part(command, rules)).collect(),
        files: analysis.files.iter().map(file).collect(),
        unknown: analysis.unknown.iter().map(|unknown| unknown.reason.clone()).collect(),
        opaque: analysis.opaque,
    }
}

fn part(command: &SimpleCommand, rules: &Rules) -> Part {
    // Deny and ask rules are matched against a whole text; here this one command is all of it.
    let alone = Analysis {
        commands: vec![command.clone()],
        files: Vec::new(),
        unknown: Vec::new(),
        opaque: None,
        verdict: command.verdict.clone(),
    };
    let first = |list: &[Rule], means: &dyn Fn(&Pattern) -> bool| {
        let rule = patterns(list).find(|(_, pattern)| means(pattern)).map(|(rule, _)| rule);
        let whole = list.iter().find(|rule| rule.tool == "Bash" && rule.pattern.is_none());
        rule.or(whole).map(|rule| format!("{rule} ({})", rule.origin))
    };
    Part {
        command: candidate(&command.words),
        under: command.wrappers.iter().map(|wrapper| wrapper.name.clone()).collect(),
        not_read_only: match &command.verdict {
            Verdict::ReadOnly => None,
            Verdict::NotReadOnly { reason } => Some(reason.clone()),
        },
        uncoverable: command.uncoverable.clone(),
        denied_by: first(&rules.deny, &|pattern| denies(pattern, &alone)),
        asked_by: first(&rules.ask, &|pattern| denies(pattern, &alone)),
        allowed_by: first(&rules.allow, &|pattern| covers(pattern, command)),
    }
}

fn file(file: &FileAccess) -> File {
    let access = match file.access {
        Access::Read => "reads",
        Access::Write => "writes",
    };
    let path = match &file.target {
        Target::Path(path) if file.tree => format!("{}/**", path.display().to_string().trim_end_matches('/')),
        Target::Path(path) => path.display().to_string(),
        Target::Glob { pattern, .. } => pattern.clone(),
        Target::Unknown { reason } => reason.clone(),
    };
    File { access, path }
}
