//! Owns an independent opinion on whether the Messages API would take a history: written from its
//! documented rules on raw JSON, sharing nothing with the code under test.

use std::collections::HashSet;

use serde_json::Value;

/// The first rule that the messages break, with where.
pub fn fault(messages: &[Value]) -> Option<String> {
    let mut seen = HashSet::new();
    let mut open: Vec<String> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let at = |what: &str| Some(format!("message {number}: {what}: {message}"));
        let role = message["role"].as_str().unwrap_or_default();
        if number == 0 && role != "user" {
            return at("the first message must be the user's");
        }
        let Some(content) = message["content"].as_array().filter(|list| !list.is_empty()) else {
            return at("no content");
        };
        let mut answered = Vec::new();
        let mut others = false;
        let mut called = Vec::new();
        for block in content {
            match block["type"].as_str().unwrap_or_default() {
                "tool_result" => {
                    if role != "user" || others {
                        return at("a result outside the head of a user message");
                    }
                    answered.push(block["tool_use_id"].as_str().unwrap_or_default().to_owned());
                    let nested = block["content"].as_array().into_iter().flatten();
                    if nested.into_iter().any(is_blank) {
                        return at("a blank text in a result");
                    }
                }
                "tool_use" => {
                    others = true;
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    let sendable = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
                    if role != "assistant" {
                        return at("a call that the model did not make");
                    }
                    if id.is_empty() || !id.chars().all(sendable) {
                        return at("an id that cannot be sent");
                    }
                    if !seen.insert(id.clone()) {
                        return at("an id used twice");
                    }
                    called.push(id);
                }
                _ => {
                    others = true;
                    if is_blank(block) {
                        return at("a blank text");
                    }
                }
            }
        }
        answered.sort();
        open.sort();
        if answered != open {
            return at(&format!("answers {answered:?}, open were {open:?}"));
        }
        open = called;
    }
    (!open.is_empty()).then(|| format!("never answered: {open:?}"))
}

fn is_blank(block: &Value) -> bool {
    block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

/// Panics where the history could not be sent.
#[track_caller]
pub fn assert_sendable<M: serde::Serialize>(messages: &[M]) {
    let messages: Vec<Value> = messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
    if let Some(fault) = fault(&messages) {
        let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
        panic!("cannot be sent: {fault}\n{}", lines.join("\n"));
    }
}

/// The opinion itself must be able to say no.
#[test]
fn every_rule_is_seen_to_be_broken() {
    let table = [
        (r#"[]"#, ""),
        (r#"[{"role":"user","content":[{"type":"text","text":"x"}]}]"#, ""),
        (r#"[{"role":"assistant","content":[{"type":"text","text":"x"}]}]"#, "first message"),
        (r#"[{"role":"user","content":[]}]"#, "no content"),
        (r#"[{"role":"user","content":[{"type":"text","text":" \n"}]}]"#, "a blank text"),
        (r#"[{"role":"user","content":[{"type":"tool_use","id":"a"}]}]"#, "did not make"),
        (r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#, "answers"),
    ];
    for (messages, expected) in table {
        let messages: Vec<Value> = serde_json::from_str(messages).unwrap();
        let fault = fault(&messages);
        assert!(fault.as_deref().unwrap_or("").contains(expected), "{messages:?}: {fault:?}");
        assert_eq!(fault.is_none(), expected.is_empty(), "{messages:?}: {fault:?}");
    }
    let round = |ids: &str, answer: &str| {
        let calls: Vec<String> = ids.split(' ').map(|id| format!(r#"{{"type":"tool_use","id":"{id}"}}"#)).collect();
        let text = format!(
            r#"[{{"role":"user","content":[{{"type":"text","text":"x"}}]}},
               {{"role":"assistant","content":[{}]}},{answer}]"#,
            calls.join(",")
        );
        fault(&serde_json::from_str::<Vec<Value>>(&text).unwrap()).unwrap_or_default()
    };
    let result = |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":""}}"#);
    let user = |blocks: &[String]| format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","));
    let text = r#"{"type":"text","text":"x"}"#.to_owned();
    let blank = r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}"#;
    let table = [
        (round("a b", &user(&[result("b"), result("a"), text.clone()])), ""),
        (round("a b", &user(&[result("a")])), "answers"),
        (round("a", &user(&[result("a"), result("a")])), "answers"),
        (round("a", &user(&[text.clone(), result("a")])), "outside the head"),
        (round("a", &user(std::slice::from_ref(&text))), "answers"),
        (round("a", &user(&[blank.to_owned()])), "blank text in a result"),
        (round("a a", &user(&[result("a"), result("a")])), "used twice"),
        (round("a|b", &user(&[result("a|b")])), "cannot be sent"),
        (round("a", r#"{"role":"assistant","content":[{"type":"tool_use","id":"b"}]}"#), "answers"),
    ];
    for (number, (fault, expected)) in table.iter().enumerate() {
        assert!(fault.contains(expected), "{number}: {fault}");
        assert_eq!(fault.is_empty(), expected.is_empty(), "{number}: {fault}");
    }
}
