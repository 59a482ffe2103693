//! What Bash itself says of the grammar of real scripts, whole and broken off: what it refuses is never read, and what it
//! takes is read with few exceptions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shell::Analysis;

use super::analyse;

/// So many scripts of the machine are looked at, none longer than this.
const SCRIPTS: usize = 150;
const LONGEST: u64 = 30_000;
/// Of a hundred scripts that Bash takes so many may stay unread.
const UNREAD: usize = 15;
/// Where scripts are; only their first levels.
const FOLDERS: [&str; 9] = [
    "/etc/init.d",
    "/etc/profile.d",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib/git-core",
    "/usr/share/doc",
    "/usr/share/bash-completion/completions",
    "/usr/lib/dpkg",
    "/var/lib/dpkg/info",
];

fn accepts(text: &str) -> bool {
    let done =
        Command::new("bash").args(["--norc", "-n", "-c", text]).stdin(Stdio::null()).stderr(Stdio::null()).status();
    done.expect("these tests need bash").success()
}

/// It may not count as read, nor anything in it.
fn trusted(analysis: &Analysis) -> bool {
    analysis.opaque.is_none() || analysis.verdict.is_read_only()
}

fn own() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell/scripts");
    let mut all: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    all.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).unwrap())).collect()
}

/// Shell scripts of the machine, in the order of their paths, spread over the folders.
fn found() -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let scripts = paths.into_iter().filter_map(|path| {
            let size = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file)?.len();
            let text = (size <= LONGEST).then(|| std::fs::read_to_string(&path).ok())??;
            let head = text.lines().next()?;
            let shell =
                head.starts_with("#!") && head.split(['/', ' ']).any(|word| matches!(word, "sh" | "bash" | "dash"));
            let named = path.extension().is_some_and(|end| end == "sh") || folder.ends_with("completions");
            (shell || named).then_some((path, text))
        });
        all.extend(scripts.take(SCRIPTS / FOLDERS.len() + 1));
    }
    all
}

/// The text broken off or with a sign less, at places that depend on nothing else.
fn broken(text: &str) -> Vec<(usize, String)> {
    let signs: Vec<(usize, char)> =
        text.char_indices().filter(|(_, sign)| "'\"`(){}[];|&<$\\".contains(*sign)).collect();
    let mut all = Vec::new();
    for part in 1..5 {
        let Some((at, sign)) = signs.get(signs.len() * part / 5) else { continue };
        all.push((*at, text[..*at].to_owned()));
        all.push((*at, format!("{}{}", &text[..*at], &text[at + sign.len_utf8()..])));
    }
    all
}

/// What stands before and behind a place.
fn around(text: &str, at: usize) -> String {
    let (start, end) = (text.floor_char_boundary(at.saturating_sub(80)), text.floor_char_boundary(at + 80));
    format!("{} [here] {}", &text[start..at], &text[at..end.max(at)])
}

#[test]
fn own_scripts_are_read() {
    for (path, text) in own() {
        assert!(accepts(&text), "{path:?}");
        assert_eq!(analyse(&text).opaque, None, "{path:?}");
    }
}

#[test]
fn what_bash_refuses_is_never_read() {
    let (mut refused, mut taken, mut unread) = (0, 0, BTreeMap::<String, Vec<PathBuf>>::new());
    let mut wrong = Vec::new();
    let own = own();
    assert!(own.len() >= 3);
    for (path, text) in own.into_iter().chain(found()) {
        for (at, text) in broken(&text) {
            if !accepts(&text) {
                refused += 1;
                if trusted(&analyse(&text)) {
                    wrong.push((path.clone(), around(&text, at)));
                }
            }
        }
        let analysis = analyse(&text);
        match (accepts(&text), analysis.opaque) {
            (false, None) => wrong.push((path, around(&text, text.len()))),
            (false, Some(_)) => refused += 1,
            (true, None) => taken += 1,
            (true, Some(reason)) => unread.entry(reason).or_default().push(path),
        }
    }
    let left: usize = unread.values().map(Vec::len).sum();
    println!("{taken} whole scripts read, {left} not; {refused} texts that Bash refuses");
    for (reason, paths) in &unread {
        println!("    {} times: {reason}, as {}", paths.len(), paths[0].display());
    }
    assert!(wrong.is_empty(), "read, and Bash refuses it: {wrong:#?}");
    assert!(refused > 20, "{refused}");
    assert!(left * 100 <= (taken + left) * UNREAD, "{left} of {}", taken + left);
}
