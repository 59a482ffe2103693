//! Owns what the mock does next: finds the request in the history, sees whether its calls have been
//! made, and either makes them or reports what came of them. Must not know how words are chosen.

use std::collections::HashMap;
use std::sync::Arc;

use kernel::{Block, Message, ModelRequest, Role, ToolUseId};
use serde_json::{Value, json};

use super::grammar::{Grammar, Lang, Step};
use super::words::{Outcome, Words};

/// Asks for a summary of everything before.
const SUMMARIZE: &str = "SUMMARIZE_CONTEXT";
/// In a summary: what follows it was done for the newest request.
const DONE: &str = "[done]";
const SUMMARY_END: &str = "\n</summary>";
/// How results of calls look in a history that was rendered as text.
const RENDERED_RESULTS: [&str; 2] = ["[it returned]", "[it failed]"];

/// The request that the mock works on.
struct Found<'a> {
    message: usize,
    block: usize,
    text: &'a str,
    parsed: Option<(Lang, Vec<Step>)>,
}

/// The whole content of the mock's answer.
pub(super) fn answer(request: &ModelRequest) -> Vec<Block> {
    let grammar = Grammar::load();
    let messages = &request.messages;
    let found = find(&grammar, messages);
    let lang = match &found {
        Some(Found { parsed: Some((lang, _)), .. }) => *lang,
        Some(found) if found.text.chars().any(is_chinese) => Lang::Zh,
        Some(_) | None => Lang::En,
    };
    let words = Words::load(lang);
    let outcomes = found.as_ref().map(|found| outcomes(&messages[found.message + 1..]));
    let outcomes = outcomes.unwrap_or_default();
    let last = request.extra.as_ref().or(messages.last());
    if last.is_some_and(|last| last.is_plain_user() && last.text().contains(SUMMARIZE)) {
        let weight = messages.iter().map(|message| message.weight()).sum::<usize>();
        return vec![Block::text(summary(&words, messages.len(), &outcomes, weight / 4))];
    }
    if !outcomes.is_empty() {
        return vec![Block::text(words.report(&outcomes))];
    }
    let Some(Found { message, block, parsed: Some((_, steps)), .. }) = found else {
        return vec![Block::text(words.help())];
    };
    if let Some(report) = done_before(&messages[message], block, &words) {
        return vec![Block::text(report)];
    }
    let made = messages.iter().flat_map(|message| &message.content);
    let made = made.filter(|block| matches!(block, Block::ToolUse { .. })).count();
    let call = |(number, step): (usize, &Step)| {
        let (name, input) = call(step, &grammar, &words);
        let id = ToolUseId(format!("mock_{}", made + number + 1));
        Block::ToolUse { id, name: name.to_owned(), input, extra: serde_json::Map::new() }
    };
    steps.iter().enumerate().map(call).collect()
}

/// The newest text of the open turn that asks for something. Features add texts of their own, to
/// results or in messages of their own; theirs do not parse, and among results they span lines.
fn find<'a>(grammar: &Grammar, messages: &'a [Arc<Message>]) -> Option<Found<'a>> {
    let ends_turn = |message: &Arc<Message>| {
        let calls = message.content.iter().any(|block| matches!(block, Block::ToolUse { .. }));
        message.role == Role::Assistant && !calls
    };
    let start = messages.iter().rposition(ends_turn).map_or(0, |at| at + 1);
    let mut first = None;
    for (at, message) in messages.iter().enumerate().skip(start).rev() {
        let said = message.role == Role::User;
        for (block, content) in message.content.iter().enumerate().rev().filter(|_| said) {
            let Block::Text { text, .. } = content else { continue };
            let parsed = grammar.parse(text);
            let among_results = !message.is_plain_user();
            let lines = text.trim().lines().count();
            let asks = if among_results { lines == 1 } else { parsed.is_some() };
            let found = Found { message: at, block, text, parsed };
            if asks {
                return Some(found);
            }
            first = Some(found);
        }
    }
    first.map(|found| Found { parsed: None, ..found })
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}')
}

/// What came of the calls in `messages`, in order.
fn outcomes(messages: &[Arc<Message>]) -> Vec<Outcome> {
    let mut calls: HashMap<&ToolUseId, (&str, &Value)> = HashMap::new();
    let mut outcomes = Vec::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        match block {
            Block::ToolUse { id, name, input, .. } => {
                calls.insert(id, (name, input));
            }
            Block::ToolResult { tool_use_id, content, is_error, .. } => {
                let Some((tool, input)) = calls.get(tool_use_id) else { continue };
                let subject = ["file_path", "command", "description"];
                let subject = subject.iter().find_map(|key| input[*key].as_str()).unwrap_or("");
                outcomes.push(Outcome {
                    tool: (*tool).to_owned(),
                    subject: subject.to_owned(),
                    text: content.text(),
                    is_error: *is_error,
                });
            }
            Block::Text { .. } | Block::Thinking { .. } | Block::Other(_) => {}
        }
    }
    outcomes
}

/// Shorter than the history of `room` times four bytes. What was done for the newest request is
/// kept in it, or it would be done again.
fn summary(words: &Words, count: usize, outcomes: &[Outcome], room: usize) -> String {
    let said = words.summary(count);
    if outcomes.is_empty() {
        return said;
    }
    let report = words.report(outcomes);
    let cut = report.char_indices().map(|(at, _)| at).find(|at| *at >= room);
    format!("{said}\n{DONE}\n{}", &report[..cut.unwrap_or(report.len())])
}

/// What to say when the request comes from before a summary and has been carried out already.
fn done_before(message: &Message, request: usize, words: &Words) -> Option<String> {
    for (at, block) in message.content.iter().enumerate() {
        let Block::Text { text, .. } = block else { continue };
        if at < request
            && let Some((_, report)) = text.split_once(DONE)
        {
            let report = report.split_once(SUMMARY_END).map_or(report, |(report, _)| report);
            return Some(format!("{}\n\n{}", words.done_before(), report.trim()));
        }
        if at > request && RENDERED_RESULTS.iter().any(|mark| text.contains(mark)) {
            return Some(words.done_before());
        }
    }
    None
}

fn call(step: &Step, grammar: &Grammar, words: &Words) -> (&'static str, Value) {
    match step {
        Step::Read(path) => ("Read", json!({"file_path": path})),
        Step::Write { path, content } => ("Write", json!({"file_path": path, "content": content})),
        Step::Run(command) => ("Bash", json!({"command": command})),
        Step::Delegate { task, read_only } => {
            let steps = grammar.parse(task).map(|(_, steps)| steps);
            let prompt = match (steps, read_only) {
                // The child is to show what it cannot do, so it gets the words as they are.
                (Some(_), true) => task.clone(),
                (Some(steps), false) => words.prompt(&steps),
                // A child of the mock understands commands only.
                (None, true) => words.prompt(&[words.look_round()]) + "\n\n" + task,
                (None, false) => task.clone(),
            };
            let description: String = prompt.lines().next().unwrap_or("").chars().take(40).collect();
            let kind = if *read_only { "explore" } else { "general" };
            let input = json!({"subagent_type": kind, "prompt": prompt.trim(), "description": description});
            ("Agent", input)
        }
    }
}
