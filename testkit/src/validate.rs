//! Owns what a Messages API refuses: the documented rules for blocks, pairs and marks, written from
//! the API's documents and not from our own code.

use std::collections::HashSet;

use serde_json::Value;

/// Checks a request body; the error is worded as the API words it.
pub fn request(body: &Value) -> Result<(), String> {
    if !body["model"].is_string() || !body["max_tokens"].is_u64() {
        return Err("model and max_tokens are required".into());
    }
    let messages = body["messages"].as_array().ok_or("messages: Field required")?;
    pairs(messages)?;
    let marks = marks(body);
    if marks > 4 {
        return Err(format!("A maximum of 4 blocks with cache_control may be provided. Found {marks}."));
    }
    Ok(())
}

fn pairs(messages: &[Value]) -> Result<(), String> {
    if messages.first().is_none_or(|message| message["role"] != "user") {
        return Err("messages: first message must use the \"user\" role".into());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    let mut before = None;
    for (number, message) in messages.iter().enumerate() {
        let blocks = blocks(message).ok_or(format!("messages.{number}: content is not valid"))?;
        let by_model = match message["role"].as_str() {
            Some("user") => false,
            Some("assistant") => true,
            _ => return Err(format!("messages.{number}: role is not valid")),
        };
        if blocks.is_empty() {
            return Err(format!("messages.{number}: all messages must have non-empty content"));
        }
        // The API joins messages of the user; what the model said twice in a row it never said.
        if by_model && before == Some(true) && !is_paused(&messages[number - 1]) {
            return Err(format!("messages.{number}: roles must alternate"));
        }
        before = Some(by_model);
        let mut answered: Vec<&str> = Vec::new();
        let mut other = false;
        let mut calls = Vec::new();
        for block in &blocks {
            match block["type"].as_str() {
                Some("text") if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => {
                    return Err(format!("messages.{number}: text content blocks must be non-empty"));
                }
                Some("tool_result") => {
                    if by_model {
                        return Err(format!("messages.{number}: `tool_result` blocks can only be in user messages"));
                    }
                    if block["content"].as_str().is_some_and(str::is_empty) && block["is_error"] == true {
                        return Err(format!("messages.{number}: content cannot be empty if `is_error` is true"));
                    }
                    if other {
                        return Err(format!("messages.{number}: tool_result blocks must come first"));
                    }
                    answered.push(block["tool_use_id"].as_str().unwrap_or(""));
                }
                Some("tool_use") => {
                    other = true;
                    if !by_model {
                        return Err(format!("messages.{number}: `tool_use` blocks can only be in assistant messages"));
                    }
                    let is_name = |name: &str| (1..=64).contains(&name.len()) && name.chars().all(allowed);
                    if !block["input"].is_object() || !block["name"].as_str().is_some_and(is_name) {
                        return Err(format!("messages.{number}: tool_use needs a name and an object as input"));
                    }
                    let id = block["id"].as_str().unwrap_or("");
                    if id.is_empty() || !id.chars().all(allowed) {
                        return Err(format!("messages.{number}: tool_use.id does not match"));
                    }
                    if !seen.insert(id) {
                        return Err("messages: `tool_use` ids must be unique".into());
                    }
                    calls.push(id);
                }
                Some(_) => other = true,
                None => return Err(format!("messages.{number}: block without type")),
            }
        }
        if let Some(id) = answered.iter().find(|id| !open.contains(id)) {
            return Err(format!("messages.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {id}"));
        }
        let unique: HashSet<&&str> = answered.iter().collect();
        if unique.len() != open.len() || answered.len() != open.len() {
            return Err(format!(
                "messages.{number}: `tool_use` ids were found without `tool_result` blocks \
                 immediately after: {open:?}"
            ));
        }
        open = calls;
    }
    match open.first() {
        Some(id) => Err(format!("`tool_use` ids were found without `tool_result` blocks: {id}")),
        None if before == Some(true) && !messages.last().is_some_and(is_paused) => {
            Err("This model does not support assistant message prefill. The conversation must end with a user message."
                .into())
        }
        None => Ok(()),
    }
}

/// Whether a message may be one that the vendor's own tools interrupted: it is sent back as it came.
fn is_paused(message: &Value) -> bool {
    blocks(message).is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "server_tool_use"))
}

fn blocks(message: &Value) -> Option<Vec<&Value>> {
    message["content"].as_array().map(|blocks| blocks.iter().collect())
}

fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(map) => usize::from(map.contains_key("cache_control")) + map.values().map(marks).sum::<usize>(),
        _ => 0,
    }
}

/// The same value without any `cache_control`.
pub fn without_marks(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), without_marks(value)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refuses_what_the_api_refuses() {
        let body = |messages: Value| json!({"model": "m", "max_tokens": 1, "messages": messages});
        let user = json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
        let call = json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "T", "input": {}}]});
        let result = json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "y"}]});
        let words = json!({"role": "assistant", "content": [{"type": "text", "text": "y"}]});
        let twice = json!({"role": "user", "content": [result["content"][0], result["content"][0]]});
        let blank = json!({"role": "user", "content": [{"type": "text", "text": " "}]});
        let late = json!({"role": "user", "content": [{"type": "text", "text": "x"},
            {"type": "tool_result", "tool_use_id": "a", "content": "y"}]});
        assert_eq!(request(&body(json!([user, call, result]))), Ok(()));
        assert_eq!(request(&body(json!([user, user, words, user]))), Ok(()));
        for wrong in [
            json!([call]),
            json!([user, call]),
            json!([user, call, user]),
            json!([user, result]),
            json!([user, call, result, call, result]),
            json!([blank]),
            json!([{"role": "user", "content": []}]),
            json!([user, words]),
            json!([user, words, words, user]),
            json!([user, call, result, {"role": "assistant", "content": result["content"]}, user]),
            json!([{"role": "user", "content": call["content"]}, result]),
            json!([user, call, twice]),
            json!([user, call, late]),
        ] {
            assert!(request(&body(wrong.clone())).is_err(), "{wrong}");
        }
    }
}
