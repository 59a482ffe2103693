//! Owns what the double answers: streams of the Messages API, errors, and faults of a network.

use std::time::Duration;

use serde_json::{Value, json};

/// How an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// As HTTP wants it.
    Whole,
    /// The connection is closed before the body is complete.
    Cut,
    /// Nothing more comes, and the connection stays open until the client closes it.
    Open,
    /// The connection is closed without a word.
    Silent,
}

/// One HTTP answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// Headers besides those of framing.
    pub headers: Vec<(String, String)>,
    /// The body, each piece sent by itself.
    pub pieces: Vec<Vec<u8>>,
    /// How long is waited before each piece.
    pub pause: Duration,
    /// How it ends.
    pub end: End,
}

impl Reply {
    /// A streamed message with these content blocks.
    pub fn message(content: &[Value], stop_reason: &str) -> Self {
        Self::stream(&sse(content, stop_reason, 1000, 20))
    }

    /// The same with these token counts.
    pub fn message_using(content: &[Value], stop_reason: &str, input: u64, output: u64) -> Self {
        Self::stream(&sse(content, stop_reason, input, output))
    }

    /// A streamed message of one text.
    pub fn text(text: &str) -> Self {
        Self::message(&[json!({"type": "text", "text": text})], "end_turn")
    }

    /// A streamed message that calls one tool.
    pub fn call(id: &str, name: &str, input: Value) -> Self {
        let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        Self::message(&[call], "tool_use")
    }

    /// This text as an event stream.
    pub fn stream(body: &str) -> Self {
        Self {
            status: 200,
            headers: vec![("content-type".into(), "text/event-stream; charset=utf-8".into())],
            pieces: vec![body.as_bytes().to_vec()],
            pause: Duration::ZERO,
            end: End::Whole,
        }
    }

    /// An error of the API.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let body = json!({"type": "error", "error": {"type": kind, "message": message},
            "request_id": "req_test"});
        Self {
            status,
            headers: vec![("content-type".into(), "application/json".into())],
            pieces: vec![body.to_string().into_bytes()],
            pause: Duration::ZERO,
            end: End::Whole,
        }
    }

    /// The same with a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// The same in pieces that end at these offsets of the body.
    pub fn split_at(mut self, offsets: &[usize]) -> Self {
        let body = self.pieces.concat();
        let mut from = 0;
        self.pieces.clear();
        for to in offsets.iter().copied().chain([body.len()]) {
            self.pieces.push(body[from..to].to_vec());
            from = to;
        }
        self
    }

    /// The same, cut after so many bytes of the body.
    pub fn cut_after(self, bytes: usize) -> Self {
        self.ends_after(bytes, End::Cut)
    }

    /// The same, less what comes after so many bytes of the body.
    pub fn ends_after(mut self, bytes: usize, end: End) -> Self {
        let mut body = self.pieces.concat();
        body.truncate(bytes);
        self.pieces = vec![body];
        self.end = end;
        self
    }

    /// Bytes of the body.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    /// Whether there is no body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The events of a message as the API streams them.
pub fn sse(content: &[Value], stop_reason: &str, input: u64, output: u64) -> String {
    let mut out = String::new();
    let mut event = |data: Value| {
        let kind = data["type"].as_str().unwrap().to_owned();
        out.push_str(&format!("event: {kind}\ndata: {data}\n\n"));
    };
    event(json!({"type": "message_start", "message": {"id": "msg_test", "type": "message",
        "role": "assistant", "content": [], "model": "test", "stop_reason": null,
        "usage": {"input_tokens": input, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": 1}}}));
    event(json!({"type": "ping"}));
    for (index, block) in content.iter().enumerate() {
        let (start, deltas) = pieces(block);
        event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        event(json!({"type": "content_block_stop", "index": index}));
    }
    event(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason,
        "stop_sequence": null}, "usage": {"output_tokens": output}}));
    event(json!({"type": "message_stop"}));
    out
}

/// The start of a block and the deltas that complete it.
fn pieces(block: &Value) -> (Value, Vec<Value>) {
    match block["type"].as_str().unwrap() {
        "text" => {
            let deltas = halves(block["text"].as_str().unwrap());
            let deltas = deltas.map(|text| json!({"type": "text_delta", "text": text}));
            (json!({"type": "text", "text": ""}), deltas.to_vec())
        }
        "tool_use" => {
            let input = block["input"].to_string();
            let deltas = halves(&input).map(|part| json!({"type": "input_json_delta", "partial_json": part}));
            let mut start = block.clone();
            start["input"] = json!({});
            (start, deltas.to_vec())
        }
        "thinking" => {
            let deltas = vec![
                json!({"type": "thinking_delta", "thinking": block["thinking"]}),
                json!({"type": "signature_delta", "signature": block["signature"]}),
            ];
            (json!({"type": "thinking", "thinking": "", "signature": ""}), deltas)
        }
        _ => (block.clone(), Vec::new()),
    }
}

fn halves(text: &str) -> [&str; 2] {
    let (first, second) = text.split_at(text.floor_char_boundary(text.len() / 2));
    [first, second]
}
