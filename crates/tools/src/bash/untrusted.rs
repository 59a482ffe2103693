//! Owns what a read-only verdict is not trusted with yet, whatever the analysis says: programs, signs
//! and words in which ways were found to be more than they seem. Everything here asks. Must not know
//! rules.

use std::sync::LazyLock;

use serde::Deserialize;
use shell::{Analysis, SimpleCommand, Verdict};

#[derive(Deserialize, Default)]
struct Lists {
    /// Names that never count as read-only.
    programs: Vec<String>,
    /// Texts that, anywhere in a command line, keep all of it from counting.
    texts: Vec<String>,
}

/// Read once, at the first command line. A list that cannot be read trusts nothing.
static LISTS: LazyLock<Option<Lists>> = LazyLock::new(|| serde_json::from_str(include_str!("untrusted.json")).ok());

/// Why a command line may not count as read-only, nor its parts as covered without a rule.
pub fn reason(text: &str, analysis: &Analysis) -> Option<String> {
    let Some(lists) = LISTS.as_ref() else { return Some("nothing is trusted to only read".into()) };
    if let Some(sign) = lists.texts.iter().find(|sign| text.contains(sign.as_str())) {
        return Some(format!("`{}` may do more than it seems", sign.trim()));
    }
    let mut commands = analysis.commands.iter().filter(|command| !command.guess);
    commands.find_map(|command| of_command(command, lists))
}

fn of_command(command: &SimpleCommand, lists: &Lists) -> Option<String> {
    if command.verdict != Verdict::ReadOnly {
        return None;
    }
    if let Some(wrapper) = command.wrappers.first() {
        return Some(format!("it runs under `{}`", wrapper.name));
    }
    let name = command.words.first()?.text()?;
    let unknown = |reason: &str| Some(format!("`{name}` {reason}"));
    let words = || command.words.iter().skip(1);
    if lists.programs.iter().any(|program| *program == name) {
        return unknown("is not on the read-only list");
    }
    // A word that begins like an option and is several words when it runs may take the next for its
    // value, or be one itself.
    if words().any(|word| word.text().is_none() && word.shown().starts_with('-')) {
        return unknown("has an option that is only known when it runs");
    }
    if matches!(name, "test" | "[") && words().any(|word| word.text().is_none()) {
        return unknown("has a word that is only known when it runs");
    }
    let runs = |word: &str| ["-exec", "-execdir", "-ok", "-okdir"].contains(&word);
    if name == "find" && words().any(|word| word.text().is_none_or(runs)) {
        return unknown("may run a command");
    }
    None
}
