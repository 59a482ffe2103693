//! What rules make of files and commands. The table is read as: mode, allow, deny, call, decision.

use std::os::unix::fs::symlink;

use kernel::{Effect, Judgement, Mode, Origin, Rule, Rules};
use serde_json::{Value, json};

use crate::support::{World, shown, tool, word};

fn call<'a>(tool: &'a str, argument: &str) -> (&'a str, Value) {
    match tool {
        "Bash" => (tool, json!({"command": argument})),
        "Write" => (tool, json!({"file_path": argument, "content": ""})),
        _ => (tool, json!({"file_path": argument})),
    }
}

/// Files and links are as made below.
const TABLE: &[(Mode, &str, &str, &str, &str, &str)] = {
    use Mode::{AcceptEdits as Accept, BypassPermissions as Bypass, Default, Plan};
    &[
        // Reading: free, except where a rule or a credential is in the way.
        (Default, "", "", "Read", "src/a.rs", "allow"),
        (Plan, "", "", "Read", "/etc/hostname", "allow"),
        (Default, "", "Read(./secrets/**)", "Read", "secrets/key", "deny"),
        (Bypass, "", "Read(./secrets/**)", "Read", "x/../secrets/key", "deny"),
        (Default, "", "Read(./secrets/**)", "Read", "to-secret", "deny"),
        (Default, "", "Read(./secrets/**)", "Read", "SECRETS/Key", "deny"),
        (Default, "", "Read(./secrets/**)", "Read", "secretsx/key", "allow"),
        (Default, "", "Read(./secrets/**)", "Read", "sub/secrets/key", "allow"),
        (Default, "", "Read(secrets/)", "Read", "secrets/deep/key", "deny"),
        (Default, "", "Read(.env)", "Read", "app/.env", "deny"),
        (Default, "", "Read(**/.env)", "Read", ".env", "deny"),
        (Default, "", "Read(#notes#)", "Read", "#notes#", "deny"),
        (Default, "", "Read(!odd)", "Read", "!odd", "deny"),
        (Default, "", "Read([z-a])", "Read", "src/a.rs", "ask"),
        (Default, "", "Read(~/)", "Read", "~/notes", "deny"),
        (Default, "", "Read(//)", "Read", "src/a.rs", "deny"),
        (Default, "", "", "Read", "~/.ssh/id_rsa", "ask"),
        (Default, "Read(~/**)", "", "Read", "~/.ssh/id_rsa", "ask"),
        (Default, "", "", "Read", "/proc/1/environ", "ask"),
        (Bypass, "", "Read(/etc/hostname)", "Bash", "cat /etc/hostname", "deny"),
        (Default, "Edit(/etc/**)", "", "Write", "/etc/hosts", "ask"),
        (Default, "", "", "Bash", "tr '\\0' '\\n' < /proc/1/environ", "ask"),
        (Default, "", "", "Read", "/proc/cpuinfo", "allow"),
        (Default, "Read(~/.ssh/**)", "", "Read", "~/.ssh/id_rsa", "allow"),
        (Bypass, "", "", "Read", "~/.ssh/id_rsa", "allow"),
        // Writing: inside the workspace with a rule or in acceptEdits, protected paths never so.
        (Default, "", "", "Write", "src/a.rs", "ask"),
        (Default, "Edit(src/**)", "", "Write", "src/a.rs", "allow"),
        (Default, "Write(/src/*.rs)", "", "Write", "src/a.rs", "allow"),
        (Default, "Write(/src/*.rs)", "", "Write", "src/deep/a.rs", "ask"),
        (Default, "Edit(src/**)", "", "Write", "SRC/a.rs", "ask"),
        (Default, "Edit(**)", "", "Write", "../outside/a", "ask"),
        (Default, "Edit(**)", "", "Write", "to-outside", "ask"),
        (Default, "Write", "", "Write", "src/a.rs", "allow"),
        (Default, "Write", "", "Write", "../outside/a", "ask"),
        (Default, "Edit(src/**)", "Edit(src/gen/**)", "Write", "src/gen/a.rs", "deny"),
        (Accept, "", "", "Write", "new/a.rs", "allow"),
        (Accept, "", "", "Write", "../outside/a", "ask"),
        (Accept, "", "", "Write", "to-outside", "ask"),
        (Accept, "", "", "Write", "to-git", "ask"),
        (Accept, "", "", "Write", "sub/.GIT/config", "ask"),
        (Accept, "", "", "Write", ".gitkeep", "allow"),
        (Accept, "", "Edit", "Write", "a", "deny"),
        (Default, "Edit(**)", "", "Write", ".git/config", "ask"),
        (Default, "Edit(.git/**)", "", "Write", ".git/config", "allow"),
        (Bypass, "", "", "Write", ".git/config", "allow"),
        (Plan, "Write", "", "Write", "a", "deny"),
        // Commands: the same rules where files are visible, and those for commands.
        (Default, "", "Read(./secrets/**)", "Bash", "cat secrets/key", "deny"),
        (Default, "", "Read(./secrets/**)", "Bash", "cat to-secret", "deny"),
        (Default, "", "Read(./secrets/**)", "Bash", "cat s*/key", "ask"),
        (Bypass, "", "Read(./secrets/**)", "Bash", "cat \"$F\"", "ask"),
        (Default, "", "Read(*.env)", "Bash", "grep -r x docs/*.md", "allow"),
        (Default, "", "Read(*.env)", "Bash", "grep -r x folder/*.md", "ask"),
        (Default, "", "Read(./secrets/**)", "Bash", "cat src/a.rs", "allow"),
        (Bypass, "", "Edit(src/**)", "Bash", "echo x > src/a.rs", "deny"),
        (Bypass, "", "Bash(rm *)", "Bash", "ls && /bin/rm a", "deny"),
        (Bypass, "", "Bash(rm *)", "Bash", "$X a", "ask"),
        (Bypass, "", "", "Bash", "$X a", "allow"),
        (Default, "", "", "Bash", "cat ~/.ssh/id_rsa", "ask"),
        (Default, "Bash(cat ~/.ssh/*)", "", "Bash", "cat ~/.ssh/id_rsa", "allow"),
        (Default, "Read(~/.ssh/**)", "", "Bash", "cat ~/.ssh/id_rsa", "allow"),
        (Default, "Bash(cp *)", "", "Bash", "cp a .git/hooks/pre-commit", "ask"),
        (Default, "Bash(cp *)", "", "Bash", "cp a b", "allow"),
        (Default, "Bash(chmod *)", "", "Bash", "chmod -R o-w .", "ask"),
        (Default, "Bash(chmod *)", "", "Bash", "chmod -R o-w src", "allow"),
        (Default, "Bash(npm test)", "", "Bash", "npm test && ls", "allow"),
        (Default, "Bash(npm test)", "", "Bash", "npm test > out", "ask"),
        (Default, "", "", "Bash", "ls -la | head", "allow"),
        (Default, "", "", "Bash", "touch a", "ask"),
        (Plan, "Bash(touch *)", "", "Bash", "touch a", "deny"),
    ]
};

