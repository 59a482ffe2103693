//! Owns what the model says in a session of chaos: calls and words drawn from a seed, and what
//! becomes of each answer on its way. Must not know what is asserted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fastrand::Rng;
use serde_json::{Value, json};
use testkit::faults::FAULTS;
use testkit::{Reply, Wire};

/// After so many requests the model only talks, and after twice as many nothing breaks any more.
const CALLING: usize = 12;

/// The server's side of one session.
pub struct Story {
    seed: u64,
    wire: &'static Wire,
    /// From now on the model says a word and nothing breaks.
    pub calm: AtomicBool,
    log: Mutex<Log>,
}

/// What was sent.
#[derive(Debug, Default, Clone)]
pub struct Log {
    /// A word that is part of exactly one call, for each call that leaves a trace.
    pub tokens: Vec<String>,
    /// What became of each answer.
    pub faults: Vec<&'static str>,
}

impl Story {
    pub fn new(seed: u64, wire: &'static Wire) -> Self {
        Self { seed, wire, calm: AtomicBool::new(false), log: Mutex::default() }
    }

    /// The name of the dialect that is spoken.
    pub fn dialect(&self) -> &'static str {
        self.wire.name
    }

    pub fn log(&self) -> Log {
        self.log.lock().unwrap().clone()
    }

    /// The answer to the nth request.
    pub fn reply(&self, number: usize) -> Reply {
        let mut rng = Rng::with_seed(self.seed ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if self.calm.load(Ordering::Acquire) {
            return Reply::stream(&(self.wire.stream)(&[text("All is well.")], "end_turn", 100, 5));
        }
        let mut log = self.log.lock().unwrap();
        let (content, stop) = answer(&mut rng, number, &mut log.tokens);
        let input = rng.u64(1..5000);
        let whole = match rng.u8(..20) {
            0 => {
                let mut reply = Reply::stream(&(self.wire.whole)(&content, stop).to_string());
                reply.headers = vec![("content-type".into(), "application/json".into())];
                reply
            }
            _ => Reply::stream(&(self.wire.stream)(&content, stop, input, 20)),
        };
        let breaks = number < 2 * CALLING && rng.u8(..100) < 45;
        let (name, reply) = match breaks.then(|| rng.choice(FAULTS)).flatten() {
            Some((name, fault)) => (name, fault(self.wire, whole, &mut rng)),
            None => ("whole", whole),
        };
        log.faults.push(name);
        reply
    }
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Content and reason to stop.
fn answer(rng: &mut Rng, number: usize, tokens: &mut Vec<String>) -> (Vec<Value>, &'static str) {
    let mut content = Vec::new();
    if rng.u8(..4) == 0 {
        content.push(json!({"type": "thinking", "thinking": "Hmm, 想一想 🙂", "signature": "c2ln"}));
    }
    match rng.u8(..20) {
        0 => return (content, "end_turn"),
        1 => content.push(text(" \n")),
        2..10 => content.push(text("Gut, ich sehe nach. 好的 🙂")),
        _ => {}
    }
    if number < CALLING && rng.u8(..3) > 0 {
        for at in 0..rng.usize(1..5) {
            let mut call = call(rng, number, at);
            if let Some(token) = leaves_trace(&mut call, rng) {
                tokens.push(token);
            }
            content.push(call);
        }
        // A model may be stopped in a call, and some servers name another reason.
        let reasons = ["tool_use", "tool_use", "tool_use", "end_turn", "max_tokens", "stop_sequence"];
        return (content, reasons[rng.usize(..reasons.len())]);
    }
    content.push(text("Done. 完成"));
    let reasons = ["end_turn", "end_turn", "end_turn", "end_turn", "max_tokens", "refusal", "something_new"];
    (content, reasons[rng.usize(..reasons.len())])
}

fn call(rng: &mut Rng, number: usize, at: usize) -> Value {
    let id = match rng.u8(..12) {
        0 => String::new(),
        1 => "call:0 ünique?".to_owned(),
        2 => "toolu_same".to_owned(),
        _ => format!("toolu_{number}_{at}"),
    };
    let (name, input) = match rng.u8(..16) {
        0..7 => ("Bash", json!({"command": ""})),
        7..10 => ("Read", json!({"file_path": "a.txt"})),
        10 => ("Read", json!({"file_path": "missing.txt"})),
        11 => ("Write", json!({"file_path": format!("w{number}.txt"), "content": "text\n"})),
        12 => ("Fly", json!({"to": "the moon"})),
        13 => ("Read", json!({"file_path": 7})),
        14 => ("Bash", json!({"command": "touch outside; false"})),
        _ => ("Agent", json!({"subagent_type": "general", "prompt": "Look.", "description": "look"})),
    };
    json!({"type": "tool_use", "id": id, "name": name, "input": input})
}

/// Gives a call its command. It writes a word of its own down each time that it runs; a few broken
/// bytes do not make another call's word of it.
fn leaves_trace(call: &mut Value, rng: &mut Rng) -> Option<String> {
    if call["input"]["command"] != "" {
        return None;
    }
    let token = format!("t{:016x}", rng.u64(..));
    call["input"]["command"] = json!(format!("note {token}"));
    Some(token)
}
