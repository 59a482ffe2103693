//! Rules against commands. Owns what a pattern means for denying and for allowing; draws no decision and knows nothing of
//! modes, scopes or where a rule comes from.
//!
//! Denying is generous (any spelling, any layer, any order of options), allowing is strict (exactly this text).

mod equivalence;
mod glob;

use crate::analysis::{Analysis, SimpleCommand, What, Word};
use crate::programs::options;
use crate::programs::table::table;

/// The pattern in `Bash(pattern)`; words are joined by single spaces, `x:*` is kept as `x *`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

impl Pattern {
    /// A pattern as it stands between the parentheses of a rule; an empty one matches everything.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = match text.strip_suffix(":*") {
            Some(stem) => format!("{stem} *"),
            None if text.is_empty() => "*".to_owned(),
            None => text,
        };
        Self { text }
    }

    /// The pattern of a rule `Bash` or `Bash(…)`; `None` for a rule about another tool.
    #[must_use]
    pub fn from_rule(rule: &str) -> Option<Self> {
        let rest = rule.trim().strip_prefix("Bash")?;
        if rest.is_empty() {
            return Some(Self::new(""));
        }
        rest.strip_prefix('(')?.strip_suffix(')').map(Self::new)
    }

    /// Whether it speaks of every command, and so of the tool as a whole.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.text == "*"
    }

    /// The normalised text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The text that rules see: words joined by single spaces, quotes removed, unknown parts as written.
#[must_use]
pub fn candidate(words: &[Word]) -> String {
    words.iter().map(Word::shown).collect::<Vec<_>>().join(" ")
}

/// Whether a deny rule hits: any command, by the last part of its name, under any wrapper and each wrapper itself, its
/// options in any order and spelling that means the same.
#[must_use]
pub fn denies(pattern: &Pattern, analysis: &Analysis) -> bool {
    pattern.is_everything() || analysis.commands.iter().flat_map(layers).any(|words| hits(pattern, words))
}

/// Why a deny rule may hit although it does not visibly do so; `None` if that can be excluded.
#[must_use]
pub fn may_match(pattern: &Pattern, analysis: &Analysis) -> Option<String> {
    let unknown = analysis.unknown.iter().find(|unknown| match unknown.what {
        What::Command | What::Script => true,
        What::Target => false,
    });
    if let Some(unknown) = unknown {
        return Some(unknown.reason.clone());
    }
    analysis
        .commands
        .iter()
        .flat_map(layers)
        .filter(|words| words.iter().any(|word| word.text().is_none()))
        .find(|words| {
            forms(words)
                .iter()
                .any(|form| glob::may_match(&pattern.text, form) || equivalence::may_hold(&pattern.text, form))
        })
        .map(|words| format!("the arguments of `{}` are only known when it runs", candidate(words)))
}

/// Whether an allow rule covers one command: the text of the command under its plain wrappers, as it stands.
/// A rule about everything is for the caller to look at first (`is_everything`).
#[must_use]
pub fn covers(pattern: &Pattern, command: &SimpleCommand) -> bool {
    !command.guess
        && command.uncoverable.is_none()
        && !command.words.is_empty()
        && glob::matches(&pattern.text, &candidate(&command.words))
}

/// Whether every command is read-only or covered by one of the rules, and the text as a whole can be trusted.
#[must_use]
pub fn all_covered(patterns: &[Pattern], analysis: &Analysis) -> bool {
    if patterns.iter().any(Pattern::is_everything) {
        return true;
    }
    let mut commands = analysis.commands.iter().filter(|command| !command.guess).peekable();
    analysis.opaque.is_none()
        && commands.peek().is_some()
        && commands
            .all(|command| command.verdict.is_read_only() || patterns.iter().any(|pattern| covers(pattern, command)))
}

/// The rules which, added to `patterns`, cover the whole text, each for exactly one command; empty if none would.
#[must_use]
pub fn suggestions(patterns: &[Pattern], analysis: &Analysis) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    let mut added = patterns.to_vec();
    for command in analysis.commands.iter().filter(|command| !command.guess) {
        let covered = added.iter().any(|pattern| covers(pattern, command));
        if command.verdict.is_read_only() || covered {
            continue;
        }
        let text = candidate(&command.words);
        // A star would say more than the command does, a line break cannot be shown as one rule.
        if text.contains(['*', '\n']) {
            return Vec::new();
        }
        rules.push(format!("Bash({text})"));
        added.push(Pattern::new(&text));
    }
    if all_covered(&added, analysis) { rules } else { Vec::new() }
}

/// The words of a command and of every wrapper around it.
fn layers(command: &SimpleCommand) -> impl Iterator<Item = &[Word]> {
    let wrappers = command.wrappers.iter().map(|wrapper| wrapper.words.as_slice());
    wrappers.chain(std::iter::once(command.words.as_slice())).filter(|words| !words.is_empty())
}

fn hits(pattern: &Pattern, words: &[Word]) -> bool {
    forms(words)
        .iter()
        .any(|form| glob::matches(&pattern.text, &candidate(form)) || equivalence::holds(&pattern.text, form))
}

/// A command as written, by the last part of its name, and without options in front of its subcommand.
fn forms(words: &[Word]) -> Vec<Vec<Word>> {
    let mut forms = vec![words.to_vec()];
    let Some((first, arguments)) = words.split_first() else {
        return forms;
    };
    let Some(name) = first.text() else {
        return forms;
    };
    let base = name.rsplit('/').next().unwrap_or(name);
    if base != name {
        let mut form = vec![Word::known(base)];
        form.extend(arguments.iter().cloned());
        forms.push(form);
    }
    let row = table().programs.get(base).filter(|row| !row.commands.is_empty());
    let subcommand = row.and_then(|row| options::read(base, arguments, &row.options).first_operand);
    if let Some(index) = subcommand.filter(|&index| index > 0) {
        let mut form = vec![Word::known(base)];
        form.extend(arguments.iter().skip(index).cloned());
        forms.push(form);
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_normalised() {
        let cases = [
            ("Bash", Some("*")),
            ("Bash()", Some("*")),
            ("Bash(*)", Some("*")),
            ("Bash(rm:*)", Some("rm *")),
            ("Bash(git  push *)", Some("git push *")),
            ("Read(x)", None),
            ("Bashful(x)", None),
            ("Bash(echo (a))", Some("echo (a)")),
        ];
        for (rule, expected) in cases {
            let pattern = Pattern::from_rule(rule);
            assert_eq!(pattern.as_ref().map(Pattern::text), expected, "{rule}");
        }
    }
}