#[test]
fn rules_and_paths() {
    let world = World::new();
    world.file("secrets/key", "");
    world.file(".git/config", "");
    world.file("docs/a.md", "");
    world.file("folder/b.md/c", "");
    symlink("secrets/key", world.root.join("to-secret")).unwrap();
    symlink(".git/config", world.root.join("to-git")).unwrap();
    symlink(world.outside.join("none"), world.root.join("to-outside")).unwrap();
    for &(mode, allow, deny, tool, argument, expected) in TABLE {
        let list = |text: &'static str| if text.is_empty() { vec![] } else { vec![text] };
        let (tool, input) = call(tool, argument);
        let judgement = world.judge(tool, &input, &list(allow), &list(deny));
        let decision = word(mode, &judgement);
        assert_eq!(decision, expected, "{mode} [{allow}] [{deny}] {tool} {argument}: {judgement:?}");
    }
}

#[test]
fn a_judgement_says_what_is_done_and_what_would_cover_it() {
    let world = World::new();
    symlink("src/[a].rs", world.root.join("link")).unwrap();
    let (name, input) = call("Write", "link");
    let judgement = world.judge(name, &input, &[], &[]);
    let expected = Judgement {
        effect: Effect::EditsWorkspace,
        reason: format!("it writes {}", shown(&world.root.join("link"))),
        suggestions: ["Write(/link)", r"Write(/src/\[a\].rs)"]
            .map(|text| tools::rules::grammar::parse(text, Origin::Session).unwrap())
            .to_vec(),
        ..Judgement::unjudged()
    };
    assert_eq!(judgement, expected);
    let suggested = texts(&judgement);
    let suggested: Vec<&str> = suggested.iter().map(String::as_str).collect();
    assert_eq!(word(Mode::Default, &world.judge(name, &input, &suggested, &[])), "allow");
}

