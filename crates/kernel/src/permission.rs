//! Owns the one answer to "may this call happen?": rules, modes and the chain, all pure.
//! Must not know how a tool reads its input, nor who is asked (that is [`crate::gate`]).

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantArray};

/// How much may happen without a question. A deny rule holds in every mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, Display, EnumString, VariantArray)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum Mode {
    /// What only reads runs; the rest is asked.
    #[default]
    Default,
    /// Also edits of files inside the workspace run.
    AcceptEdits,
    /// Only what reads runs; the rest is denied without a question.
    Plan,
    /// Everything runs that no deny or ask rule stops.
    BypassPermissions,
    /// As in default mode, but what would be asked is denied.
    DontAsk,
}

/// Where a rule came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display)]
pub enum Origin {
    /// The built-in list.
    #[strum(to_string = "built-in list")]
    BuiltIn,
    /// The settings file of whoever runs the machine.
    #[strum(to_string = "managed settings")]
    Managed,
    /// The user's settings file.
    #[strum(to_string = "user settings")]
    User,
    /// The project's settings file.
    #[strum(to_string = "project settings")]
    Project,
    /// The user's own settings file in the project.
    #[strum(to_string = "local settings")]
    Local,
    /// A flag of this run.
    #[strum(to_string = "command line")]
    Flag,
    /// An answer *always* in this session.
    #[strum(to_string = "this session")]
    Session,
}

/// `Tool` or `Tool(pattern)`. What a pattern means is the tool's affair; none means every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The tool's name.
    pub tool: String,
    /// The text between the parentheses; `None` for `Tool`, `Tool()` and `Tool(*)`.
    pub pattern: Option<String>,
    /// Where it came from.
    pub origin: Origin,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            None => f.write_str(&self.tool),
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
        }
    }
}

/// The rules in force. Order within a list does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// What runs without a question when every part of it is covered.
    pub allow: Vec<Rule>,
    /// What is asked even in bypass mode.
    pub ask: Vec<Rule>,
    /// What never runs.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Whether a deny rule takes the whole tool away, so that the model need not be told of it.
    pub fn removes(&self, tool: &str) -> bool {
        whole(&self.deny, tool).is_some()
    }
}

fn whole<'a>(rules: &'a [Rule], tool: &str) -> Option<&'a Rule> {
    rules.iter().find(|rule| rule.pattern.is_none() && names(&rule.tool, tool))
}

/// Whether a name, in which `*` stands for any text, is that of the tool.
fn names(name: &str, tool: &str) -> bool {
    let Some((head, rest)) = name.split_once('*') else { return name == tool };
    let Some(after) = tool.strip_prefix(head) else { return false };
    (0..=after.len()).any(|at| after.get(at..).is_some_and(|after| names(rest, after)))
}

/// Where a call happens. Roots are fixed by the user at start; the working folder is no grant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The workspace, absolute and resolved: the first is its root, the rest were added by flag.
    pub roots: Vec<PathBuf>,
    /// The home folder, where known.
    pub home: Option<PathBuf>,
    /// Whether the user trusts the workspace: if not, nothing that it configures may be obeyed.
    pub trusted: bool,
}

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It changes files, all inside the workspace.
    EditsWorkspace,
    /// Anything else, and everything that could not be told.
    #[default]
    Other,
}

/// What bears on one call: the tool's finding of fact, which the chain turns into a decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Judgement {
    /// The deny rule that matches.
    pub deny: Option<Rule>,
    /// Why a deny rule of the user (not the built-in list) may match although that cannot be known.
    pub uncertain: Option<String>,
    /// The ask rule that matches.
    pub ask: Option<Rule>,
    /// A protected or credential path that the call touches and that no rule names.
    pub guarded: Option<String>,
    /// Whether allow rules cover every part.
    pub covered: bool,
    /// What the call does.
    pub effect: Effect,
    /// Why it has that effect, in words a person understands.
    pub reason: String,
    /// The exact rules that would cover the call; shown, and granted by *always*.
    pub suggestions: Vec<Rule>,
}

impl Judgement {
    /// Nothing is known: it is asked.
    pub fn unjudged() -> Self {
        Self { reason: "what this does is not known before it runs".into(), ..Self::default() }
    }

    /// The same for a tool that cannot tell what a pattern of the user means for this call.
    pub fn unjudged_under(tool: &str, rules: &Rules) -> Self {
        let pattern = rules
            .deny
            .iter()
            .find(|rule| rule.tool == tool && rule.pattern.is_some() && rule.origin != Origin::BuiltIn);
        let uncertain = pattern.map(|rule| format!("whether {rule} matches is not known"));
        Self { uncertain, ..Self::unjudged() }
    }

