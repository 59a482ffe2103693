//! Owns `rsagent permissions test`: why a command line may run or not, and files of cases. Must not know how a decision
//! is made.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use harness::cases::{self, Fault, Outcome};
use harness::settings::FlagRules;
use harness::{Environment, Explained, Session, SessionConfig};
use kernel::{Decision, Mode, Rule};
use serde_json::json;

use crate::args::{Format, PermissionTest};
use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::texts::{Texts, fill};

/// Runs the subcommand.
pub fn run(environment: &Environment, test: &PermissionTest) -> anyhow::Result<Exit> {
    if let Some(path) = &test.cases {
        return run_cases(path, test.format);
    }
    let session = Session::open(SessionConfig {
        environment: environment.clone(),
        cwd: std::env::current_dir().context("the working folder is gone; go to one that exists")?,
        // No model is asked, so no key is needed.
        provider: Some("mock".into()),
        mode: test.mode,
        rules: FlagRules { allow: test.allowed_tools.clone(), deny: test.disallowed_tools.clone() },
        ..SessionConfig::default()
    })?;
    let command = test.command.as_deref().unwrap_or("");
    let explained = session.explain(command);
    let mut out = io::stdout().lock();
    match test.format {
        Format::Json => writeln!(out, "{}", object(command, session.mode(), &explained))?,
        Format::Text => {
            let texts = Texts::of(environment)?;
            for line in lines(&texts, session.mode(), &explained) {
                writeln!(out, "{}", sanitize(&line))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// The decision in one word.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Deny(_) => "deny",
        Decision::Ask(_) => "ask",
    }
}

fn object(command: &str, mode: Mode, explained: &Explained) -> serde_json::Value {
    let decision = word(&explained.decision);
    let rules: Vec<String> = explained.suggestions.iter().map(Rule::to_string).collect();
    json!({
        "command": command, "mode": mode, "decision": decision, "reason": explained.reason,
        "parts": explained.parts.parts, "files": explained.parts.files, "unknown": explained.parts.unknown,
        "opaque": explained.parts.opaque, "rulesThatWouldAllow": rules,
    })
}

fn lines(texts: &Texts, mode: Mode, explained: &Explained) -> Vec<String> {
    let verdict = match explained.decision {
        Decision::Allow => &texts.test_allow,
        Decision::Deny(_) => &texts.test_deny,
        Decision::Ask(_) => &texts.test_ask,
    };
    let mut lines = vec![fill(verdict, &[("mode", &mode), ("reason", &texts.reason(&explained.reason))])];
    if let Some(reason) = &explained.parts.opaque {
        lines.push(fill(&texts.test_opaque, &[("reason", &texts.reason(reason))]));
    }
    for part in &explained.parts.parts {
        // What is no command is said by its reason alone.
        let command = if part.command.is_empty() { "–" } else { &part.command };
        lines.push(format!("  {command}"));
        let mut say = |template: &str, value: &str| lines.push(format!("    {}", fill(template, &[("value", &value)])));
        if !part.under.is_empty() {
            say(&texts.test_under, &part.under.join(" "));
        }
        match &part.not_read_only {
            None => say(&texts.test_reads, ""),
            Some(reason) => say(&texts.test_effect, &texts.reason(reason)),
        }
        let rules = [
            (&texts.test_denied_by, &part.denied_by),
            (&texts.test_asked_by, &part.asked_by),
            (&texts.test_allowed_by, &part.allowed_by),
            (&texts.test_uncoverable, &part.uncoverable),
        ];
        for (template, value) in rules {
            if let Some(value) = value {
                say(template, &texts.reason(value));
            }
        }
    }
    for file in &explained.parts.files {
        let template = if file.access == "reads" { &texts.test_file_read } else { &texts.test_file_written };
        lines.push(format!("  {}", fill(template, &[("path", &texts.reason(&file.path))])));
    }
    for unknown in &explained.parts.unknown {
        lines.push(format!("  {}", fill(&texts.test_unknown, &[("reason", &texts.reason(unknown))])));
    }
    if explained.decision != Decision::Allow {
        lines.push(match explained.suggestions.is_empty() {
            true => texts.test_no_rule.clone(),
            false => {
                let rules: Vec<String> = explained.suggestions.iter().map(Rule::to_string).collect();
                fill(&texts.test_rules, &[("rules", &rules.join("  "))])
            }
        });
    }
    lines
}

fn run_cases(path: &Path, format: Format) -> anyhow::Result<Exit> {
    let outcomes = cases::run(path)?;
    let mut out = io::stdout().lock();
    for Outcome { id, decision, reason, fault } in &outcomes {
        match format {
            Format::Json => writeln!(out, "{}", json!({"id": id, "decision": decision}))?,
            Format::Text => {
                if let Some(fault) = fault {
                    let line = format!("{id}: {} ({}): {reason}", json!(decision), name(*fault));
                    writeln!(out, "{}", sanitize(&line))?;
                }
            }
        }
    }
    let count = |wanted| outcomes.iter().filter(|outcome| outcome.fault == Some(wanted)).count();
    let (allows, asks, others) = (count(Fault::WrongAllow), count(Fault::WrongAsk), count(Fault::Other));
    writeln!(
        out,
        "{}",
        json!({"cases": outcomes.len(), "wrongAllows": allows, "wrongAsks": asks, "otherFailures": others})
    )?;
    Ok(if allows + asks + others == 0 { Exit::Success } else { Exit::Failure })
}

fn name(fault: Fault) -> &'static str {
    match fault {
        Fault::WrongAllow => "wrong allow",
        Fault::WrongAsk => "needless question",
        Fault::Other => "other failure",
    }
}
