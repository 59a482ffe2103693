//! `rsagent config`: what is set and where, the schema, and keys that are kept.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use testkit::{Reply, Server};

use super::screen::Screen;
use super::support::Place;

fn place() -> Place {
    let user = json!({"model": "mine", "permissions": {"allow": ["Read"], "deny": ["Bash(a)"]},
        "env": {"GITHUB_TOKEN": "ghp_secret", "A": "1"}, "mdoel": "x"});
    let project = json!({"model": "theirs", "permissions": {"allow": ["Bash"], "deny": ["Bash(a)", "Bash(b)"]},
        "providers": {"p\u{1b}[31m": {"apiKey": "sk-project"}}});
    Place::new().settings(&user.to_string()).with(".claude/settings.json", &project.to_string())
}

#[test]
fn show_names_each_value_with_its_file() {
    let place = place();
    let (user, project) = (place.home().join(".rsagent/settings.json"), place.work().join(".claude/settings.json"));
    let (work, user, project) = (place.work(), user.display(), project.display());
    let expected = format!(
        "{} · trusted: no\n\
         Files, lowest layer first:\n\
         \u{20} user settings  {user}\n\
         \u{20} project settings  {project}\n\
         Values that hold:\n\
         \u{20} model = mine  (user settings, {user})\n\
         \u{20} permissions.allow = Read  (user settings, {user})\n\
         \u{20} permissions.deny = Bash(a)  (user settings, {user})\n\
         \u{20} permissions.deny = Bash(b)  (project settings, {project})\n\
         \u{20} env.GITHUB_TOKEN = (hidden)  (user settings, {user})\n\
         \u{20} env.A = 1  (user settings, {user})\n\
         \u{20} mdoel = x  (user settings, {user})\n\
         No effect:\n\
         \u{20} permissions.allow  (the folder is not trusted, {project})\n\
         \u{20} model  (the folder is not trusted, {project})\n\
         \u{20} providers  (the folder is not trusted, {project})\n\
         {user}: `mdoel` means nothing to this version\n",
        work.display()
    );
    let ran = place.run(&["config", "show"]);
    let (shown, rest) = ran.stdout.split_at(expected.len().min(ran.stdout.len()));
    assert_eq!((shown, ran.code), (expected.as_str(), Some(0)), "{}", ran.stderr);
    assert!(rest.contains("apiKey` is not used: keys do not belong there") && !rest.contains('\u{1b}'), "{rest}");
    assert!(!ran.stdout.contains("secret") && !ran.stdout.contains("sk-project"));
    let trusted = place.run(&["config", "show", "--trust", "--settings", "{\"effortLevel\": \"low\"}"]).stdout;
    assert!(trusted.contains(&format!("model = theirs  (project settings, {project})")), "{trusted}");
    assert!(trusted.contains("effortLevel = low  (command line, --settings)"), "{trusted}");
    assert!(trusted.contains(&format!("providers  (a project may not set it, {project})")), "{trusted}");
    let chinese = self::place().env("LANG", "zh_CN.UTF-8").run(&["config", "show"]).stdout;
    assert!(chinese.contains("受信任：否\n设置文件，优先级从低到高：\n  用户设置  "), "{chinese}");
    assert!(chinese.contains("不生效：\n  permissions.allow  (该文件夹未受信任, "), "{chinese}");
}

#[test]
fn show_as_an_object() {
    let place = place();
    let ran = place.run(&["config", "show", "--json", "--setting-sources", "project"]);
    let shown: Value = serde_json::from_str(&ran.stdout).unwrap();
    let project = place.work().join(".claude/settings.json");
    let values: Vec<Value> = ["Bash(a)", "Bash(b)"]
        .iter()
        .map(|rule| json!({"key": "permissions.deny", "value": rule, "origin": "project settings", "path": project}))
        .collect();
    let ignored: Vec<Value> = ["permissions.allow", "model", "providers"]
        .iter()
        .map(|key| json!({"key": key, "path": project, "reason": "the folder is not trusted"}))
        .collect();
    let mut expected = json!({
        "folder": place.work(), "trusted": false, "files": [{"origin": "project settings", "path": project}],
        "values": values, "ignored": ignored,
    });
    expected["notices"] = shown["notices"].clone();
    assert_eq!((shown["notices"].as_array().unwrap().len(), shown), (2, expected));
}

#[test]
fn show_names_a_broken_file() {
    let ran = Place::new().settings("{").run(&["config", "show"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains(".rsagent/settings.json:1:1: EOF"), "{}", ran.stderr);
}

#[test]
fn schema_is_one_document() {
    let ran = Place::new().run(&["config", "schema"]);
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &schema["title"]), (Some(0), &json!("Settings")));
    assert_eq!(schema["properties"]["model"]["type"], json!(["string", "null"]));
}

