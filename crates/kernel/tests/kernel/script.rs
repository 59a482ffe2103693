//! Owns the scripted model: a small line language, one block of lines per call, and a record of
//! every request. Must not know what the loop makes of the answers.
//!
//! ```text
//! text Hello there          shown as deltas, then a finished block
//! delta half a sen          shown, but never finished
//! think hmm                 a thinking block
//! call a echo {"text":"x"}  a tool call: id, name, input
//! other {"type":"x"}        a block of any kind
//! usage 100 20              tokens in and out
//! retry waiting             the model waits by itself before another attempt
//! stop max_tokens           why it ended; `end_turn` where no line says how
//! error rate_limited        the call fails; also overloaded, transport, stalled, auth, overflow,
//!                           invalid, refused
//! cut                       the stream ends early
//! pause 500                 nothing comes for so many milliseconds
//! stall                     nothing more comes until the call is cancelled
//! panic                     the model itself breaks
//! ```
//!
//! Blocks are separated by empty lines. A request with an extra message is one for a summary and is
//! answered by the block given to [`Script::summary`]. `{number}` stands for the number of the request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use kernel::{
    Block, ErrorKind, Message, Model, ModelError, ModelEvent, ModelEvents, ModelRequest, StopReason, ToolUseId, Usage,
};
use serde_json::{Map, Value, json};

use crate::cast::{Log, break_down};

/// One request as it was sent, serialised at that moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub model: String,
    pub max_tokens: u32,
    /// System blocks and tool specifications.
    pub prefix: Value,
    /// One JSON text per message.
    pub messages: Vec<String>,
    /// The message that is sent but not stored.
    pub extra: Option<String>,
}

/// A model that says what it was told to say.
#[derive(Default)]
pub struct Script {
    calls: Mutex<VecDeque<Vec<String>>>,
    summary: Mutex<Vec<String>>,
    summary_again: Mutex<Option<Vec<String>>>,
    sent: Mutex<Vec<Sent>>,
    log: Mutex<Option<Log>>,
}

impl Script {
    pub fn new(text: &str) -> Self {
        let script = Self::default();
        script.add(text);
        script
    }

    /// More calls, after those that are left.
    pub fn add(&self, text: &str) {
        self.calls.lock().unwrap().extend(blocks(text));
    }

    /// How each request for a summary is answered.
    pub fn summary(&self, text: &str) {
        *self.summary.lock().unwrap() = blocks(text).pop().unwrap();
    }

    /// How requests for a summary are answered after the first.
    pub fn summary_again(&self, text: &str) {
        *self.summary_again.lock().unwrap() = blocks(text).pop();
    }

    /// Every request so far, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// The requests that were not for a summary.
    pub fn turns(&self) -> Vec<Sent> {
        self.sent().into_iter().filter(|sent| sent.extra.is_none()).collect()
    }

    /// Forgets the calls that are left.
    pub fn clear(&self) {
        self.calls.lock().unwrap().clear();
    }

    /// Writes each request's messages down as `request JSON`.
    pub fn log(&self, log: &Log) {
        *self.log.lock().unwrap() = Some(log.clone());
    }
}

fn blocks(text: &str) -> Vec<Vec<String>> {
    let mut blocks = vec![Vec::new()];
    for line in text.lines().map(str::trim) {
        match line.is_empty() {
            true => blocks.push(Vec::new()),
            false => blocks.last_mut().unwrap().push(line.to_owned()),
        }
    }
    blocks.retain(|block: &Vec<String>| !block.is_empty());
    blocks
}

impl Model for Script {
    fn stream(&self, request: ModelRequest) -> ModelEvents {
        let sent = record(&request);
        if let Some(log) = &*self.log.lock().unwrap() {
            log.add(format!("request [{}]", sent.messages.join(",")));
        }
        self.sent.lock().unwrap().push(sent);
        let number = self.sent.lock().unwrap().len();
        let lines = match request.extra {
            Some(_) => {
                let again = self.summary_again.lock().unwrap().take();
                let mut summary = self.summary.lock().unwrap();
                let lines = summary.clone();
                *summary = again.unwrap_or(lines.clone());
                Some(lines)
            }
            None => self.calls.lock().unwrap().pop_front(),
        };
        let lines = lines.unwrap_or_else(|| vec!["error invalid the script has ended".into()]);
        if number > 1000 {
            break_down("asked without end");
        }
        if lines.iter().any(|line| line == "panic") {
            break_down("the model broke");
        }
        let lines: Vec<String> = lines.iter().map(|line| line.replace("{number}", &number.to_string())).collect();
        let cancel = request.cancel;
        stream::iter(steps(&lines))
            .then(move |step| {
                let cancel = cancel.clone();
                async move {
                    match step {
                        Step::Say(event) => Some(Some(event)),
                        Step::Pause(time) => {
                            tokio::time::sleep(time).await;
                            Some(None)
                        }
                        Step::Stall => {
                            cancel.cancelled().await;
                            None
                        }
                    }
                }
            })
            .take_while(|step| std::future::ready(step.is_some()))
            .filter_map(|step| std::future::ready(step.flatten()))
            .boxed()
    }
}

