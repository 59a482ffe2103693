//! Random calls of the programs in the table: options in every spelling, operands, scripts, wrappers.

use std::sync::LazyLock;

use fastrand::Rng;
use serde_json::{Map, Value};

use super::grammar::{FILES, TARGETS, disguised, one_in, pick, quoted, word, words};
use super::{calls, scripts};

struct Table {
    /// Programs that may only read.
    reading: Vec<String>,
    wrappers: Vec<String>,
    rows: Map<String, Value>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let table: Value = serde_json::from_str(include_str!("../../../src/programs.json")).unwrap();
    let rows = table["programs"].as_object().unwrap().clone();
    // These wait, or speak of what is no file.
    let left = ["sleep", "exit", "wait", "top"];
    let reads = |row: &Value| row["changes"] != true && row["exact"].is_null();
    let reading = rows.iter().filter(|(name, row)| reads(row) && !left.contains(&name.as_str()));
    Table {
        reading: reading.map(|(name, _)| name.clone()).collect(),
        wrappers: table["wrappers"].as_object().unwrap().keys().cloned().collect(),
        rows: rows.clone(),
    }
});

/// Options that write or run programs somewhere, to be tried everywhere.
const DANGEROUS: [&str; 44] = [
    "-o OUT",
    "-oOUT",
    "--output OUT",
    "--output=OUT",
    "--outp=OUT",
    "-i",
    "--in-place",
    "-w",
    "-e evil",
    "-f list",
    "-c evil",
    "--compress-program=evil",
    "--compress-prog evil",
    "-T src",
    "--files0-from=list0",
    "--pre=evil",
    "--pre evil",
    "--hostname-bin=evil",
    "--ext-diff",
    "--textconv",
    "-O evil",
    "-Oevil",
    "--open-files-in-pager=evil",
    "-delete",
    "-exec evil ;",
    "-x evil",
    "-X evil",
    "-s 2020-01-01",
    "--set=2020-01-01",
    "--random-source=list",
    "-R",
    "-C",
    "-C -m x.magic",
    "--reference=a.txt",
    "-r",
    "--filter=evil",
    "--to-command=evil",
    "-p OUT",
    "-a",
    "-u",
    "--follow",
    "-F",
    "-S evil",
    "-d OUT",
];

/// The name of a program that runs another.
pub fn wrapper(random: &mut Rng) -> &'static str {
    &TABLE.wrappers[random.usize(..TABLE.wrappers.len())]
}

/// A program and its words.
pub fn invocation(random: &mut Rng, depth: u8) -> String {
    match random.u8(..40) {
        0 => calls::special(random, depth),
        1 | 2 => calls::wrapped(random, depth),
        3 => word(random, depth) + " " + &words(random, depth, 2),
        4 => format!(
            "{} {}",
            pick(random, &["evil", "rm -f a.txt", "touch OUT", "tee OUT", "cp a.txt OUT"]),
            words(random, depth, 1)
        ),
        5..12 => format!(
            "{} {}",
            pick(random, &["echo", "cat", "ls", "grep", "head", "wc -l", "true", "printf", "pwd", "test"]),
            words(random, depth, 3)
        ),
        12 | 13 => format!("find {}", scripts::find(random)),
        14 | 15 => sed(random, depth),
        16 | 17 => awk(random, depth),
        18..21 => git(random, depth),
        21 | 22 => format!(
            "{} | xargs {}",
            pick(random, &["ls", "cat list", "find . -print0", "echo a.txt", "git ls-files", "cat list0"]),
            calls::xargs(random, depth)
        ),
        23 | 24 => calls::builtin(random, depth),
        _ => {
            let name = &TABLE.reading[random.usize(..TABLE.reading.len())];
            let call = generic(random, name, &TABLE.rows[name.as_str()], depth);
            match random.u8(..12) {
                0 => format!(
                    "{}{call}",
                    pick(random, &["/usr/bin/", "./", "\\", "command ", "/bin/", "builtin ", "exec "])
                ),
                _ => call,
            }
        }
    }
}

fn generic(random: &mut Rng, name: &str, row: &Value, depth: u8) -> String {
    let mut all = Vec::new();
    for _ in 0..random.u8(..4) {
        all.push(option(random, row, depth));
    }
    for _ in 0..random.u8(..3) {
        all.push(if one_in(random, 3) { word(random, depth) } else { pick(random, &FILES).into() });
    }
    if one_in(random, 8) {
        all.push("--".into());
    }
    if one_in(random, 2) {
        random.shuffle(&mut all);
    }
    format!("{name} {}", all.join(" "))
}

