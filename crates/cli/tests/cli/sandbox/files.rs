//! What files are like inside: what may be written and read, and what is left behind.

use std::os::unix::fs::symlink;

use super::{Layer, Yard, on_both_layers};

fn the_workspace_and_temporary_files_can_be_written(layer: Layer) {
    let yard = Yard::new(layer);
    yard.place.write("src/a.txt", "a");
    let ran =
        yard.sh("echo b > src/a.txt; mkdir src/d; mv src/a.txt src/d/; echo t > \"$TMPDIR/t\" && cat \"$TMPDIR/t\"");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "t\n"), "{ran:?}");
    assert_eq!(yard.place.read("src/d/a.txt"), "b\n");
}

fn read_only_means_the_workspace_too(layer: Layer) {
    let yard = Yard::new(layer);
    yard.place.write("src/a.txt", "a");
    let ran = yard.sh_with(&["--sandbox", "read-only"], "echo t > \"$TMPDIR/t\" && echo b > src/a.txt; echo $?");
    assert!(ran.stdout.lines().last() != Some("0"), "{ran:?}");
    assert_eq!(yard.place.read("src/a.txt"), "a");
}

fn credentials_cannot_be_read(layer: Layer) {
    let yard = Yard::new(layer);
    let home = yard.place.home();
    std::fs::create_dir(home.join(".ssh")).unwrap();
    std::fs::write(home.join(".ssh/id"), "secret").unwrap();
    std::fs::write(home.join(".netrc"), "secret").unwrap();
    std::fs::write(home.join("plain"), "plain").unwrap();
    let ran = yard.sh("cat \"$HOME/plain\"; cat \"$HOME/.ssh/id\" \"$HOME/.netrc\"; cat \"$HOME\"/.s*/*");
    assert_eq!((ran.code, ran.stdout.matches("secret").count()), (Some(1), 0), "{ran:?}");
    assert!(ran.stdout.starts_with("plain"), "{ran:?}");
    // Who needs them says so.
    let yard =
        Yard { place: yard.place.settings(r#"{"sandbox": {"filesystem": {"allowRead": ["~/.netrc"]}}}"#), layer };
    assert_eq!(yard.sh("cat \"$HOME/.netrc\"").stdout, "secret");
}

fn settings_open_and_close_folders(layer: Layer) {
    let yard = Yard::new(layer);
    let text = r#"{"sandbox": {"filesystem":
        {"allowWrite": ["../outside"], "denyWrite": ["keep"], "denyRead": ["../home/hidden"]}}}"#;
    let yard = Yard { place: yard.place.settings(text), layer };
    yard.place.write("keep/a", "a");
    std::fs::create_dir(yard.place.home().join("hidden")).unwrap();
    std::fs::write(yard.place.home().join("hidden/h"), "h").unwrap();
    let ran = yard.sh("echo x >> \"$OUT/old\"; echo b > keep/a; mv keep gone; cat \"$HOME/hidden/h\"");
    assert_eq!(std::fs::read_to_string(yard.outside().join("old")).unwrap(), "old\nx\n", "{ran:?}");
    assert_eq!(yard.place.read("keep/a"), "a");
    assert_eq!(ran.stdout.lines().filter(|line| *line == "h").count(), 0, "{ran:?}");
}

fn a_link_in_a_protected_place_is_refused(layer: Layer) {
    let yard = Yard::new(layer);
    symlink(yard.outside(), yard.place.work().join(".claude")).unwrap();
    let ran = yard.sh("true");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let expected = format!("{}/.claude is a symbolic link", yard.place.work().display());
    assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
}

fn a_workspace_that_holds_the_home_folder_is_refused(layer: Layer) {
    let yard = Yard::new(layer);
    let above = yard.place.work().parent().unwrap().to_owned();
    let ran = super::Ran::of(yard.command(&[], &["true"]).current_dir(&above).output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("is or holds the home folder"), "{}", ran.stderr);
}

on_both_layers!(
    the_workspace_and_temporary_files_can_be_written,
    read_only_means_the_workspace_too,
    credentials_cannot_be_read,
    settings_open_and_close_folders,
    a_link_in_a_protected_place_is_refused,
    a_workspace_that_holds_the_home_folder_is_refused,
);

fn names(yard: &Yard) -> Vec<String> {
    let entries = std::fs::read_dir(yard.place.work()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What stands in for a name that is not there is gone afterwards, also when nobody could remove it.
#[test]
fn place_holders_go_away() {
    let yard = Yard::new(Layer::Bubblewrap);
    yard.sh("true");
    assert_eq!(names(&yard), [".git"]);
    let mut child = yard.command(&[], &["/bin/sh", "-c", "echo ready; sleep 300"]).spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(names(&yard).contains(&".rsagent".to_owned()));
    yard.sh("true");
    assert_eq!(names(&yard), [".git"]);
}

/// Two commands at a time share them: the first to end must not take them from the other.
#[test]
fn place_holders_stay_while_anybody_needs_them() {
    let yard = Yard::new(Layer::Bubblewrap);
    let mut child = yard.command(&[], &["/bin/sh", "-c", "echo ready; cat go; mkdir -p .rsagent/x; echo $?"]);
    let fifo = yard.place.work().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut child = child.spawn().unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    yard.sh("true");
    std::fs::write(&fifo, "go\n").unwrap();
    let ran = super::Ran::of(child.wait_with_output().unwrap());
    assert!(ran.stdout.ends_with("1\n"), "{ran:?}");
    assert_eq!(names(&yard), [".git", "go"]);
}

/// Git sees nothing of them.
#[test]
fn git_does_not_see_place_holders() {
    let yard = Yard::new(Layer::Bubblewrap);
    std::fs::remove_dir_all(yard.place.work().join(".git")).unwrap();
    let git = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        let done = git.args(words).current_dir(yard.place.work()).env("HOME", yard.place.home()).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    let ran = yard.sh("touch new; git status --porcelain");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "?? new\n"), "{ran:?}");
}
