//! What the model is told, and what it is told when it gets it wrong.

use kernel::{ToolPool, ToolSpec};
use serde_json::json;

use crate::support::tool;

fn specs() -> Vec<ToolSpec> {
    ToolPool::new(tools::builtin(Vec::new(), &[], &Default::default())).specs()
}

#[test]
fn schemas_are_plain() {
    let schemas: Vec<_> = specs().into_iter().map(|spec| (spec.name, spec.input_schema)).collect();
    let field = |kind: &str, about: &str| json!({"type": kind, "description": about});
    let number =
        |kind: &str, minimum: u32, about: &str| json!({"type": kind, "minimum": minimum, "description": about});
    let path = "Path of the file, absolute or relative to the working folder.";
    let expected = [
        (
            "Read".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "file_path": field("string", path),
                    "offset": number("integer", 0, "First line to read, from 1."),
                    "limit": number("integer", 0, "How many lines to read."),
                },
                "additionalProperties": false,
                "required": ["file_path"],
            }),
        ),
        (
            "Write".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "file_path": field("string", path),
                    "content": field("string", "The whole new content."),
                },
                "additionalProperties": false,
                "required": ["file_path", "content"],
            }),
        ),
        (
            "Bash".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "command": field("string", "The command line."),
                    "timeout": number("integer", 1, "Milliseconds after which it is ended."),
                    "description": field(
                        "string",
                        "What it does, in a few words, for the person who is asked.",
                    ),
                    "dangerouslyDisableSandbox": field(
                        "boolean",
                        "Runs it outside the sandbox, and asks the person. Only after the sandbox kept it from what \
                         it must do.",
                    ),
                },
                "additionalProperties": false,
                "required": ["command"],
            }),
        ),
        (
            "Agent".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "subagent_type": {
                        "type": "string",
                        "enum": ["general", "explore"],
                        "description": "What kind of agent.",
                    },
                    "prompt": field("string", "The whole task."),
                    "description": field("string", "The task in a few words, for people."),
                },
                "additionalProperties": false,
                "required": ["subagent_type", "prompt", "description"],
            }),
        ),
    ];
    assert_eq!(schemas, expected);
}

#[test]
fn prompt_texts_are_short() {
    let bytes: usize = specs().iter().map(|spec| spec.description.len()).sum();
    assert!((400..3_000).contains(&bytes), "{bytes} bytes");
}

#[test]
fn a_wrong_input_names_the_field() {
    for (name, input, expected) in [
        ("Bash", json!({}), "missing field `command`"),
        ("Bash", json!("ls"), "the input must be a JSON object"),
        ("Bash", json!(["ls"]), "the input must be a JSON object"),
        // What the Messages API says of input that could not be read.
        ("Bash", json!({"INVALID_JSON": "[1]"}), "the input must be a JSON object"),
        (
            "Bash",
            json!({"INVALID_JSON": "{\"command\": \"l"}),
            "the input was cut before its end. Call again, with less in it",
        ),
        (
            "Bash",
            json!({"INVALID_JSON": "{command: 1}"}),
            "the input is not JSON (key must be a string at line 1 column 2). Call again",
        ),
        (
            "Bash",
            json!({"command": "ls", "cmd": 1}),
            "unknown field `cmd`, expected one of `command`, `timeout`, `description`, `dangerouslyDisableSandbox`",
        ),
        (
            "Bash",
            json!({"command": "ls", "timeout": 0}),
            "`timeout`: invalid value: integer `0`, expected a nonzero u64",
        ),
        ("Read", json!({"file_path": 123}), "`file_path`: invalid type: integer `123`, expected a string"),
        ("Read", json!({"file_path": ""}), "`file_path`: the path is empty; name a file"),
        ("Read", json!({"file_path": "a\0"}), "`file_path`: the path holds a NUL character"),
        (
            "Agent",
            json!({"subagent_type": "other", "prompt": "x", "description": "x"}),
            "`subagent_type`: unknown variant `other`, expected `general` or `explore`",
        ),
    ] {
        assert_eq!(tool(name).check(&input), Err(expected.to_owned()));
    }
    assert_eq!(tool("Read").check(&json!({"file_path": "a", "limit": null})), Ok(()));
}

#[test]
fn the_builtin_deny_list_can_be_read() {
    let rules = tools::builtin_deny();
    assert!(rules.len() > 5 && rules.contains(&"Bash(rm -rf *)"), "{rules:?}");
    for rule in rules {
        tools::rules::grammar::parse(rule, kernel::Origin::BuiltIn).unwrap();
    }
}