fn record(request: &ModelRequest) -> Sent {
    let prefix = &request.prefix;
    let json = |message: &Arc<Message>| serde_json::to_string(message).unwrap();
    let system: Vec<&str> = prefix.system.iter().map(|block| block.text.as_str()).collect();
    Sent {
        model: request.model.clone(),
        max_tokens: request.max_tokens,
        prefix: json!({"system": system, "tools": prefix.tools}),
        messages: request.messages.iter().map(json).collect(),
        extra: request.extra.as_ref().map(json),
    }
}

enum Step {
    Pause(Duration),
    Say(Result<ModelEvent, ModelError>),
    Stall,
}

fn steps(lines: &[String]) -> Vec<Step> {
    let mut steps = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            // Two pieces, so that merging is seen to be needed.
            "text" => {
                steps.extend(pieces(rest).map(|piece| say(ModelEvent::TextDelta(piece))));
                steps.push(say(ModelEvent::Block(Block::text(unescaped(rest)))));
            }
            "delta" => {
                steps.extend(pieces(rest).map(|piece| say(ModelEvent::TextDelta(piece))));
            }
            "think" => {
                steps.extend(pieces(rest).map(|piece| say(ModelEvent::ThinkingDelta(piece))));
                steps.push(say(ModelEvent::Block(Block::Thinking {
                    thinking: rest.to_owned(),
                    signature: Some("sig".into()),
                    extra: Map::new(),
                })));
            }
            "call" => steps.push(say(ModelEvent::Block(call(rest)))),
            "other" => {
                let block = Block::Other(serde_json::from_str(rest).unwrap());
                steps.push(say(ModelEvent::Block(block)));
            }
            "usage" => {
                let (input, output) = rest.split_once(' ').unwrap();
                steps.push(say(ModelEvent::Usage(Usage {
                    input_tokens: input.parse().unwrap(),
                    output_tokens: output.parse().unwrap(),
                    ..Usage::default()
                })));
            }
            "retry" => steps.push(say(ModelEvent::Retry {
                reason: rest.to_owned(),
                attempt: 1,
                delay: Duration::from_millis(7),
            })),
            "stop" => {
                steps.push(say(ModelEvent::Stop(stop(rest))));
                return steps;
            }
            "error" => {
                steps.push(Step::Say(Err(error(rest))));
                return steps;
            }
            "cut" => return steps,
            "pause" => steps.push(Step::Pause(Duration::from_millis(rest.parse().unwrap()))),
            "stall" => {
                steps.push(Step::Stall);
                return steps;
            }
            unknown => panic!("the script has no line `{unknown}`"),
        }
    }
    steps.push(say(ModelEvent::Stop(StopReason::EndTurn)));
    steps
}

fn say(event: ModelEvent) -> Step {
    Step::Say(Ok(event))
}

/// `\n` and `\s` stand for a line break and a space, which a line could not hold at its end.
fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\s", " ")
}

fn pieces(text: &str) -> impl Iterator<Item = String> + use<> {
    let text = unescaped(text);
    let middle = text.ceil_char_boundary(text.len() / 2);
    let (first, second) = text.split_at(middle);
    [first.to_owned(), second.to_owned()].into_iter().filter(|piece| !piece.is_empty())
}

fn call(text: &str) -> Block {
    let mut parts = text.splitn(3, ' ');
    let id = ToolUseId(parts.next().unwrap().to_owned());
    let name = parts.next().unwrap().to_owned();
    let input = parts.next().map_or(json!({}), |input| serde_json::from_str(input).unwrap());
    Block::ToolUse { id, name, input, extra: Map::new() }
}

fn stop(text: &str) -> StopReason {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    match word {
        "end_turn" => StopReason::EndTurn,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal((!rest.is_empty()).then(|| rest.to_owned())),
        "pause_turn" => StopReason::PauseTurn,
        "context_window" => StopReason::ContextWindow,
        "half_call" => StopReason::HalfCall,
        other => StopReason::Other(other.to_owned()),
    }
}

fn error(text: &str) -> ModelError {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = match word {
        "rate_limited" => ErrorKind::RateLimited(Some(Duration::from_millis(20))),
        "overloaded" => ErrorKind::Overloaded(None),
        "transport" => ErrorKind::Transport,
        "stalled" => ErrorKind::Stalled,
        "auth" => ErrorKind::Auth,
        "overflow" => ErrorKind::ContextOverflow,
        "too_large" => ErrorKind::TooLarge,
        "media" => ErrorKind::Media,
        "thinking" => ErrorKind::Thinking,
        "invalid" => ErrorKind::Invalid,
        "refused" => ErrorKind::Refused,
        unknown => panic!("the script has no error `{unknown}`"),
    };
    ModelError::new(kind, if rest.is_empty() { word } else { rest })
}
