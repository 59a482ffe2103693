//! Owns how the mock says things, in the language of the request. The sentences are data, in
//! `texts.json`. Must not know messages.

use std::collections::BTreeMap;

use super::grammar::{Lang, Step};

const TEXTS: &str = include_str!("texts.json");
/// Lines of a result that an answer shows.
const LINES: usize = 3;
/// Characters of a line that an answer shows.
const WIDTH: usize = 120;

/// What came of one call.
pub(super) struct Outcome {
    pub(super) tool: String,
    /// The file, command or task.
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

/// The sentences of one language.
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    pub(super) fn load(lang: Lang) -> Self {
        let mut all: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(TEXTS).unwrap_or_default();
        let key = match lang {
            Lang::Zh => "zh",
            Lang::En => "en",
        };
        Self(all.remove(key).unwrap_or_default())
    }

    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        let template = self.0.get(key).map_or("", String::as_str);
        let mut said = String::new();
        let mut rest = template;
        // One pass, so that a value with braces in it stays as it is.
        while let Some((before, after)) = rest.split_once('{') {
            said.push_str(before);
            let (name, after) = after.split_once('}').unwrap_or((after, ""));
            said.extend(values.iter().filter(|(key, _)| *key == name).map(|(_, value)| *value));
            rest = after;
        }
        said.push_str(rest);
        said
    }

    pub(super) fn help(&self) -> String {
        self.say("help", &[])
    }

    pub(super) fn summary(&self, count: usize) -> String {
        self.say("summary", &[("count", &count.to_string())])
    }

    pub(super) fn done_before(&self) -> String {
        self.say("done_before", &[])
    }

    /// What a subagent does when its task names nothing that it could do.
    pub(super) fn look_round(&self) -> Step {
        Step::Run(self.say("explore_command", &[]))
    }

    /// These steps as a request.
    pub(super) fn prompt(&self, steps: &[Step]) -> String {
        let said: Vec<String> = steps
            .iter()
            .map(|step| match step {
                Step::Read(path) => self.say("read_prompt", &[("path", path)]),
                Step::Write { path, content } => self.say("write_prompt", &[("path", path), ("text", content)]),
                Step::Run(command) => self.say("run_prompt", &[("text", command)]),
                Step::Delegate { task, .. } => task.clone(),
            })
            .collect();
        said.join(&self.say("prompt_join", &[]))
    }

    /// What came of the calls, for a person.
    pub(super) fn report(&self, outcomes: &[Outcome]) -> String {
        let said: Vec<String> = outcomes.iter().map(|outcome| self.outcome(outcome)).collect();
        said.join("\n\n")
    }

    fn outcome(&self, outcome: &Outcome) -> String {
        let Outcome { tool, subject, text, is_error } = outcome;
        let first = shown(text.lines().filter(|line| !line.trim().is_empty()).take(1));
        if *is_error {
            let values = [("tool", tool.as_str()), ("path", subject), ("lines", &first)];
            return self.say("failed", &values);
        }
        match tool.as_str() {
            "Read" => {
                let mut numbered: Vec<&str> = text.lines().filter_map(unnumbered).collect();
                if numbered.is_empty() {
                    numbered = text.lines().collect();
                }
                let (count, lines) = (numbered.len().to_string(), code(numbered));
                let key = if text.trim().is_empty() { "read_empty" } else { "read" };
                self.say(key, &[("path", subject), ("count", &count), ("lines", &lines)])
            }
            "Write" => self.say("write", &[("path", subject), ("lines", &first)]),
            "Agent" => self.say("agent", &[("lines", text.trim())]),
            _ => {
                let key = if text.trim().is_empty() { "run_empty" } else { "run" };
                let lines = code(text.lines().filter(|line| !line.trim().is_empty()).collect());
                self.say(key, &[("path", subject), ("lines", &lines)])
            }
        }
    }
}

/// The first lines, indented as code.
fn code(lines: Vec<&str>) -> String {
    shown(lines.into_iter().take(LINES))
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}

fn shown<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.map(|line| line.chars().take(WIDTH).collect()).collect();
    lines.join("\n")
}

/// A line of a file without the number that the tool put before it.
fn unnumbered(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let separator = text.chars().next().filter(|c| ['\t', '→', ':', '|'].contains(c));
    match separator {
        Some(separator) if text.len() < line.len() => Some(&text[separator.len_utf8()..]),
        // A line without text may have lost its separator.
        None if text.is_empty() && !line.is_empty() => Some(""),
        Some(_) | None => None,
    }
}
