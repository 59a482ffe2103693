//! Owns which settings of a repository could make git run a program or use the network while it only
//! reads. What is not known to be harmless counts; the lists are data.

use std::sync::LazyLock;

use serde::Deserialize;

use super::config::Setting;

#[derive(Deserialize)]
struct Lists {
    /// Settings that name a partial clone.
    partial: Vec<String>,
    /// Never count.
    harmless: Vec<String>,
    /// Of all others those that count whatever their value is.
    refused: Vec<String>,
    /// Sections of git itself; others belong to other programs.
    sections: Vec<String>,
    /// In keys of other programs, words of those that may name a program.
    words: Vec<String>,
}

/// A list that cannot be read finds everything harmful.
static LISTS: LazyLock<Option<Lists>> = LazyLock::new(|| serde_json::from_str(include_str!("keys.json")).ok());

/// In the format of a log, what has a signature checked by a program.
const SIGNED: [&str; 5] = ["%G", "%+G", "%-G", "% G", "%(sig"];

/// What a setting may do while git only reads; `None` where it does nothing of the kind.
pub(super) fn objection(setting: &Setting) -> Option<String> {
    let objection = Some(format!("sets {setting}"));
    let Some(lists) = LISTS.as_ref() else { return objection };
    if listed(&lists.partial, setting) {
        return Some(format!("sets {setting}, so that a read may fetch from elsewhere"));
    }
    let value = setting.value.as_deref().unwrap_or("true");
    // An empty value takes earlier ones back; `!` begins a command.
    if value.is_empty() && setting.section != "extensions" {
        return None;
    }
    if value.starts_with('!') || SIGNED.iter().any(|form| value.contains(form)) {
        return objection;
    }
    if listed(&lists.harmless, setting) {
        return None;
    }
    if listed(&lists.refused, setting) {
        return objection;
    }
    if is_switch(value) {
        return None;
    }
    let foreign = !lists.sections.contains(&setting.section);
    if foreign && !lists.words.iter().any(|word| setting.key.contains(word.as_str())) {
        return None;
    }
    objection
}

/// Whether a pattern of a list means a setting. `*` stands for one whole part; a section alone for all of it.
fn listed(list: &[String], setting: &Setting) -> bool {
    list.iter().any(|pattern| {
        let parts: Vec<&str> = pattern.split('.').collect();
        let same = |pattern: &str, part: &str| pattern == "*" || pattern == part;
        match (parts.as_slice(), &setting.subsection) {
            ([section], _) => same(section, &setting.section),
            ([section, key], None) => same(section, &setting.section) && same(key, &setting.key),
            ([section, _, key], Some(_)) => same(section, &setting.section) && same(key, &setting.key),
            _ => false,
        }
    })
}

/// Whether a value is a truth or a number: then it names nothing.
fn is_switch(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let digits = lower.trim_start_matches('-').trim_end_matches(['k', 'm', 'g']);
    matches!(lower.as_str(), "true" | "false" | "yes" | "no" | "on" | "off")
        || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