/// From standard input to the request, and nowhere else.
#[test]
fn a_kept_key_is_used_and_shown_nowhere() {
    const KEY: &str = "sk-kept-0123456789";
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "env > seen"}});
    let server = Server::script(vec![
        Reply::message(&[call], "tool_use"),
        Reply::text("Done."),
        Reply::text("Done."),
        Reply::text("Done."),
    ]);
    let place = Place::new().env("ANTHROPIC_BASE_URL", &server.url());
    let ran = place.run_with_stdin(&["config", "set-key", "anthropic"], &format!("{KEY}\n"));
    let path = place.home().join(".rsagent/keys.json");
    let told = format!("The key of anthropic is kept in {}.\n", path.display());
    assert_eq!((ran.stdout, ran.stderr, ran.code), (told, String::new(), Some(0)));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let flags = ["-p", "go", "--output-format", "events", "--dangerously-skip-permissions", "--record", "record.jsonl"];
    let ran = place.run(&flags);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(server.requests()[0].header("x-api-key"), Some(KEY));
    for (name, text) in [
        ("events", &ran.stdout),
        ("diagnostics", &ran.stderr),
        ("recording", &place.read("record.jsonl")),
        ("environment of a command", &place.read("seen")),
        ("settings", &place.run(&["config", "show"]).stdout),
        ("providers", &place.run(&["providers"]).stdout),
    ] {
        assert!(!text.contains("0123456789"), "the key stands in {name}: {text}");
    }
    // A variable goes before it.
    let other = Place::new().env("ANTHROPIC_BASE_URL", &server.url()).env("ANTHROPIC_API_KEY", "sk-set");
    other.run_with_stdin(&["config", "set-key", "anthropic"], KEY);
    other.run(&["-p", "go"]);
    assert_eq!(server.requests().last().unwrap().header("x-api-key"), Some("sk-set"));
    let ran = place.run(&["config", "set-key", "anthropic", "--remove"]);
    assert_eq!(ran.stdout, "The key of anthropic is forgotten.\n");
    let ran = place.run(&["config", "set-key", "anthropic", "--remove"]);
    assert_eq!(ran.stdout, "No key of anthropic was kept.\n");
    assert!(!std::fs::read_to_string(&path).unwrap().contains(KEY));
}

#[test]
fn a_key_that_others_can_read_is_not_used() {
    let place = Place::new();
    place.run_with_stdin(&["config", "set-key", "deepseek"], "sk-kept");
    let path = place.home().join(".rsagent/keys.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let shown = path.display();
    let told = format!(
        "rsagent: others can read {shown}, so its keys are not used. chmod 600 {shown}, and think of new keys\n"
    );
    let ran = place.run(&["-p", "hi", "--provider", "deepseek"]);
    assert_eq!((ran.code, &ran.stderr), (Some(1), &told));
    let ran = place.run(&["-p", "hi", "--provider", "mock"]);
    assert_eq!((ran.code, &ran.stderr), (Some(0), &told));
    assert_eq!(place.run(&["providers"]).stderr, told);
    let ran = place.run_with_stdin(&["config", "set-key", "deepseek"], "sk-new");
    assert_eq!((ran.code, ran.stderr), (Some(1), told));
}

#[test]
fn wrong_keys_and_providers_are_refused() {
    let place = Place::new();
    let ran = place.run_with_stdin(&["config", "set-key", "anthropic"], "two words");
    assert_eq!(ran.stderr, "rsagent: that is no key: a key is one word of printable ASCII. Paste it again\n");
    let ran = place.run_with_stdin(&["config", "set-key", "mock"], "sk-x");
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("rsagent: There is no provider mock. The providers are anthropic, deepseek,"),
        "{}",
        ran.stderr
    );
    assert!(!place.home().join(".rsagent/keys.json").exists());
}

#[test]
fn a_key_is_typed_without_an_echo() {
    let place = Place::new();
    let mut screen = Screen::start(&place, &["config", "set-key", "anthropic"]);
    screen.wait_for("Key of anthropic (it is not shown):");
    screen.type_text("sk-tyqed\u{7f}\u{7f}\u{7f}ped\r");
    let shown = screen.wait_for("is kept in");
    assert!(!shown.contains("sk-"), "{shown}");
    assert_eq!(screen.exit_code(), 0);
    let path = place.home().join(".rsagent/keys.json");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\n  \"anthropic\": \"sk-typed\"\n}\n");
    let mut screen = Screen::start(&place, &["config", "set-key", "anthropic"]);
    screen.wait_for("Key of anthropic (it is not shown):");
    screen.type_text("sk-other\u{3}");
    screen.wait_for("Nothing was changed.");
    assert_eq!(screen.exit_code(), 1);
    assert!(std::fs::read_to_string(&path).unwrap().contains("sk-typed"));
}
