//! Random changes to texts that are known: those of the permission corpus and of this crate's tables.

use fastrand::Rng;
use serde_json::Value;

use super::grammar::{disguised, one_in, pick, script, word};

/// Every text that there is; those that only read stand in it more than once.
pub fn corpus() -> Vec<String> {
    let shared =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/permissions/permissions.jsonl"));
    let shared = shared.unwrap();
    let own = [include_str!("../verdicts.jsonl"), include_str!("../allow.jsonl"), include_str!("../deny.jsonl")];
    let mut all = Vec::new();
    for line in shared.lines().chain(own.iter().flat_map(|table| table.lines())) {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(text) = case["input"]["command"].as_str().or_else(|| case["text"].as_str()) else { continue };
        if text.len() > 600 {
            continue;
        }
        let text = text.replace("@ROOT@", "/work").replace("@HOME@", "/home/me");
        let reads = case["expect"] == "allow" || case["reads"] == true;
        all.extend(std::iter::repeat_n(text, if reads { 3 } else { 1 }));
    }
    assert!(all.len() > 1_500, "{}", all.len());
    all
}

/// One of these texts, changed a little.
pub fn mutate(random: &mut Rng, corpus: &[String]) -> String {
    let one = |random: &mut Rng| corpus[random.usize(..corpus.len())].clone();
    let mut text = one(random);
    for _ in 0..random.u8(1..4) {
        let other = one(random);
        text = match random.u8(..17) {
            0 | 1 => splice(random, &text, &other),
            2 => characters(random, &text),
            3 | 4 => swapped(random, &text),
            5 => replaced(random, &text),
            6 => format!("{text}{}{}", pick(random, &["; ", " | ", " && ", "\n", " & ", " "]), other),
            7 => inserted(random, &text),
            8 => around(random, &text),
            9 => in_other_signs(random, &text),
            10 => format!("{text} {}", word(random, 1)),
            11 => removed(random, &text),
            12..=14 => anywhere(random, &text),
            15 => format!("{}{}{text}", script(random), pick(random, &["; ", " | ", " && ", "\n", " || "])),
            _ => option_of(random, &text, &other),
        };
    }
    text.chars().take(2_000).collect()
}

/// Words and what separates them; both stay as they are.
fn tokens(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut start = 0;
    let separates = |sign: char| {
        matches!(sign, ' ' | '\n' | '\t' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | '`' | '\'' | '"' | '=')
    };
    for (at, sign) in text.char_indices().filter(|(_, sign)| separates(*sign)) {
        if start < at {
            all.push(&text[start..at]);
        }
        start = at + sign.len_utf8();
        all.push(&text[at..start]);
    }
    all.push(&text[start..]);
    all
}

fn splice(random: &mut Rng, head: &str, tail: &str) -> String {
    let (head, tail) = (tokens(head), tokens(tail));
    let (keep, from) = (random.usize(..=head.len()), random.usize(..tail.len()));
    head[..keep].iter().chain(&tail[from..]).copied().collect()
}

fn characters(random: &mut Rng, text: &str) -> String {
    let mut all: Vec<char> = text.chars().collect();
    if all.is_empty() {
        return text.into();
    }
    let at = random.usize(..all.len());
    match random.u8(..3) {
        0 => drop(all.remove(at)),
        1 => all.insert(at, all[at]),
        _ => {
            let signs: Vec<char> = "'\"\\`$(){}[]<>|&;#!~*?=-+@%^:/,.\n\t wefoiex01".chars().collect();
            all.insert(at, signs[random.usize(..signs.len())]);
        }
    }
    all.into_iter().collect()
}

