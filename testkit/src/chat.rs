//! Owns what a Chat Completions API says and what it refuses: the documented rules for roles, pairs and
//! content, and those of strict servers, written from documents and reports and not from our own code.

use std::collections::HashSet;

use serde_json::{Value, json};

/// A streamed answer with this content in the blocks of the Messages API.
pub fn sse(content: &[Value], stop_reason: &str, input: u64, output: u64) -> String {
    let mut frames = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut index = 0;
    for block in content {
        match block["type"].as_str().unwrap_or("") {
            "text" => frames.push(delta(json!({"content": block["text"]}))),
            "thinking" => frames.push(delta(json!({"reasoning_content": block["thinking"]}))),
            _ => {
                let call = call(block);
                let arguments = call["function"]["arguments"].as_str().unwrap();
                let half = arguments.floor_char_boundary(arguments.len() / 2);
                let function = json!({"name": block["name"], "arguments": ""});
                let start = json!({"index": index, "id": block["id"], "type": "function", "function": function});
                frames.push(delta(json!({"tool_calls": [start]})));
                for piece in [&arguments[..half], &arguments[half..]] {
                    let piece = json!({"index": index, "function": {"arguments": piece}});
                    frames.push(delta(json!({"tool_calls": [piece]})));
                }
                index += 1;
            }
        }
    }
    let end = json!({"index": 0, "delta": {}, "finish_reason": reason(stop_reason)});
    frames.push(frame(json!([end]), Value::Null));
    frames.push(frame(json!([]), json!({"prompt_tokens": input, "completion_tokens": output})));
    frames.push("data: [DONE]\n\n".to_owned());
    frames.concat()
}

fn delta(delta: Value) -> String {
    frame(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null)
}

fn frame(choices: Value, usage: Value) -> String {
    let chunk = json!({"id": "chatcmpl-test", "object": "chat.completion.chunk", "model": "test",
        "choices": choices, "usage": usage});
    format!("data: {chunk}\n\n")
}

/// The same content as one message.
pub fn message(content: &[Value]) -> Value {
    let of = |kind: &'static str| content.iter().filter(move |block| block["type"] == kind);
    let joined = |kind, key: &str| of(kind).filter_map(|block| block[key].as_str()).collect::<String>();
    let calls: Vec<Value> = of("tool_use").map(call).collect();
    let mut message = json!({"role": "assistant", "content": joined("text", "text"),
        "reasoning_content": joined("thinking", "thinking")});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    message
}

fn call(block: &Value) -> Value {
    let function = json!({"name": block["name"], "arguments": block["input"].to_string()});
    json!({"id": block["id"], "type": "function", "function": function})
}

/// The reason to stop in this API's words.
pub fn reason(stop_reason: &str) -> &str {
    match stop_reason {
        "end_turn" | "stop_sequence" => "stop",
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        "refusal" => "content_filter",
        other => other,
    }
}

/// What a provider is strict about beside the contract.
#[derive(Debug, Clone, Copy, Default)]
pub struct Strict {
    /// Ids of calls have exactly nine letters and digits.
    pub short_ids: bool,
    /// Reasoning in a request is refused.
    pub no_reasoning: bool,
    /// Turns with tools must carry `reasoning_content`.
    pub echo: bool,
}