    /// The same with the rules that speak for the whole tool.
    pub fn with_whole_tool_rules(mut self, tool: &str, rules: &Rules) -> Self {
        self.deny = self.deny.or_else(|| whole(&rules.deny, tool).cloned());
        self.ask = self.ask.or_else(|| whole(&rules.ask, tool).cloned());
        self.covered |= whole(&rules.allow, tool).is_some();
        self
    }
}

/// The chain's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It may run.
    Allow,
    /// It may not, and why.
    Deny(String),
    /// A person decides; the reason is for them.
    Ask(String),
}

/// The permission chain, in its fixed order. The only place that answers "may this happen?".
pub fn decide(mode: Mode, judgement: &Judgement) -> Decision {
    let ask = |reason: String| match mode {
        Mode::DontAsk => Decision::Deny(format!("mode {mode} never asks: {reason}")),
        _ => Decision::Ask(reason),
    };
    let read_only = judgement.effect == Effect::ReadOnly;
    if let Some(rule) = &judgement.deny {
        return Decision::Deny(format!("denied by rule {rule} ({})", rule.origin));
    }
    if mode == Mode::Plan && !read_only {
        return Decision::Deny(format!("plan mode only reads: {}", judgement.reason));
    }
    if let Some(reason) = &judgement.uncertain {
        return ask(format!("a deny rule cannot be ruled out: {reason}"));
    }
    if let Some(rule) = &judgement.ask {
        return ask(format!("rule {rule} ({}) asks", rule.origin));
    }
    if mode == Mode::BypassPermissions {
        return Decision::Allow;
    }
    if let Some(path) = &judgement.guarded {
        return ask(format!("{path} is protected"));
    }
    let edits = mode == Mode::AcceptEdits && judgement.effect == Effect::EditsWorkspace;
    if judgement.covered || read_only || edits {
        return Decision::Allow;
    }
    ask(judgement.reason.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, pattern: Option<&str>, origin: Origin) -> Rule {
        Rule { tool: tool.into(), pattern: pattern.map(Into::into), origin }
    }

    /// Each line: what is found, and what the modes make of it.
    #[test]
    fn the_chain_in_order() {
        let base = Judgement { reason: "it writes".into(), ..Judgement::unjudged() };
        let deny = Some(rule("Bash", Some("rm *"), Origin::User));
        let read = Judgement { effect: Effect::ReadOnly, ..base.clone() };
        let edit = Judgement { effect: Effect::EditsWorkspace, ..base.clone() };
        let table = [
            (Judgement { deny, covered: true, ..read.clone() }, "deny deny deny deny deny"),
            (Judgement { covered: true, ..base.clone() }, "allow allow deny allow allow"),
            (Judgement { uncertain: Some("x".into()), ..read.clone() }, "ask ask ask ask deny"),
            (
                Judgement { ask: Some(rule("Bash", None, Origin::User)), covered: true, ..base.clone() },
                "ask ask deny ask deny",
            ),
            (Judgement { guarded: Some(".git".into()), covered: true, ..edit.clone() }, "ask ask deny allow deny"),
            (Judgement { guarded: Some("~/.ssh".into()), ..read.clone() }, "ask ask ask allow deny"),
            (read, "allow allow allow allow allow"),
            (edit, "ask allow deny allow deny"),
            (base, "ask ask deny allow deny"),
        ];
        for (judgement, expected) in table {
            let words: Vec<&str> = Mode::VARIANTS
                .iter()
                .map(|mode| match decide(*mode, &judgement) {
                    Decision::Allow => "allow",
                    Decision::Deny(_) => "deny",
                    Decision::Ask(_) => "ask",
                })
                .collect();
            assert_eq!(words.join(" "), expected, "{judgement:?}");
        }
    }

    #[test]
    fn whole_tool_rules_need_no_help_from_the_tool() {
        let rules = Rules {
            allow: vec![rule("Bash", None, Origin::Flag)],
            ask: vec![rule("Bash", Some("x"), Origin::User)],
            deny: vec![rule("Bash", None, Origin::BuiltIn)],
        };
        let judgement = Judgement::unjudged().with_whole_tool_rules("Bash", &rules);
        assert_eq!(judgement.deny, Some(rule("Bash", None, Origin::BuiltIn)));
        assert_eq!((judgement.ask, judgement.covered), (None, true));
        assert!(rules.removes("Bash") && !rules.removes("Read"));
    }
}
