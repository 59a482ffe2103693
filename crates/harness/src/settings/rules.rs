//! Owns which permission rules are in force, each with the layer that it came from. Must not know what
//! a pattern means.

use kernel::{Origin, Rule, Rules};
use serde_json::Value;
use tools::rules::grammar;

use super::error::SettingsError;
use super::layers::Effective;
use super::source::Source;

/// Rules given on the command line.
#[derive(Debug, Clone, Default)]
pub struct FlagRules {
    /// `--allowed-tools`.
    pub allow: Vec<String>,
    /// `--disallowed-tools`.
    pub deny: Vec<String>,
}

impl Effective {
    /// The rules of all layers, those of flags and the built-in deny list, and what a person should
    /// know of rules that cannot be read.
    pub fn rules(&self, flags: &FlagRules, builtin_deny: &[&str]) -> Result<(Rules, Vec<String>), SettingsError> {
        let mut rules = Rules::default();
        let mut notices = Vec::new();
        for source in &self.sources {
            for key in ["allow", "ask", "deny"] {
                for text in texts(source, key) {
                    place(&mut rules, source, key, text, &mut notices)?;
                }
            }
        }
        let flag = |key: &str, texts: &[String]| {
            let list: Vec<&str> = texts.iter().flat_map(|text| split(text)).collect();
            parse(&list, Origin::Flag, key)
        };
        rules.allow.extend(flag("--allowed-tools", &flags.allow)?);
        rules.deny.extend(flag("--disallowed-tools", &flags.deny)?);
        rules.deny.extend(match &self.settings.permissions.builtin_deny {
            Some(list) => parse(list, Origin::BuiltIn, "permissions.builtinDeny")?,
            None => parse(builtin_deny, Origin::BuiltIn, "built-in deny list")?,
        });
        Ok((rules, notices))
    }
}

/// The texts of one list of a file.
pub(super) fn texts<'a>(source: &'a Source, key: &str) -> impl Iterator<Item = &'a str> {
    let list = source.value.get("permissions").and_then(|all| all.get(key)).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str)
}

/// Each text is one rule, whatever commas and blanks are in it. One that cannot be read stops the start
/// where that would lose protection; a project's becomes a question about its whole tool, since
/// whoever works there need not be the one who can correct it.
fn place(
    rules: &mut Rules,
    source: &Source,
    key: &str,
    text: &str,
    notices: &mut Vec<String>,
) -> Result<(), SettingsError> {
    let list = match key {
        "allow" => &mut rules.allow,
        "ask" => &mut rules.ask,
        _ => &mut rules.deny,
    };
    let fault = match grammar::parse(text, source.origin) {
        Ok(rule) => {
            list.push(rule);
            return Ok(());
        }
        Err(fault) => fault,
    };
    let place = format!("{}: permissions.{key}", source.path.display());
    let tool = text.split('(').next().unwrap_or(text).trim();
    let Ok(whole) = grammar::parse(tool, source.origin) else {
        // No tool of ours has such a name, so the rule could not hold for any.
        notices.push(format!("{place}: {fault}; it is left out"));
        return Ok(());
    };
    match key {
        "allow" => notices.push(format!("{place}: {fault}; it is left out")),
        _ if matches!(source.origin, Origin::Project | Origin::Local) => {
            notices.push(format!("{place}: {fault}; every call of {} is asked", whole.tool));
            rules.ask.push(whole);
        }
        _ => return Err(SettingsError::Rule { place, fault }),
    }
    Ok(())
}

fn parse<T: AsRef<str>>(list: &[T], origin: Origin, place: &str) -> Result<Vec<Rule>, SettingsError> {
    let fault = |fault| SettingsError::Rule { place: place.to_owned(), fault };
    list.iter().map(|text| grammar::parse(text.as_ref(), origin).map_err(fault)).collect()
}

/// Several rules in one text, apart by commas or blanks outside parentheses.
fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).collect()
}
