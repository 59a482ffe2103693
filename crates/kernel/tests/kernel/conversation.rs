//! Owns history by itself: what each method does to it, and that no sequence of them makes one that
//! could not be sent.

use std::sync::Arc;

use kernel::conversation::{Fault, INTERRUPTED, check};
use kernel::message::Encoded;
use kernel::{Block, Conversation, Draft, EpochKind, Message, Prefix, ResultContent, Role, ToolUseId};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::notation::{self, expect};
use crate::properties::config;
use crate::valid::{assert_sendable, fault};

fn empty() -> Conversation {
    Conversation::new(Prefix::default())
}

fn call(id: &str) -> Block {
    Block::ToolUse { id: ToolUseId(id.into()), name: "echo".into(), input: json!({}), extra: Map::new() }
}

fn result(id: &str) -> Block {
    Block::result(ToolUseId(id.into()), ResultContent::Text("x".into()), false)
}

fn record(conversation: &mut Conversation, id: &str, text: &str) -> bool {
    conversation.record_result(&ToolUseId(id.into()), ResultContent::Text(text.into()), false)
}

fn lines(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| notation::message(message)).collect()
}

/// A block without a type, or of a known type without its fields, can never be sent: it would be a
/// call that nobody answers.
#[test]
fn what_is_no_block_does_not_enter() {
    let mut conversation = empty();
    conversation.push_user(vec![Block::text("go"), Block::Other(json!(null))]).unwrap();
    let nothing = ["null", "7", r#"{"a": 1}"#, r#"{"type": "tool_use", "id": "a"}"#, r#"{"type": "text"}"#];
    let nothing = nothing.map(|text| Block::Other(serde_json::from_str(text).unwrap()));
    assert_eq!(conversation.push_assistant(nothing.to_vec()), None);
    let known = [Block::text("hm"), Block::Other(json!({"type": "server_tool_use", "id": "s"}))];
    let kept = conversation.push_assistant([nothing.as_slice(), known.as_slice()].concat()).unwrap();
    assert_eq!(kept.content, known);
    assert_sendable(&conversation.messages());
}

#[test]
fn a_round_is_closed_in_call_order_by_whatever_comes_next() {
    let mut conversation = empty();
    conversation.push_user(vec![Block::text("go")]).unwrap();
    conversation.push_assistant(vec![call("a"), call("b"), call("c")]);
    assert!(record(&mut conversation, "c", "third"));
    assert!(record(&mut conversation, "a", "first"));
    assert!(!record(&mut conversation, "a", "again"), "a second result");
    assert!(!record(&mut conversation, "x", "strange"), "a call that was never made");
    let open = format!(r#"result a ok "first" | result b error "{INTERRUPTED}" | result c ok "third""#);
    expect(
        &lines(&conversation.history())[1..],
        &format!("assistant: call a echo {{}} | call b echo {{}} | call c echo {{}}\nuser: {open}"),
    );
    assert_eq!(conversation.messages().len(), 2, "an open round is not among the messages");
    // The caller gets back what was said; the results in front of it were told of before.
    let said = conversation.push_user(vec![Block::text("on")]).unwrap();
    assert_eq!(said.content, [Block::text("on")]);
    assert_eq!(conversation.asked(), [Block::text("on")]);
    expect(&lines(&conversation.history())[2..], &format!("user: {open} | \"on\""));
    assert!(!record(&mut conversation, "b", "late"), "the round is closed");
    assert_eq!(conversation.history(), conversation.messages());
}

#[test]
fn an_answer_after_an_open_round_closes_it_first() {
    let mut conversation = empty();
    conversation.push_user(vec![Block::text("go")]).unwrap();
    conversation.push_assistant(vec![call("a")]);
    conversation.push_assistant(vec![Block::text("hm")]);
    expect(&lines(&conversation.history())[2..], &format!("user: result a error \"{INTERRUPTED}\"\nassistant: \"hm\""));
}

#[test]
fn blanks_change_nothing() {
    let mut conversation = empty();
    assert_eq!(conversation.push_user(vec![Block::text(" \n")]), Err(Fault::Empty));
    assert_eq!(conversation.push_user(Vec::new()), Err(Fault::Empty));
    conversation.push_user(vec![Block::text("go")]).unwrap();
    conversation.push_assistant(vec![call("a")]);
    assert_eq!(conversation.push_assistant(vec![Block::text("\u{3000}")]), None);
    assert!(conversation.push_user(vec![Block::text("")]).is_err());
    assert!(record(&mut conversation, "a", "still open"));
    assert_eq!(conversation.asked(), [Block::text("go")]);
    assert_eq!(conversation.append(vec![Block::text("")]), None);
    assert_eq!(conversation.messages().len(), 2, "the round is still open");
    conversation.close_round();
    conversation.close_round();
    assert_eq!(conversation.messages().len(), 3);
}

#[test]
fn an_epoch_replaces_history_or_nothing() {
    let said = |text: &str| Message::new(Role::Assistant, vec![Block::text(text)]);
    let mut conversation = empty();
    conversation.push_user(vec![Block::text("a long request".repeat(10))]).unwrap();
    conversation.push_assistant(vec![call("a")]);
    let mut open = |kind, messages| conversation.open_epoch(Draft { kind, messages: shared(messages) }, None);
    let short = || vec![Message::user("short")];
    assert_eq!(open(EpochKind::Summary, short()), Err(Fault::OpenRound));
    assert_eq!(open(EpochKind::Filtered, short()), Err(Fault::OpenRound));
    assert_eq!(open(EpochKind::Fresh, vec![said("x")]), Err(broken(0, "a history starts with a message of the user")));
    assert_eq!(open(EpochKind::Fresh, vec![Message::user(" ")]), Err(broken(0, "no message and no text may be blank")));
    conversation.close_round();
    assert_eq!(conversation.messages().len(), 3);
    let draft = Draft { kind: EpochKind::Summary, messages: shared(vec![Message::user("x".repeat(1000))]) };
    assert_eq!(conversation.open_epoch(draft, None), Err(Fault::NotSmaller { before: 52, after: 250 }));
    assert_eq!(conversation.messages().len(), 3);
    let draft = Draft { kind: EpochKind::Summary, messages: shared(short()) };
    conversation.open_epoch(draft, None).unwrap();
    expect(&lines(&conversation.history()), "user: \"short\"");
    assert_eq!(conversation.tokens(), 1);
}

#[test]
fn an_epoch_keeps_its_prefix_until_it_is_given_another() {
    let system = |text: &str| {
        let block = kernel::SystemBlock { text: text.into(), cache: true };
        Prefix::new(vec![block], Vec::new())
    };
    let mut conversation = Conversation::new(system("one"));
    conversation.push_user(vec![Block::text("go")]).unwrap();
    let first = conversation.prefix();
    let fresh = || Draft { kind: EpochKind::Fresh, messages: Vec::new() };
    conversation.open_epoch(fresh(), None).unwrap();
    assert!(Arc::ptr_eq(&first, &conversation.prefix()));
    conversation.open_epoch(fresh(), Some(system("two"))).unwrap();
    assert_eq!(conversation.prefix().system[0].text, "two");
    assert!(conversation.history().is_empty());
}

const PAIRS: &str = "the results of all calls before it come first, in order, and no others";

fn broken(number: usize, rule: &'static str) -> Fault {
    Fault::Broken { number, rule }
}

#[test]
fn a_history_is_checked() {
    let user = |blocks: Vec<Block>| Message::new(Role::User, blocks);
    let model = |blocks: Vec<Block>| Message::new(Role::Assistant, blocks);
    let go = || Message::user("go");
    let table = [
        (vec![], Ok(())),
        (vec![go(), model(vec![call("a")]), user(vec![result("a"), Block::text("x")])], Ok(())),
        (vec![model(vec![Block::text("x")])], Err(broken(0, "a history starts with a message of the user"))),
        (vec![go(), user(vec![])], Err(broken(1, "no message and no text may be blank"))),
        (vec![go(), model(vec![call("a")])], Err(broken(2, "the results of the last calls are missing"))),
        (vec![go(), model(vec![call("a")]), go()], Err(broken(2, PAIRS))),
        (vec![go(), model(vec![call("a")]), user(vec![Block::text("x"), result("a")])], Err(broken(2, PAIRS))),
        (vec![user(vec![result("a")])], Err(broken(0, PAIRS))),
        (vec![user(vec![call("a")]), user(vec![result("a")])], Err(broken(0, "only the model calls tools"))),
        (vec![go(), model(vec![call("a")]), model(vec![result("a")])], Err(broken(2, PAIRS))),
        (
            vec![go(), model(vec![call("a"), call("a")]), user(vec![result("a"), result("a")])],
            Err(broken(1, "call ids are unique and of letters, digits, - and _")),
        ),
        (vec![go(), model(vec![call("a")]), user(vec![result("a"), result("a")])], Err(broken(2, PAIRS))),
    ];
    for (messages, expected) in table {
        let messages = shared(messages);
        assert_eq!(check(&messages), expected, "{messages:?}");
        let values: Vec<Value> = messages.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
        assert_eq!(fault(&values).is_none(), expected.is_ok(), "the two opinions differ: {values:?}");
    }
}

/// A resumed history brings ids of its own; a provider that counts calls will use them again.
#[test]
fn ids_of_a_history_that_was_brought_in_are_taken() {
    let mut conversation = empty();
    let messages = vec![
        Message::user("go"),
        Message::new(Role::Assistant, vec![call("call_0")]),
        Message::new(Role::User, vec![result("call_0")]),
    ];
    conversation.open_epoch(Draft { kind: EpochKind::Fresh, messages: shared(messages) }, None).unwrap();
    conversation.push_assistant(vec![call("call_0")]);
    assert_sendable(&conversation.history());
}

/// Ids that could not be sent are refused with the history that holds them, or made sendable.
#[test]
fn a_history_that_was_brought_in_has_sendable_ids() {
    let mut conversation = empty();
    let messages = vec![
        Message::user("go"),
        Message::new(Role::Assistant, vec![call("call_x|fc_y")]),
        Message::new(Role::User, vec![result("call_x|fc_y")]),
    ];
    let _ = conversation.open_epoch(Draft { kind: EpochKind::Fresh, messages: shared(messages) }, None);
    assert_sendable(&conversation.history());
}

/// Blocks come from prompts and features, which are no more to be trusted than a model.
#[test]
fn a_stray_result_or_call_does_not_enter_the_history() {
    let mut conversation = empty();
    let _ = conversation.push_user(vec![Block::text("go"), result("x")]);
    conversation.append(vec![Block::text("note"), result("y"), call("z")]);
    conversation.push_assistant(vec![Block::text("hm"), result("w")]);
    assert_sendable(&conversation.history());
}

#[test]
fn an_answer_to_nothing_does_not_begin_a_history() {
    let mut conversation = empty();
    conversation.push_assistant(vec![Block::text("hello")]);
    assert_sendable(&conversation.history());
}

#[test]
fn a_message_survives_a_round_trip() {
    let text = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s","k":1},{"type":"text","text":"t","citations":[]},{"type":"tool_use","id":"a","name":"n","input":{"b":1,"a":[2.5]},"caller":{"type":"direct"}},{"type":"redacted_thinking","data":"x"},{"type":"text"},{"type":"new","z":null}]}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
    let kinds: Vec<bool> = message.content.iter().map(|block| matches!(block, Block::Other(_))).collect();
    assert_eq!(kinds, [false, false, false, true, true, true]);
}

/// Every known field of a block of any kind is kept, and so is every unknown one.
#[test]
fn unknown_fields_of_a_result_survive_a_round_trip() {
    let text = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x","is_error":true,"cache_control":{"type":"ephemeral"}}]}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
}

/// The APIs let a result have no content; a journal or another program may have written one.
#[test]
fn a_result_without_content_is_still_a_result() {
    let text = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert!(matches!(message.content[0], Block::ToolResult { .. }), "{message:?}");
    assert!(!message.is_plain_user());
}

#[test]
fn bytes_are_made_once_for_each_dialect() {
    let message = Message::user("hi");
    let encode = |bytes: &'static [u8]| move || Encoded { bytes: bytes.to_vec(), marks: vec![1] };
    let first = message.memo.get("one", encode(b"first"));
    assert!(Arc::ptr_eq(&first, &message.memo.get("one", || panic!("made twice"))));
    assert_eq!(message.memo.get("two", encode(b"second")).bytes, b"second");
    assert_eq!(message.memo.get("one", encode(b"third")).bytes, b"first");
}

/// One step of a caller.
#[derive(Debug, Clone)]
enum Step {
    User(Vec<Block>),
    Append(Vec<Block>),
    /// The open round is closed.
    Close,
    Assistant(Vec<Block>),
    /// A result for the nth call so far.
    Record(usize),
    /// An epoch of this kind made of the first so many messages.
    Epoch(EpochKind, usize),
    /// A history from elsewhere.
    Resume,
    /// A fresh start.
    Clear,
}

fn text() -> impl Strategy<Value = Block> {
    prop::sample::select(vec!["", " ", "\n\t", "a", "b c", "\u{200b}", "汉字 ", "\u{3000}"]).prop_map(Block::text)
}

fn said() -> impl Strategy<Value = Block> {
    let id = prop::sample::select(vec!["a", "b", "a_2", "", "x|y", "x_y", "é", "-"]);
    let thinking = Block::Thinking { thinking: String::new(), signature: Some("s".into()), extra: Map::new() };
    prop_oneof![
        2 => text(),
        3 => id.prop_map(call),
        1 => Just(thinking),
        1 => Just(Block::Other(json!({"type": "server_tool_use", "id": "s"}))),
    ]
}

fn stray() -> impl Strategy<Value = Block> {
    prop_oneof![said(), prop::sample::select(vec!["a", "b", "z"]).prop_map(result)]
}

fn some<S: Strategy<Value = Block>>(block: S) -> impl Strategy<Value = Vec<Block>> {
    prop::collection::vec(block, 0..4)
}

fn kind() -> impl Strategy<Value = EpochKind> {
    prop::sample::select(vec![EpochKind::Summary, EpochKind::Filtered, EpochKind::Fresh])
}

/// What well-behaved callers do.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => some(text()).prop_map(Step::User),
        2 => some(text()).prop_map(Step::Append),
        1 => Just(Step::Close),
        4 => some(said()).prop_map(Step::Assistant),
        4 => (0..12_usize).prop_map(Step::Record),
        1 => (kind(), 0..6_usize).prop_map(|(kind, count)| Step::Epoch(kind, count)),
        1 => Just(Step::Clear),
    ]
}