fn texts(judgement: &Judgement) -> Vec<String> {
    judgement.suggestions.iter().map(Rule::to_string).collect()
}

/// *Always* must mean it: with the suggested rules the same call is not asked again.
#[test]
fn suggestions_cover_their_call() {
    let world = World::new();
    world.file(".git/config", "");
    std::fs::create_dir_all(world.home.join(".ssh")).unwrap();
    std::fs::write(world.home.join(".netrc"), "").unwrap();
    let outside = shown(&world.outside.join("a b"));
    for (tool, argument) in [
        ("Write", "src/a.rs"),
        ("Write", outside.as_str()),
        ("Write", ".git/config"),
        ("Write", "~/.bashrc"),
        ("Read", "~/.ssh/id_rsa"),
        ("Bash", "touch a && mkdir b"),
        ("Bash", "cp a .git/config"),
        ("Bash", "cd .git && cp a config"),
        ("Bash", "cat ~/.ssh/id_rsa"),
        ("Bash", "grep -r x ~"),
        ("Bash", "chmod -R o-w ."),
    ] {
        let (tool, input) = call(tool, argument);
        let judgement = world.judge(tool, &input, &[], &[]);
        assert_eq!(word(Mode::Default, &judgement), "ask", "{argument}");
        let rules = texts(&judgement);
        let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
        let again = world.judge(tool, &input, &rules, &[]);
        assert_eq!(word(Mode::Default, &again), "allow", "{argument} with {rules:?}");
    }
}

#[test]
fn the_builtin_list_denies_but_never_asks() {
    let world = World::new();
    let deny = tools::builtin_deny().into_iter();
    let deny = deny.map(|text| tools::rules::grammar::parse(text, Origin::BuiltIn).unwrap()).collect();
    let rules = Rules { deny, ..Rules::default() };
    for (command, expected) in [
        ("rm -rf temp", "deny"),
        ("rm -r --force temp", "deny"),
        ("echo x; sudo mkfs.ext4 /dev/sda1", "deny"),
        ("dd if=a of=/dev/sda bs=1M", "deny"),
        ("dd if=a of=/dev/null", "allow"),
        ("echo x > /dev/nvme0n1", "deny"),
        ("shred -n 1 /dev/sda", "deny"),
        ("chmod -R 777 /", "deny"),
        ("chmod -R 777 build", "allow"),
        ("rm temp", "allow"),
        ("$X temp", "allow"),
    ] {
        let judgement = tool("Bash").judge(&json!({"command": command}), &rules, &world.place());
        assert_eq!(word(Mode::BypassPermissions, &judgement), expected, "{command}");
    }
}

#[test]
fn ask_rules_hold_in_bypass_mode() {
    let world = World::new();
    let rule = |text| tools::rules::grammar::parse(text, Origin::User).unwrap();
    let ask = vec![rule("Bash(git push *)"), rule("Edit(docs/**)")];
    let rules = Rules { ask, ..Rules::default() };
    for (tool_name, argument, expected) in [
        ("Bash", "git push", "ask"),
        ("Bash", "git $X", "ask"),
        ("Bash", "git status", "allow"),
        ("Bash", "echo x > docs/a", "ask"),
        ("Write", "docs/a", "ask"),
        ("Write", "src/a", "allow"),
    ] {
        let (name, input) = call(tool_name, argument);
        let judgement = tool(name).judge(&input, &rules, &world.place());
        assert_eq!(word(Mode::BypassPermissions, &judgement), expected, "{argument}");
    }
}

#[test]
fn agents_are_judged_by_kind() {
    let world = World::new();
    let input = json!({"subagent_type": "general", "prompt": "x", "description": "x"});
    for (deny, expected) in [("Agent(general)", "deny"), ("Agent(explore)", "allow"), ("Agent", "deny")] {
        let judgement = world.judge("Agent", &input, &[], &[deny]);
        assert_eq!(word(Mode::Plan, &judgement), expected, "{deny}");
    }
}
