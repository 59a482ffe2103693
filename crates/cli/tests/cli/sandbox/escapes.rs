//! Ways out that go by files. Each is tried in a sandbox, where it must change nothing, and in none, where it
//! must work: else the test would show nothing.

use std::os::unix::fs::symlink;

use super::{Layer, Yard, on_both_layers};

/// Tries a script in the layer and in none.
fn stays_inside(layer: Layer, prepare: impl Fn(&Yard), script: &str) {
    let changed = |layer| {
        let yard = Yard::new(layer);
        prepare(&yard);
        let before = yard.snapshot();
        let ran = yard.sh(script);
        let after = yard.snapshot();
        // What is made in the workspace is allowed, save the names that are protected.
        let work = yard.place.work();
        let free = |path: &std::path::Path| {
            let rest = path.strip_prefix(&work);
            rest.is_ok_and(|rest| rest.starts_with("free"))
        };
        let kept = |list: &[(std::path::PathBuf, String)]| {
            list.iter().filter(|(path, _)| !free(path)).cloned().collect::<Vec<_>>()
        };
        (kept(&before) != kept(&after), ran)
    };
    let (out, ran) = changed(layer);
    assert!(!out, "{layer:?} let it through: {ran:?}");
    let (out, ran) = changed(Layer::Off);
    assert!(out, "this is no way out even without a sandbox: {ran:?}");
}

fn nothing(_: &Yard) {}

fn a_write_outside_the_workspace(layer: Layer) {
    stays_inside(
        layer,
        nothing,
        "echo x > \"$OUT/new\"; echo x >> \"$OUT/old\"; rm -f \"$OUT/old\"; mkdir \"$HOME/d\"",
    );
}

fn a_hook_of_the_repository(layer: Layer) {
    stays_inside(layer, nothing, "echo evil > .git/hooks/pre-commit; echo evil >> .git/config");
}

fn settings_that_were_not_there(layer: Layer) {
    let script = "mkdir -p .rsagent .claude .vscode; echo x > .rsagent/settings.json; echo x > .claude/settings.json; \
                  echo x > .vscode/tasks.json; echo x > .mcp.json; echo x > .envrc; echo x > .gitmodules";
    stays_inside(layer, nothing, script);
}

fn a_protected_folder_by_another_name(layer: Layer) {
    let script = "mv .git free; mkdir -p .git/hooks free; mv .git free/git; cp -r .git free/copy; mv free/copy .git; \
                  mkdir free/r; mv free/r .rsagent; rm -rf .git; rmdir .claude && mkdir .claude";
    stays_inside(layer, nothing, script);
}

fn a_link_that_takes_the_place_of_a_folder(layer: Layer) {
    let script = "mkdir free; cd free; ln -s \"$OUT\" link; echo x > link/new; \
                  i=0; while [ $i -lt 50 ]; do mkdir d; echo x > d/f; rm -r d; ln -s \"$OUT\" d; echo x > d/f$i; rm d; \
                  i=$((i+1)); done";
    stays_inside(layer, |yard| std::fs::create_dir(yard.place.work().join("free")).unwrap(), script);
}

fn a_link_that_was_there(layer: Layer) {
    let prepare = |yard: &Yard| symlink(yard.outside(), yard.place.work().join("free")).unwrap();
    stays_inside(layer, prepare, "echo x > free/new; echo x >> free/old");
}

fn a_hard_link_to_a_file_outside(layer: Layer) {
    let prepare = |yard: &Yard| std::fs::create_dir(yard.place.work().join("free")).unwrap();
    stays_inside(
        layer,
        prepare,
        "ln \"$OUT/old\" free/hard; echo x >> free/hard; ln .git/config free/c; echo x >> free/c",
    );
}

fn the_root_of_a_process(layer: Layer) {
    let script = "echo x > /proc/self/root$OUT/a; cd /proc/self/cwd/../outside && echo x > b; \
                  for p in /proc/[0-9]*; do echo x > $p/root$OUT/c; echo x > $p/cwd/../outside/d; done 2>/dev/null";
    stays_inside(layer, nothing, script);
}

fn the_folder_of_the_parent(layer: Layer) {
    // The number of the process that runs outside is known to whoever looks for it.
    let own = std::process::id();
    let script = format!("echo x > /proc/{own}/root$OUT/a; echo x > /proc/{own}/cwd$OUT/a");
    stays_inside(layer, nothing, &script);
}

on_both_layers!(
    a_write_outside_the_workspace,
    a_hook_of_the_repository,
    settings_that_were_not_there,
    a_protected_folder_by_another_name,
    a_link_that_takes_the_place_of_a_folder,
    a_link_that_was_there,
    a_hard_link_to_a_file_outside,
    the_root_of_a_process,
    the_folder_of_the_parent,
);

/// Landlock has no say in modes, times and owners.
#[test]
fn the_mode_of_a_file_outside() {
    stays_inside(Layer::Bubblewrap, nothing, "chmod 777 \"$OUT/old\" .git/hooks/sample");
}