/// A command, or what hides one, in the middle of anything: where two readers disagree on what is data, it runs.
fn anywhere(random: &mut Rng, text: &str) -> String {
    let new = match random.u8(..4) {
        0 => "\\\n",
        1 => pick(
            random,
            &[
                "'", "\"", "`", "\\", "$'", "$\"", "#", "$(", ")", "${", "}", "((", "))", "<<", "<<<", "$((", "[", "]",
                "\n", "\\\\",
            ],
        ),
        _ => pick(
            random,
            &[
                "\nevil\n",
                ";evil;",
                "$(evil)",
                "`evil`",
                "&evil&",
                "|evil|",
                "<(evil)",
                "\\\nevil\n",
                "\n\\\nevil\n",
                "$'\\'';evil;'",
                "#\nevil\n",
                " #evil\n",
                "$(#)\nevil)",
                "\nE\nevil\n",
                "\nEOF\nevil\n",
                "${x:-$(evil)}",
                "$((x[$(evil)]))",
                "\\`evil\\`",
                "\\$(evil)",
                "$\\\n(evil)",
                "`\\`evil\\``",
                "<<E\n$(evil)\nE\n",
                "[$(evil)]",
                "$[$(evil)]",
                "\\\\\nevil\n",
                "'\nevil\n'",
                "\";evil;\"",
                ")evil;(",
                "}\nevil;{",
                "esac;evil;",
                "done;evil;",
                "\tevil",
                "$'\\n'evil",
                "{evil,}",
                "!evil",
                "&&evil;",
                "<<\\\nE\nx\nE\nevil\n",
            ],
        ),
    };
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let (head, tail) = text.split_at(places[random.usize(..places.len())]);
    format!("{head}{new}{tail}")
}

fn swapped(random: &mut Rng, text: &str) -> String {
    let mut all = tokens(text);
    let (one, other) = (random.usize(..all.len()), random.usize(..all.len()));
    all.swap(one, other);
    all.concat()
}

fn removed(random: &mut Rng, text: &str) -> String {
    let mut all = tokens(text);
    all.remove(random.usize(..all.len()));
    all.concat()
}

fn replaced(random: &mut Rng, text: &str) -> String {
    let new = word(random, 1);
    let mut all = tokens(text);
    let at = random.usize(..all.len());
    all[at] = &new;
    all.concat()
}

fn inserted(random: &mut Rng, text: &str) -> String {
    let new = format!(
        " {} ",
        match random.u8(..3) {
            0 => word(random, 1),
            1 => pick(
                random,
                &[
                    "-o OUT",
                    "-i",
                    "-exec evil {} +",
                    "--output=OUT",
                    "> OUT",
                    "$X",
                    "$(evil)",
                    "|",
                    "&&",
                    "\\",
                    "--",
                    "evil",
                    "*"
                ]
            )
            .into(),
            _ => pick(
                random,
                &["2>/dev/null", "2>&1", "!", "{", "}", "(", ")", "do", "done", "then", "fi", "in", "time", "\\\n"]
            )
            .into(),
        }
    );
    let mut all = tokens(text);
    all.insert(random.usize(..=all.len()), &new);
    all.concat()
}

fn around(random: &mut Rng, text: &str) -> String {
    match random.u8(..9) {
        0 => format!("echo $({text})"),
        1 => format!("( {text} )"),
        2 => format!("bash -c '{}'", text.replace('\'', "'\\''")),
        3 => format!("cat <<E\n$({text})\nE\n"),
        4 => format!("if true; then {text}; fi"),
        5 => format!("for f in *; do {text}; done"),
        6 => format!("cat <({text})"),
        7 => format!("eval '{}'", text.replace('\'', "'\\''")),
        _ => format!("{{ {text}\n}} 2>/dev/null"),
    }
}

fn in_other_signs(random: &mut Rng, text: &str) -> String {
    let mut all = tokens(text);
    let at = random.usize(..all.len());
    let new = disguised(random, all[at]);
    all[at] = &new;
    all.concat()
}

/// An option of one text in another.
fn option_of(random: &mut Rng, text: &str, other: &str) -> String {
    let options: Vec<&str> = other.split_whitespace().filter(|word| word.starts_with('-')).collect();
    if options.is_empty() {
        return text.into();
    }
    let option = options[random.usize(..options.len())];
    let mut words: Vec<&str> = text.split(' ').collect();
    let at = if one_in(random, 2) { words.len() } else { random.usize(1..=words.len()) };
    words.insert(at, option);
    words.join(" ")
}