/// Checks a request body; the error is worded about as servers word it.
pub fn request(body: &Value, strict: Strict) -> Result<(), String> {
    if !body["model"].is_string() {
        return Err("you must provide a model parameter".into());
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool["type"] != "function" || !named(&tool["function"]) || !tool["function"]["parameters"].is_object() {
            return Err(format!("invalid tool: {tool}"));
        }
    }
    let messages = body["messages"].as_array().filter(|list| !list.is_empty()).ok_or("messages: field required")?;
    let mut seen = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let fault = |text: &str| Err(format!("messages[{number}]: {text}"));
        let content = &message["content"];
        let role = message["role"].as_str().unwrap_or("");
        if role != "tool" && !open.is_empty() {
            let text = "an assistant message with 'tool_calls' must be followed by tool messages responding to each";
            return fault(&format!("{text} 'tool_call_id': {open:?}"));
        }
        match role {
            "system" if number == 0 && says(content) => {}
            "user" if says(content) || parts(content)? => {}
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or("");
                let Some(at) = open.iter().position(|called| *called == id) else {
                    return fault("a tool message must respond to a preceding message with 'tool_calls'");
                };
                open.remove(at);
                if !says(content) {
                    return fault("the content of a tool message is a text that says something");
                }
            }
            "assistant" => {
                let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                if message.get("tool_calls").is_some() && calls.is_empty() {
                    return fault("empty array of tool_calls");
                }
                if !says(content) && (calls.is_empty() || !content.is_null()) {
                    return fault("an assistant message must have content or tool_calls");
                }
                let thinks = message.get("reasoning_content").is_some();
                if strict.no_reasoning && (thinks || message.get("reasoning_details").is_some()) {
                    return fault("extra inputs are not permitted");
                }
                if strict.echo && !calls.is_empty() && !message["reasoning_content"].is_string() {
                    return fault("the reasoning_content in the thinking mode must be passed back to the API");
                }
                for call in calls {
                    open.push(check_call(call, strict).or_else(|text| fault(&text).map(|()| ""))?);
                }
                if let Some(id) = open.iter().find(|id| !seen.insert(**id)) {
                    return fault(&format!("duplicate tool call id {id}"));
                }
            }
            _ => return fault("role and content do not go together"),
        }
        let known = ["role", "content", "tool_calls", "tool_call_id", "reasoning_content", "reasoning_details"];
        if let Some(key) =
            message.as_object().into_iter().flatten().map(|(key, _)| key).find(|key| !known.contains(&key.as_str()))
        {
            return fault(&format!("unknown field {key}"));
        }
    }
    match messages.last() {
        _ if !open.is_empty() => Err(format!("tool calls without an answer: {open:?}")),
        Some(last) if last["role"] == "assistant" => Err("expected last role user or tool".into()),
        _ => Ok(()),
    }
}

fn check_call(call: &Value, strict: Strict) -> Result<&str, String> {
    let id = call["id"].as_str().unwrap_or("");
    let short = id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
    if strict.short_ids && !short {
        return Err(format!("tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9"));
    }
    if id.is_empty() || id.len() > 40 || call["type"] != "function" || !named(&call["function"]) {
        return Err(format!("invalid tool call {call}"));
    }
    let arguments = call["function"]["arguments"].as_str().unwrap_or("");
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Ok(id),
        _ => Err(format!("the arguments of {id} are no JSON object in a string")),
    }
}

fn named(function: &Value) -> bool {
    let name = function["name"].as_str().unwrap_or("");
    let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn says(content: &Value) -> bool {
    content.as_str().is_some_and(|text| !text.trim().is_empty())
}

/// Whether a content is a list of parts that are each known and not empty.
fn parts(content: &Value) -> Result<bool, String> {
    let Some(parts) = content.as_array() else { return Ok(false) };
    for part in parts {
        let good = match part["type"].as_str() {
            Some("text") => says(&part["text"]),
            Some("image_url") => {
                let url = part["image_url"]["url"].as_str().unwrap_or("");
                url.starts_with("https://") || url.starts_with("data:image/")
            }
            Some("file") => part["file"]["file_data"].as_str().is_some_and(|data| data.starts_with("data:")),
            _ => false,
        };
        if !good {
            return Err(format!("invalid content part {part}"));
        }
    }
    Ok(!parts.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn refuses_what_servers_refuse() {
        let body = |messages: Value| json!({"model": "m", "messages": messages});
        let system = json!({"role": "system", "content": "s"});
        let user = json!({"role": "user", "content": "x"});
        let call = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "aaaaaaaa1", "type": "function", "function": {"name": "T", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "aaaaaaaa1", "content": "y"});
        let with = |value: &Value, key: &str, new: Value| {
            let mut value = value.clone();
            value[key] = new;
            value
        };
        let fine = body(json!([system, user, call, result, user]));
        assert_eq!(request(&fine, Strict { short_ids: true, no_reasoning: true, echo: false }), Ok(()));
        assert!(request(&fine, Strict { echo: true, ..Strict::default() }).is_err());
        let broken = with(
            &call,
            "tool_calls",
            json!([{"id": "b", "type": "function", "function": {"name": "T", "arguments": "{"}}]),
        );
        for wrong in [
            json!([]),
            json!([user, system]),
            json!([user, call]),
            json!([user, call, user]),
            json!([user, result]),
            json!([user, call, result, result]),
            json!([user, call, result, call, result]),
            json!([user, with(&call, "content", json!("")), result]),
            json!([user, with(&call, "tool_calls", json!([]))]),
            json!([user, call, with(&result, "content", json!(" "))]),
            json!([user, broken, with(&result, "tool_call_id", json!("b"))]),
            json!([user, json!({"role": "assistant", "content": "z"})]),
            json!([with(&user, "content", json!([]))]),
            json!([with(&user, "content", json!([{"type": "image", "source": {}}]))]),
            json!([with(&user, "name", json!("n"))]),
        ] {
            assert!(request(&body(wrong.clone()), Strict::default()).is_err(), "{wrong}");
        }
    }
}
