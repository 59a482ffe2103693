//! `Bash` with real commands.

use kernel::{Effect, ToolContext, ToolOutput};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{World, text, tool};

fn detail(exit_code: Value) -> Value {
    json!({
        "exitCode": exit_code, "signal": null, "timedOut": false, "interrupted": false,
        "droppedBytes": 0,
    })
}

#[tokio::test]
async fn output_and_exit_codes() {
    let world = World::new();
    world.file("a.txt", "hello\n");
    for (command, expected, is_error, code) in [
        ("cat a.txt", "hello", false, 0),
        ("pwd -P | sed 's,.*/,,'", "work", false, 0),
        ("true", "(no output)", false, 0),
        ("grep zzz a.txt", "Exit code 1", true, 1),
        ("echo out; echo err >&2; exit 7", "Exit code 7\nout\nerr", true, 7),
        ("cat; echo after", "after", false, 0),
        ("cat <<'E'\n$HOME `id` \\\nE", "$HOME `id` \\", false, 0),
    ] {
        let output = world.call("Bash", json!({"command": command})).await;
        assert_eq!((text(&output).as_str(), output.is_error), (expected, is_error), "{command}");
        assert_eq!(output.detail, detail(code.into()), "{command}");
    }
}

#[tokio::test]
async fn signals_have_names() {
    let world = World::new();
    let output = world.call("Bash", json!({"command": "echo a; kill -SEGV $$"})).await;
    assert_eq!((text(&output).as_str(), output.is_error), ("Ended by signal SIGSEGV\na", true));
    assert_eq!(output.detail["signal"], "SIGSEGV");
}

#[tokio::test]
async fn a_timeout_keeps_what_was_said() {
    let world = World::new();
    let input = json!({"command": "echo begun; sleep 300", "timeout": 500});
    let output = world.call("Bash", input).await;
    let expected = "Error: timed out after 500 ms; the command and what it started were ended\nbegun";
    assert_eq!((text(&output).as_str(), output.is_error), (expected, true));
    assert_eq!(output.detail["timedOut"], true);
}

#[tokio::test]
async fn an_interrupt_keeps_what_was_said() {
    let world = World::new();
    let cancel = CancellationToken::new();
    let context = ToolContext::detached(world.place(), cancel.clone());
    let ready = world.root.join("ready");
    let bash = tool("Bash");
    let input = json!({"command": "echo begun; touch ready; sleep 300"});
    let call = bash.call(input, &context);
    let watch = async {
        while !ready.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, watch);
    let expected = "Error: interrupted; the command and what it started were ended\nbegun";
    assert_eq!((text(&output).as_str(), output.is_error), (expected, true));
    assert_eq!(output.detail["interrupted"], true);
}

#[tokio::test]
async fn a_folder_that_is_gone_is_named() {
    let world = World::new();
    let mut place = world.place();
    place.cwd = world.root.join("gone");
    let context = ToolContext::detached(place, CancellationToken::new());
    let output = tool("Bash").call(json!({"command": "pwd"}), &context).await;
    let expected =
        format!("the working folder {} does not exist; make it, or name another", world.root.join("gone").display());
    assert_eq!(output, ToolOutput::error(expected));
}

#[tokio::test]
async fn commands_see_no_secrets() {
    let world = World::new();
    let env = [("PATH", "/usr/bin:/bin"), ("ANTHROPIC_API_KEY", "secret"), ("PLAIN", "seen")];
    let env = env.map(|(name, value)| (name.into(), value.into())).into();
    let bash = kernel::ToolPool::new(tools::builtin(env, &[], &Default::default())).get("Bash").unwrap().clone();
    let input = json!({"command": "echo [$ANTHROPIC_API_KEY] $PLAIN $PAGER"});
    assert_eq!(bash.call(input, &world.context()).await.content.text(), "[] seen cat");
}

#[tokio::test]
async fn a_command_has_no_terminal() {
    let world = World::new();
    let output = world.call("Bash", json!({"command": "cat /dev/tty"})).await;
    assert!(text(&output).contains("/dev/tty"), "{}", text(&output));
    assert!(output.is_error);
}

#[test]
fn the_reason_names_what_no_rule_covers() {
    let world = World::new();
    let judge = |command: &str| world.judge("Bash", &json!({"command": command}), &["Bash(touch *)"], &[]).reason;
    assert_eq!(judge("touch a && rm a"), "`rm` is not on the read-only list");
    assert_eq!(
        judge("rm a; mv a b; cp a b; ln a b; rm c"),
        "`rm` is not on the read-only list; `mv` is not on the read-only list; \
         `cp` is not on the read-only list; and 1 more"
    );
}

/// Each was found to do more than a reader of the text would think, by running it.
#[test]
fn what_was_found_to_be_more_than_it_seems_is_asked() {
    let world = World::new();
    for command in [
        "[[ -e <(touch p) ]]; ls",
        "[[ a == @( #) ]]; touch p #\n) ]]; ls",
        "x=(['a[$(touch p)]']=1)",
        "echo \"${x:-`echo \\\"a;touch p\\\"`}\"",
        "bash -c 'sort -k \"$\\\n@\"' _ 1 -o out f",
        "echo hi 1<f >/dev/stdout",
        "ls 2<f 2>/dev/stderr",
        "for f in a; do r\\ead -r f <<< /dev/tcp/127.0.0.1/9; cat < \"$f\"; done",
        "find . ! -name $! -name -delete",
        "sed -ep -l $! -- -i f",
        "sed -ep -l{1,} -- -i f",
        "env -u{x,} ls touch p",
        "file -F{x,} -- -C -m m",
        "rg -e{x,} -- --pre=./evil",
        "x='UTC touch p'; env LANG=C TZ=$x ls",
        "timeout 5{s,m} ls",
        "x=';'; find . -exec echo \"$x\" -delete -exec echo \\;",
        "echo p | xargs --replace touch ls",
        "echo -oout | xargs -I{} -n2 sort f",
        "x=-v; test a -a \"$x\" 'i[$(touch p)]'",
        "printf '%(x)%n' PATH; ls",
        "awk 'BEGIN { x = length /#/; print \"x\" > \"out\"; y = 1 / 2 }'",
        "gawk 1 /inet/tcp/0/127.0.0.1/9",
        "xxd -uc f out",
        "tree -Po x out",
        "git log --format='%+G?'",
        "git diff --submodule=diff",
        "ionice -c3 -p 1 ls",
        "ss dst example.com",
    ] {
        let judgement = world.judge("Bash", &json!({"command": command}), &[], &[]);
        assert_eq!((judgement.effect, judgement.covered), (Effect::Other, false), "{command}");
    }
    for command in
        ["ls -la | head", "grep -rn '[[:digit:]]' src 2>/dev/null", "cd src && cat *.rs | wc -l", "find . -name '*.rs'"]
    {
        let judgement = world.judge("Bash", &json!({"command": command}), &[], &[]);
        assert_eq!(judgement.effect, Effect::ReadOnly, "{command}: {}", judgement.reason);
    }
    // A rule that was made for it still covers it.
    let named = world.judge("Bash", &json!({"command": "git status && ls"}), &["Bash(git status)", "Bash(ls)"], &[]);
    assert!(named.covered);
}