/// One option of a row, or one that it should not have.
fn option(random: &mut Rng, row: &Value, depth: u8) -> String {
    let options = &row["options"];
    let listed = |key: &str| -> Vec<String> {
        match &options[key] {
            Value::String(letters) => letters.chars().map(String::from).collect(),
            Value::Array(names) => names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        }
    };
    let one = |random: &mut Rng, from: Vec<String>| {
        if from.is_empty() { None } else { Some(from[random.usize(..from.len())].clone()) }
    };
    let value = |random: &mut Rng| match random.u8(..5) {
        0 => word(random, depth),
        1 => pick(random, &TARGETS).into(),
        _ => pick(
            random,
            &["1", "2", "a", "x", ",", "1,2", "a.txt", "never", "%s", "-1", "''", "k", "list", "'$(evil)'"],
        )
        .into(),
    };
    let text = match random.u8(..16) {
        0..4 => {
            let mut cluster = String::from("-");
            for _ in 0..random.u8(1..4) {
                cluster += &one(random, listed("flags")).unwrap_or_else(|| random.alphabetic().to_string());
            }
            match one(random, listed("values")).filter(|_| one_in(random, 3)) {
                Some(letter) if one_in(random, 2) => format!("{cluster}{letter}{}", value(random)),
                Some(letter) => format!("{cluster}{letter} {}", value(random)),
                None => cluster,
            }
        }
        4..6 => match one(random, listed("values")) {
            Some(letter) => format!("-{letter}{}{}", pick(random, &["", " "]), value(random)),
            None => format!("-{}", random.alphanumeric()),
        },
        6 => one(random, listed("long")).map_or_else(|| "--help".into(), |name| format!("--{}", short(random, &name))),
        7 | 8 => match one(random, listed("long_values")) {
            Some(name) => format!("--{}{}{}", short(random, &name), pick(random, &["=", " "]), value(random)),
            None => "--version".into(),
        },
        9 => {
            let dangerous =
                [listed("writes"), listed("except"), listed("refuse_values"), listed("reads"), listed("tree")].concat();
            match one(random, dangerous) {
                Some(letter) if letter.len() == 1 => {
                    format!("-{}{letter}{}{}", random.alphabetic(), pick(random, &["", " "]), value(random))
                }
                Some(name) => format!("--{}={}", short(random, &name), value(random)),
                None => format!("-{}", random.u8(..100)),
            }
        }
        10 => format!("-{}{}", random.alphabetic(), random.alphabetic()),
        11 => format!("+{}", random.alphanumeric()),
        12 if one_in(random, 2) => pick(random, &DANGEROUS).into(),
        _ => one(random, listed("flags"))
            .map_or_else(|| format!("-{}", random.alphabetic()), |letter| format!("-{letter}")),
    };
    if one_in(random, 10) { disguised(random, &text) } else { text }
}

/// A long name, sometimes not to its end.
fn short(random: &mut Rng, name: &str) -> String {
    let length = if one_in(random, 4) { random.usize(1..=name.len()) } else { name.len() };
    name.chars().take(length).collect()
}

fn sed(random: &mut Rng, depth: u8) -> String {
    let script = scripts::sed(random);
    let script = quoted(random, &script);
    let options = pick(
        random,
        &[
            "",
            "-n",
            "-E",
            "-ne",
            "-n -e",
            "-s",
            "-e p -e",
            "--expression",
            "-z",
            "-i",
            "-nf x.sed -e",
            "--debug",
            "--posix",
            "-l 5",
        ],
    );
    let more = if one_in(random, 5) { option(random, &TABLE.rows["sed"], depth) } else { String::new() };
    format!("sed {options} {script} {} {more}", words(random, depth, 2))
}

fn awk(random: &mut Rng, depth: u8) -> String {
    let name = pick(random, &["awk", "awk", "gawk", "mawk"]);
    let program = scripts::awk(random);
    let options = pick(
        random,
        &[
            "",
            "-F:",
            "-F ','",
            "-v x=1",
            "-v 'x=a b'",
            "--",
            "-F'\\t' -v OFS=,",
            "-f x.awk",
            "-e",
            "-i inplace",
            "-E",
            "-l filefuncs",
            "-o",
            "-p",
            "-d",
            "-n",
            "--csv",
            "-v x=$X",
        ],
    );
    format!("{name} {options} {} {}", quoted(random, &program), words(random, depth, 2))
}

fn git(random: &mut Rng, depth: u8) -> String {
    let git = &TABLE.rows["git"];
    let front = if one_in(random, 8) { option(random, git, depth) } else { String::new() };
    let mut words = vec![String::from("git"), front];
    let mut row = git;
    while let Some(commands) = row["commands"].as_object() {
        let names: Vec<&String> = commands.keys().collect();
        let name = names[random.usize(..names.len())];
        words.push(name.clone());
        row = &commands[name.as_str()];
        if one_in(random, 3) {
            break;
        }
    }
    for _ in 0..random.u8(..4) {
        words.push(match random.u8(..6) {
            0..3 => option(random, row, depth),
            3 => pick(
                random,
                &[
                    "HEAD",
                    "HEAD~0",
                    "main",
                    "v1",
                    "--",
                    "main..other",
                    "HEAD:a.txt",
                    "@{u}",
                    "new",
                    ":/one",
                    "stash@{0}",
                    "user.name",
                    "origin",
                ],
            )
            .into(),
            4 => pick(
                random,
                &[
                    "--format=%G?",
                    "--format=%h",
                    "-p",
                    "--stat",
                    "--all",
                    "-1",
                    "--no-index",
                    "--output=OUT",
                    "--output OUT",
                    "-O evil",
                    "--ext-diff",
                    "--textconv",
                    "--exec=evil",
                    "-d",
                    "-D",
                    "-m",
                    "-f",
                    "--edit",
                    "-u",
                    "--unset",
                    "--add",
                    "-M",
                    "--prune",
                ],
            )
            .into(),
            _ => word(random, depth),
        });
    }
    words.join(" ")
}
