//! Owns what the interface says, in the language of the locale. The texts are data files with the
//! same keys; must not know when they are said.

use std::fmt::Display;

use harness::Environment;
use serde::Deserialize;

/// Every text of the interface. A key that a file lacks or has too many is an error in a test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    pub welcome: String,
    pub mock_hint: String,
    pub help_hint: String,
    pub prompt: String,
    pub help: String,
    pub cleared: String,
    pub mode_is: String,
    pub model_is: String,
    pub sandbox_is: String,
    pub sandbox_hint: String,
    pub usage_is: String,
    pub cost_is: String,
    pub cost_unknown: String,
    pub provider_ready: String,
    pub provider_reachable: String,
    pub provider_failed: String,
    pub provider_unset: String,
    pub provider_no_key: String,
    pub provider_no_model: String,
    pub test_allow: String,
    pub test_deny: String,
    pub test_ask: String,
    pub test_opaque: String,
    pub test_under: String,
    pub test_reads: String,
    pub test_effect: String,
    pub test_denied_by: String,
    pub test_asked_by: String,
    pub test_allowed_by: String,
    pub test_uncoverable: String,
    pub test_file_read: String,
    pub test_file_written: String,
    pub test_unknown: String,
    pub test_no_rule: String,
    pub test_rules: String,
    pub unknown_command: String,
    pub leave_hint: String,
    pub interrupting: String,
    pub interrupted: String,
    pub ask_title: String,
    pub ask_reason: String,
    pub ask_outside: String,
    pub ask_choices: String,
    pub ask_choices_always: String,
    pub ask_rules: String,
    pub ask_prompt: String,
    pub denied: String,
    pub retry: String,
    pub retry_void: String,
    pub compacted: String,
    pub turn_usage: String,
    pub max_turns: String,
    pub refused: String,
    pub budget: String,
    pub failed: String,
    pub more_lines: String,
    pub bye: String,
    /// What the parts below say in English, and how to say it here. `{}` stands for any text.
    #[serde(skip)]
    reasons: Vec<(String, String)>,
}

const EN: &str = include_str!("texts/en.json");
const ZH: &str = include_str!("texts/zh.json");
const ZH_REASONS: &str = include_str!("texts/reasons.zh.json");

impl Texts {
    /// The texts for the locale of these surroundings: Chinese where it begins with `zh`.
    pub fn of(environment: &Environment) -> anyhow::Result<Self> {
        let locale = environment.first(&["LC_ALL", "LC_MESSAGES", "LANG"]);
        let chinese = locale.is_some_and(|(_, value)| value.to_ascii_lowercase().starts_with("zh"));
        let mut texts: Self = serde_json::from_str(if chinese { ZH } else { EN })?;
        if chinese {
            texts.reasons = serde_json::from_str(ZH_REASONS)?;
        }
        Ok(texts)
    }

    /// An amount of US dollars in words.
    pub fn cost(&self, dollars: Option<f64>) -> String {
        match dollars {
            Some(dollars) => fill(&self.cost_is, &[("dollars", &format!("{dollars:.4}"))]),
            None => self.cost_unknown.clone(),
        }
    }

    /// A reason that the model reads in English, for a person. What has no translation stays.
    pub fn reason(&self, text: &str) -> String {
        let known = self.reasons.iter().find_map(|(from, to)| Some((capture(from, text)?, to)));
        let Some((captured, template)) = known else { return text.to_owned() };
        let mut captured = captured.into_iter().map(|part| self.reason(part));
        let mut parts = template.split("{}");
        let mut out = parts.next().unwrap_or("").to_owned();
        for part in parts {
            out.push_str(&captured.next().unwrap_or_default());
            out.push_str(part);
        }
        out
    }
}

/// What stands in the `{}` places of a template that matches the whole text.
fn capture<'a>(template: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut pieces = template.split("{}");
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let mut captured = Vec::new();
    let mut pieces = pieces.peekable();
    while let Some(piece) = pieces.next() {
        let (found, after) = match pieces.peek() {
            Some(_) => rest.split_once(piece)?,
            None => (rest.strip_suffix(piece)?, ""),
        };
        if found.is_empty() {
            return None;
        }
        captured.push(found);
        rest = after;
    }
    rest.is_empty().then_some(captured)
}

/// Fills `{name}` places. Values are not looked into again.
pub fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (before, from) = rest.split_at(open);
        out.push_str(before);
        let named = from.find('}').and_then(|close| {
            let value = values.iter().find(|(name, _)| *name == &from[1..close])?;
            Some((close, value.1))
        });
        match named {
            Some((close, value)) => {
                out.push_str(&value.to_string());
                rest = &from[close + 1..];
            }
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn both_languages_have_every_text_with_the_same_places() {
        let read = |text| serde_json::from_str::<BTreeMap<String, String>>(text).unwrap();
        let (en, zh) = (read(EN), read(ZH));
        assert_eq!(en.keys().collect::<Vec<_>>(), zh.keys().collect::<Vec<_>>());
        let places = |text: &str| {
            let mut names: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|part| part.split_once('}').map(|(name, _)| name.to_owned()))
                .collect();
            names.sort();
            names
        };
        for (key, text) in &en {
            assert_eq!(places(text), places(&zh[key]), "{key}");
        }
        for text in [EN, ZH] {
            serde_json::from_str::<Texts>(text).unwrap();
        }
    }

    #[test]
    fn the_locale_decides() {
        let of = |name: &str, value: &str| {
            let environment = Environment::of([(name.into(), value.into())]);
            Texts::of(&environment).unwrap().cleared
        };
        assert_eq!(of("LANG", "zh_CN.UTF-8"), "对话已清空。");
        assert_eq!(of("LANG", "en_US.UTF-8"), "The conversation is forgotten.");
        assert_eq!(of("NONE", ""), "The conversation is forgotten.");
    }

    #[test]
    fn reasons_are_translated_part_by_part() {
        let of = |locale: &str, text: &str| {
            Texts::of(&Environment::of([("LANG".into(), locale.into())])).unwrap().reason(text)
        };
        let english = "plan mode only reads: `touch` is not on the read-only list; `rm` writes to a.txt; and 2 more";
        assert_eq!(of("en_US", english), english);
        assert_eq!(of("zh_CN", english), "plan 模式只读：`touch` 不在只读列表上；`rm` 写入 a.txt；另有 2 项");
        assert_eq!(
            of("zh_CN", "denied by rule Bash(rm -rf *) (built-in list)"),
            "被规则 Bash(rm -rf *) 拒绝（内置列表）"
        );
        assert_eq!(of("zh_CN", "the user said no: use tabs; please"), "用户拒绝：use tabs；please");
        assert_eq!(of("zh_CN", "something new"), "something new");
    }

    #[test]
    fn places_are_filled_once() {
        let filled = fill("{a} {b} {a} {", &[("a", &"{b}"), ("b", &1)]);
        assert_eq!(filled, "{b} 1 {b} {");
    }
}