/// What any caller of the public methods may do.
fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => step(),
        1 => some(stray()).prop_map(Step::User),
        1 => some(stray()).prop_map(Step::Append),
        1 => some(stray()).prop_map(Step::Assistant),
        1 => Just(Step::Resume),
    ]
}

fn take(conversation: &mut Conversation, step: &Step, calls: &mut Vec<(ToolUseId, bool)>) {
    let before = conversation.history();
    let kept = conversation.messages();
    let mut replaced = false;
    match step {
        Step::User(blocks) => {
            if conversation.push_user(blocks.clone()).is_err() {
                assert_eq!(conversation.history(), before, "an error changed something");
            }
        }
        Step::Append(blocks) => {
            if conversation.append(blocks.clone()).is_none() {
                assert_eq!(conversation.history(), before, "nothing changed something");
            }
        }
        Step::Close => {
            conversation.close_round();
            assert_eq!(conversation.history(), before, "what would be sent has changed");
            assert_eq!(conversation.messages(), before, "the round is still open");
        }
        Step::Assistant(blocks) => match conversation.push_assistant(blocks.clone()) {
            None => assert_eq!(conversation.history(), before, "nothing changed something"),
            Some(message) => {
                calls.iter_mut().for_each(|(_, open)| *open = false);
                calls.extend(message.content.iter().filter_map(|block| match block {
                    Block::ToolUse { id, .. } => Some((id.clone(), true)),
                    _ => None,
                }));
            }
        },
        Step::Record(number) => {
            let Some((id, open)) = calls.get_mut(*number) else { return };
            let content = ResultContent::Text("done".into());
            let taken = conversation.record_result(id, content, false);
            assert!(!taken || *open, "a result was taken for a call that is closed");
            *open &= !taken;
        }
        Step::Epoch(kind, count) => {
            let messages = before.iter().take(*count);
            let messages = messages.cloned().collect();
            replaced = conversation.open_epoch(Draft { kind: *kind, messages }, None).is_ok();
            assert!(replaced || conversation.history() == before, "an error changed something");
        }
        Step::Resume => {
            let messages = vec![
                Message::user("go"),
                Message::new(Role::Assistant, vec![call("a"), call("b")]),
                Message::new(Role::User, vec![result("a"), result("b")]),
            ];
            let draft = Draft { kind: EpochKind::Fresh, messages: shared(messages) };
            replaced = conversation.open_epoch(draft, None).is_ok();
        }
        Step::Clear => {
            let draft = Draft { kind: EpochKind::Fresh, messages: Vec::new() };
            conversation.open_epoch(draft, None).unwrap();
            replaced = true;
        }
    }
    let messages = conversation.messages();
    let same = |(one, other): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(one, other);
    assert!(
        replaced || messages.len() >= kept.len() && kept.iter().zip(messages.iter()).all(same),
        "a message that was sent has changed"
    );
    assert_sendable(&conversation.history());
}

fn run(steps: &[Step], is_well_behaved: bool) {
    let mut conversation = empty();
    let mut calls = Vec::new();
    for step in steps {
        // The loop never lets the model speak first.
        let first = conversation.history().is_empty();
        if !(is_well_behaved && first && matches!(step, Step::Assistant(_))) {
            take(&mut conversation, step, &mut calls);
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn no_sequence_of_steps_makes_a_history_that_cannot_be_sent(
        steps in prop::collection::vec(step(), 0..30)
    ) {
        run(&steps, true);
    }

    #[test]
    fn nor_does_a_careless_caller(steps in prop::collection::vec(any_step(), 0..30)) {
        run(&steps, false);
    }
}

fn shared(messages: Vec<Message>) -> Vec<std::sync::Arc<Message>> {
    messages.into_iter().map(std::sync::Arc::new).collect()
}
