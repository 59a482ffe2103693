//! The vendor's prefix cache under its documented rules: written only at a mark, read from a mark
//! back over at most twenty blocks, in the order tools, system, messages. A session is played against
//! it, and every token must be written once and read ever after.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kernel::{Block, Message, ModelRequest, Prefix, Role};
use models::anthropic::body;
use serde_json::{Value, json};

use crate::support::{assistant, call, plain, prefix, request, result};

/// How far a read looks back, the mark's own block included.
const LOOK_BACK: usize = 20;
const MOST_MARKS: usize = 4;

/// The cache: the prefixes that were written, by their hash.
#[derive(Default)]
struct Cache(HashSet<u64>);

/// What became of one request, in blocks.
#[derive(Debug, PartialEq)]
struct Bill {
    read: usize,
    written: usize,
    plain: usize,
}

/// A request as the cache sees it: its blocks in order, and which of them are marked.
fn blocks(body: &Value) -> Vec<(String, bool)> {
    let lists = [&body["tools"], &body["system"]].map(|list| (String::new(), list.clone()));
    let messages = body["messages"].as_array().unwrap().iter();
    let messages = messages.map(|message| (message["role"].to_string(), message["content"].clone()));
    let mut all = Vec::new();
    for (role, list) in lists.into_iter().chain(messages) {
        for block in list.as_array().unwrap() {
            let mut block = block.clone();
            let mark = block.as_object_mut().unwrap().remove("cache_control");
            // One lifetime for all marks, so that a longer one cannot come after a shorter one.
            assert!(mark.as_ref().is_none_or(|mark| *mark == json!({"type": "ephemeral"})), "{mark:?}");
            assert!(mark.is_none() || block["type"] != "thinking", "thinking takes no mark");
            all.push((format!("{role}{block}\n"), mark.is_some()));
        }
    }
    all
}

impl Cache {
    fn bill(&mut self, blocks: &[(String, bool)]) -> Bill {
        let mut so_far = DefaultHasher::new();
        let mut prefix = |(text, _): &(String, bool)| {
            text.hash(&mut so_far);
            so_far.finish()
        };
        let prefixes: Vec<u64> = blocks.iter().map(&mut prefix).collect();
        let marks: Vec<usize> = (0..blocks.len()).filter(|at| blocks[*at].1).collect();
        assert!(marks.len() <= MOST_MARKS, "{} marks", marks.len());
        let seen = |mark: &usize| {
            (0..LOOK_BACK).map_while(|back| mark.checked_sub(back)).find(|at| self.0.contains(&prefixes[*at]))
        };
        let read = marks.iter().filter_map(seen).max().map_or(0, |at| at + 1);
        let last = marks.last().map_or(0, |at| at + 1);
        self.0.extend(marks.iter().map(|at| prefixes[*at]));
        Bill { read, written: last.saturating_sub(read), plain: blocks.len() - last.max(read) }
    }
}

fn sent(request: &ModelRequest) -> Vec<(String, bool)> {
    blocks(&serde_json::from_slice(&body(request, &plain())).unwrap())
}

fn with(messages: &[Arc<Message>]) -> ModelRequest {
    ModelRequest { messages: Arc::new(messages.to_vec()), ..request(Vec::new()) }
}

/// One turn of the session: so many calls side by side, with thinking and words before them.
fn turn(number: usize, calls: usize) -> [Message; 2] {
    let id = |call: usize| format!("toolu_{number}_{call}");
    let thinking = Block::Thinking {
        thinking: format!("thought {number}"),
        signature: Some("c2ln".into()),
        extra: serde_json::Map::new(),
    };
    let uses = (0..calls).map(|n| call(&id(n), "Read", json!({"file_path": format!("{number}/{n}.txt")})));
    let answer = [thinking, Block::text("so")].into_iter().chain(uses).collect();
    let mut results: Vec<Block> = (0..calls).map(|n| result(&id(n), &format!("text {number} {n}"), false)).collect();
    if calls == 0 || number.is_multiple_of(7) {
        results.push(Block::text(format!("and prompt {number}")));
    }
    [assistant(answer), Message::new(Role::User, results)]
}

/// Plays a session and checks each request: all blocks of the request before are read, and the new
/// ones are written, each once.
fn play(calls: impl Fn(usize) -> usize, turns: usize) -> usize {
    let mut cache = Cache::default();
    let mut messages = vec![Arc::new(Message::user("begin"))];
    let mut before = 0;
    let mut written = HashMap::new();
    for number in 1..=turns {
        let blocks = sent(&with(&messages));
        let bill = cache.bill(&blocks);
        assert_eq!(bill, Bill { read: before, written: blocks.len() - before, plain: 0 }, "request {number}");
        for at in bill.read..blocks.len() {
            *written.entry(at).or_insert(0) += 1;
        }
        before = blocks.len();
        messages.extend(turn(number, calls(number)).map(Arc::new));
    }
    assert!(written.values().all(|times| *times == 1));
    before
}

#[test]
fn a_session_of_a_hundred_turns_is_written_once_and_read_ever_after() {
    // Up to 24 calls side by side: such a turn alone adds 50 blocks.
    assert_eq!(play(|number| number * 7 % 25, 100), 2620);
}

#[test]
fn cache_breakpoints_cd6e21() {
    // Every turn adds fifteen calls and fifteen results, more than a read looks back over.
    assert_eq!(play(|_| 15, 10), 294);
}

#[test]
fn cache_breakpoints_86644b() {
    // `blocks` asserts that every mark has the same lifetime.
    let marks = sent(&request(vec![Message::user("a")]));
    assert_eq!(marks.iter().map(|(_, marked)| *marked).collect::<Vec<_>>(), [false, true, true, false, true]);
}

#[test]
fn cache_stability_27d55b() {
    // The same parts give the same bytes, whoever puts them together and however often.
    let of = |prefix: Prefix| {
        let request = ModelRequest { prefix: Arc::new(prefix), ..request(vec![Message::user("a")]) };
        body(&request, &plain())
    };
    let first = of(prefix());
    assert!((0..20).all(|_| of(prefix()) == first));
    // A schema whose keys come in another order than the alphabet's keeps that order.
    let schema: Value =
        serde_json::from_str(r#"{"type":"object","properties":{"b":{},"a":{}},"required":["b"]}"#).unwrap();
    let mut odd = prefix().tools.to_vec();
    odd[0].input_schema = schema;
    let text = String::from_utf8(of(Prefix::new(prefix().system.to_vec(), odd))).unwrap();
    assert!(
        text.contains(r#""input_schema":{"type":"object","properties":{"b":{},"a":{}},"required":["b"]}"#),
        "{text}"
    );
}

/// A reminder once said stays where it was: what comes later is appended (thinking is bound to what
/// came before it).
#[test]
fn thinking_append_only_416400() {
    let mut messages = vec![Arc::new(Message::new(Role::User, vec![Block::text("go"), Block::text("reminder")]))];
    let first = sent(&with(&messages));
    messages.extend(turn(1, 2).map(Arc::new));
    let second = sent(&with(&messages));
    let texts = |blocks: &[(String, bool)]| blocks.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(&second)[..first.len()], texts(&first));
}
