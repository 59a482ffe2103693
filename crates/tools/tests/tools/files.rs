//! `Read` and `Write` on real files.

use kernel::ToolOutput;
use serde_json::json;

use crate::support::{World, shown, text, tool};

#[tokio::test]
async fn read_numbers_lines() {
    let world = World::new();
    let path = world.file("a.txt", "one\n\tтwo\n\n");
    let output = world.call("Read", json!({"file_path": "a.txt"})).await;
    let expected = ToolOutput {
        detail: json!({
            "type": "text",
            "file": {"filePath": path, "startLine": 1, "numLines": 3, "totalLines": 3},
        }),
        ..ToolOutput::ok("1\tone\n2\t\tтwo\n3\t")
    };
    assert_eq!(output, expected);
}

#[tokio::test]
async fn read_windows_say_how_to_go_on() {
    let world = World::new();
    world.file("a.txt", "a\nb\nc\nd\n");
    for (offset, limit, expected) in [
        (2, 2, "2\tb\n3\tc\n[The file goes on: read more with offset 4.]"),
        (3, 2, "3\tc\n4\td"),
        (0, 1, "1\ta\n[The file goes on: read more with offset 2.]"),
        (50, 2, "The file has 4 lines; there is nothing from line 50 on."),
    ] {
        let input = json!({"file_path": "a.txt", "offset": offset, "limit": limit});
        let output = world.call("Read", input).await;
        assert_eq!((text(&output).as_str(), output.is_error), (expected, false));
    }
}

#[tokio::test]
async fn read_is_bounded() {
    let world = World::new();
    world.file("lines.txt", &"x\n".repeat(5_000));
    let output = text(&world.call("Read", json!({"file_path": "lines.txt"})).await);
    assert_eq!(output.lines().count(), 2_001);
    assert!(output.ends_with("\n2000\tx\n[The file goes on: read more with offset 2001.]"));
    world.file("wide.txt", &format!("{}\n", "y".repeat(1_999)).repeat(1_000));
    let output = text(&world.call("Read", json!({"file_path": "wide.txt"})).await);
    assert!((200_000..205_000).contains(&output.len()), "{}", output.len());
    assert!(output.ends_with("[The file goes on: read more with offset 102.]"), "{output}");
    world.file("long.txt", &"z".repeat(5_000));
    let output = text(&world.call("Read", json!({"file_path": "long.txt"})).await);
    assert_eq!(output, format!("1\t{} [… 3000 bytes of this line left out]", "z".repeat(2_000)));
}

#[tokio::test]
async fn read_refuses_in_its_own_words() {
    let world = World::new();
    world.file("empty", "");
    world.file("binary", "a\0b");
    let file = |name: &str| shown(&world.root.join(name));
    for (name, expected, is_error) in [
        ("empty", "The file is empty.".to_owned(), false),
        (
            "binary",
            format!("Error: {} is a binary file of 3 bytes; look at it with a program made for it", file("binary")),
            true,
        ),
        ("none", format!("Error: {} does not exist; check the path", file("none")), true),
        (
            ".",
            format!(
                "Error: {} is a directory, not a file; list it with `ls`, or name a file in it",
                shown(&world.root)
            ),
            true,
        ),
        ("/dev/zero", "Error: /dev/zero is a device; only ordinary files can be read or written".to_owned(), true),
    ] {
        let output = world.call("Read", json!({"file_path": name})).await;
        assert_eq!((text(&output), output.is_error), (expected, is_error));
    }
}

#[tokio::test]
async fn write_creates_and_replaces() {
    let world = World::new();
    let path = world.root.join("new/a.txt");
    for (content, kind, verb) in [("one\ntwo", "create", "Created"), ("x\n", "update", "Replaced")] {
        let lines = content.lines().count();
        let input = json!({"file_path": "new/a.txt", "content": content});
        let output = world.call("Write", input).await;
        let said = format!("{verb} {}: lines {lines}, bytes {}.", shown(&path), content.len());
        let expected = ToolOutput {
            detail: json!({
                "type": kind, "filePath": path, "lines": lines, "bytes": content.len(),
            }),
            ..ToolOutput::ok(said)
        };
        assert_eq!(output, expected);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}

#[tokio::test]
async fn write_fails_in_words() {
    let world = World::new();
    let output = world.call("Write", json!({"file_path": ".", "content": "x"})).await;
    let expected =
        format!("Error: {} is a directory, not a file; list it with `ls`, or name a file in it", shown(&world.root));
    assert_eq!((text(&output), output.is_error), (expected, true));
}

#[test]
fn what_may_run_beside_others() {
    let safe = |name: &str, input: serde_json::Value| tool(name).is_concurrency_safe(&input);
    assert!(safe("Read", json!({"file_path": "a"})));
    assert!(!safe("Read", json!({"file": "a"})), "an input that is wrong is not safe");
    assert!(!safe("Write", json!({"file_path": "a", "content": ""})));
    assert!(safe("Bash", json!({"command": "cat a | wc -l"})));
    assert!(!safe("Bash", json!({"command": "cat a > b"})));
    let agent = |kind| json!({"subagent_type": kind, "prompt": "x", "description": "x"});
    assert!(safe("Agent", agent("explore")));
    assert!(!safe("Agent", agent("general")));
}
