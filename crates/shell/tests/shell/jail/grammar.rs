//! Random command lines: lists, pipes, compounds, words, expansions, redirections. Programs are in `programs`.

use fastrand::Rng;

use super::programs;

/// One of these.
pub fn pick<'a>(random: &mut Rng, all: &[&'a str]) -> &'a str {
    all[random.usize(..all.len())]
}

/// With a chance of one in so many.
pub fn one_in(random: &mut Rng, many: u32) -> bool {
    random.u32(..many) == 0
}

pub const FILES: [&str; 16] = [
    "a.txt",
    "b.txt",
    "'my notes.txt'",
    "data.json",
    "data.csv",
    "list",
    "src",
    "src/main.rs",
    "docs",
    ".",
    "./a.txt",
    "/work/b.txt",
    "~/a.txt",
    "link",
    "none",
    "-",
];

/// Where a text would leave its trace if it wrote.
pub const TARGETS: [&str; 10] =
    ["OUT", "a.txt", "src/OUT", "/work/OUT", "~/OUT", "../OUT", "/tmp/OUT", "docs/x.md", "\"$X\"", ".git/OUT"];

const VARIABLES: [&str; 12] = ["X", "Y", "Z", "W", "FILE", "DIR", "NAME", "LINE", "f", "x", "i", "n"];

/// A whole text.
pub fn script(random: &mut Rng) -> String {
    let depth = random.u8(1..4);
    list(random, depth)
}

fn list(random: &mut Rng, depth: u8) -> String {
    let mut text = statement(random, depth);
    for _ in 0..[0, 0, 0, 1, 1, 2][random.usize(..6)] {
        text += pick(
            random,
            &["; ", "\n", " && ", " || ", " | ", " | ", " |& ", " & ", ";", "|", "\n\n# c'\"`(\n", "&&\n"],
        );
        text += &statement(random, depth);
    }
    text
}

fn statement(random: &mut Rng, depth: u8) -> String {
    if depth == 0 || !one_in(random, 4) {
        return simple(random, depth);
    }
    let depth = depth - 1;
    let inner = |random: &mut Rng| list(random, depth);
    let text = match random.u8(..19) {
        0 => format!("({})", inner(random)),
        1 => format!("{{ {}; }}", inner(random)),
        2 => format!("if {}; then {}; fi", inner(random), inner(random)),
        3 => format!("if {}; then {}; else {}\nfi", inner(random), inner(random), inner(random)),
        4 | 5 => {
            let words = words(random, depth, 3);
            format!("for {} in {words}; do {}; done", pick(random, &VARIABLES), inner(random))
        }
        6 => {
            format!("while read -r {}; do {}; done < {}", pick(random, &VARIABLES), inner(random), pick(random, &FILES))
        }
        7 => format!("until {}; do {}; break; done", inner(random), inner(random)),
        8 => {
            let (value, pattern) = (word(random, depth), pick(random, &["*", "a|b", "(x", "[a-z]*", "\"$x\"", "esac"]));
            format!("case {value} in {pattern}) {};; *) {};; esac", inner(random), inner(random))
        }
        9 => format!("[[ {} ]]", condition(random, depth)),
        10 => format!("(( {} ))", arithmetic(random, depth)),
        11 => format!("! {}", inner(random)),
        12 => format!("time {}{}", pick(random, &["", "-p ", "-- "]), inner(random)),
        13 => format!("f() {{ {}; }}; {}", inner(random), inner(random)),
        14 => format!("for ((i=0;i<{};i++)); do {}; done", pick(random, &["2", "n", "x[1]", "$X"]), inner(random)),
        15 => {
            let text = list(random, depth);
            format!("eval {}", quoted(random, &text))
        }
        16 => {
            let shell = pick(random, &["bash -c", "sh -c", "bash -lc", "bash --norc -c", "bash -e -c", "env bash -c"]);
            let text = list(random, depth);
            format!("{shell} {}", quoted(random, &text))
        }
        17 => format!("{{ {}; }} {}", inner(random), redirection(random, depth)),
        _ => format!("{} |\n while read x; do {}; done", inner(random), inner(random)),
    };
    if one_in(random, 8) { format!("{text} {}", redirection(random, depth)) } else { text }
}

/// One command with what may stand around it.
fn simple(random: &mut Rng, depth: u8) -> String {
    let mut text = String::new();
    if one_in(random, 12) {
        text += &assignment(random, depth);
        text.push(' ');
    }
    text += &programs::invocation(random, depth);
    if one_in(random, 6) {
        text.push(' ');
        text += &redirection(random, depth);
    }
    text
}

fn assignment(random: &mut Rng, depth: u8) -> String {
    let name =
        pick(random, &["X", "LC_ALL", "TZ", "NO_COLOR", "FILE", "a[1]", "a[$x]", "X+", "COUNT", "LANG", "n", "_", "i"]);
    format!("{name}={}", word(random, depth))
}

fn redirection(random: &mut Rng, depth: u8) -> String {
    match random.u8(..16) {
        0..5 => {
            pick(random, &["2>/dev/null", ">/dev/null", "2>&1", "&>/dev/null", ">&2", "1>&2", "2>&-", "</dev/null"])
                .into()
        }
        5 | 6 => format!("< {}", pick(random, &FILES)),
        7 => format!("<<< {}", word(random, depth)),
        8 => {
            let body = format!("{} {}", word(random, depth), expansion(random, depth));
            let (mark, end) =
                [("E", "E"), ("'E'", "E"), ("-E", "\tE"), ("\\E", "E"), ("\"E F\"", "E F")][random.usize(..5)];
            format!("<<{mark}\n{body}\n{end}\n")
        }
        9 => format!("< <({})", list(random, depth.saturating_sub(1).min(1))),
        10 => pick(
            random,
            &[
                ">/dev/stderr",
                ">/dev/fd/1",
                ">/dev/fd/3",
                ">/dev/../dev/null",
                "3>&1",
                "{fd}>/dev/null",
                ">&/dev/null",
                "<>/dev/null",
            ],
        )
        .into(),
        11 => format!("< {}", word(random, depth)),
        _ if one_in(random, 3) => {
            let sign = pick(random, &[">", ">>", ">|", "<>", "&>", "&>>", ">&", "2>", "{v}>", "3<>", ">& "]);
            format!("{sign}{}", pick(random, &TARGETS))
        }
        _ => "2> /dev/null".into(),
    }
}

/// Some words.
pub fn words(random: &mut Rng, depth: u8, most: usize) -> String {
    let count = random.usize(1..=most);
    (0..count).map(|_| word(random, depth)).collect::<Vec<_>>().join(" ")
}

/// One word of a text.
pub fn word(random: &mut Rng, depth: u8) -> String {
    match random.u8(..16) {
        0..7 => pick(random, &FILES).into(),
        7 => pick(random, &["x", "foo", "1", "-n", "--", "a=b", "''", "\"\"", "*", "{}", "!", "=", "%s", "\\;"]).into(),
        8 => pick(
            random,
            &[
                "*",
                "*.txt",
                "src/*",
                "?.txt",
                "[ab].txt",
                "./*",
                "-*",
                "*=*",
                "**",
                "~",
                "~+",
                "~me",
                "{a,b}.txt",
                "{1..3}",
            ],
        )
        .into(),
        9 => {
            let file = pick(random, &FILES);
            disguised(random, file)
        }
        10 | 11 => expansion(random, depth),
        12 => format!("\"{}\"", expansion(random, depth)),
        13 => format!("\"x {} y\"", expansion(random, depth)),
        14 => format!("{}{}", pick(random, &["a", "./", "x=", "src/", "-"]), expansion(random, depth)),
        _ => pick(
            random,
            &[
                "'a b'",
                "$'a\\tb'",
                "$'\\x2do'",
                "\\-o",
                "a\\ b",
                "\"a'b\"",
                "'$(evil)'",
                "\"\\$(evil)\"",
                "$\"x\"",
                "é",
                "修",
            ],
        )
        .into(),
    }
}

fn expansion(random: &mut Rng, depth: u8) -> String {
    let name = pick(random, &VARIABLES);
    match random.u8(..24) {
        0..4 => format!("${name}"),
        4 | 5 => format!("${{{name}}}"),
        6 => {
            format!("${{{name}{}{}}}", pick(random, &[":-", "-", ":+", "+", "#", "##", "%", "%%"]), word(random, depth))
        }
        7 => format!(
            "${{{name}{}}}",
            pick(
                random,
                &[
                    "^^", ",,", "^", "@Q", "@U", "@E", "@P", "@A", "@a", "@K", "[0]", "[@]", "[$x]", "//a/b", "/#a",
                    "/%a/$Y"
                ]
            )
        ),
        8 => format!("${{{name}:{}}}", arithmetic(random, depth)),
        9 => format!("${{#{name}}}"),
        10 => format!("${{!{name}{}}}", pick(random, &["", "*", "@", "[@]"])),
        11 => pick(
            random,
            &[
                "$?", "$#", "$@", "$*", "$$", "$!", "$-", "$_", "$0", "$1", "${@:2}", "${1:-x}", "$RANDOM", "$SECONDS",
                "$IFS", "$HOME", "$PWD",
            ],
        )
        .into(),
        12 | 13 => format!("$(({}))", arithmetic(random, depth)),
        14 => format!("${{{name}{}{}}}", pick(random, &[":=", "=", ":?", "?"]), word(random, depth)),
        15 => format!("$[{}]", arithmetic(random, depth)),
        16 | 17 if depth > 0 => format!("`{}`", simple(random, 0).replace('`', "\\`")),
        18 => format!("$(< {})", pick(random, &FILES)),
        19 if depth > 0 => format!("<({})", list(random, depth - 1)),
        20 if depth > 0 && one_in(random, 4) => format!(">({})", list(random, depth - 1)),
        _ if depth > 0 => format!("$({})", list(random, depth - 1)),
        _ => format!("${name}"),
    }
}

fn arithmetic(random: &mut Rng, depth: u8) -> String {
    match random.u8(..12) {
        0..4 => {
            pick(random, &["1+2", "1", "0x1f", "2**3", "(1)", "1?2:3", "16#ff", "-1", " 1 , 2 ", "$#", "${#X}"]).into()
        }
        4 => pick(random, &["x", "x+1", "i++", "x=1", "n", "X", "a[0]", "a[x]", "x[$(evil)]", "$x", "\"$X\"", "${X}"])
            .into(),
        5 => pick(random, &["$RANDOM", "$SECONDS", "$?", "$$", "RANDOM", "LINENO", "$((1))", "$LINENO", "${X:-1}"])
            .into(),
        6 if depth > 0 => format!("$({})", simple(random, 0)),
        7 => format!("{}+{}", arithmetic(random, 0), arithmetic(random, 0)),
        _ => random.u8(..9).to_string(),
    }
}

fn condition(random: &mut Rng, depth: u8) -> String {
    let (left, right) = (word(random, depth), word(random, depth));
    match random.u8(..9) {
        0 => format!("{} {left}", pick(random, &["-f", "-d", "-e", "-z", "-n", "-v", "-R", "-o", "-t", "-x", "!"])),
        1 => format!("{left} == {right}"),
        2 => format!("{left} =~ {}", pick(random, &["^a", "(a|b)", "$X", "[[:space:]]", "a{1,2}"])),
        3 => format!("{left} {} {right}", pick(random, &["-eq", "-lt", "-ge", "-ne"])),
        4 => format!("{left} {} {right}", pick(random, &["-nt", "-ef", "!=", "=", "<", ">"])),
        5 => format!("-v {}", pick(random, &["X", "a[0]", "a[$x]", "'a[$(evil)]'", "$X", "\"$Y\""])),
        6 => format!("({} && ! {left})", condition(random, 0)),
        7 => format!("{left} == *x* || {}", condition(random, 0)),
        _ => left,
    }
}

/// The same text for a reader that takes quotes away.
pub fn quoted(random: &mut Rng, text: &str) -> String {
    match random.u8(..4) {
        0 if !text.contains(['"', '$', '`', '\\', '!']) => format!("\"{text}\""),
        _ => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The same word in other signs.
pub fn disguised(random: &mut Rng, word: &str) -> String {
    if word.is_empty() || word.contains(['\'', '"', '$', '\\', '`', '\n', ' ', '*', '{', '~']) {
        return word.into();
    }
    let at =
        (0..=word.len()).filter(|at| word.is_char_boundary(*at)).nth(random.usize(..word.chars().count())).unwrap_or(0);
    let (head, tail) = word.split_at(at);
    match random.u8(..12) {
        0 => format!("'{word}'"),
        1 => format!("\"{word}\""),
        2 => format!("{head}\\{tail}"),
        3 => format!("{head}''{tail}"),
        4 => format!("{head}\"{tail}\""),
        5 => format!("$'{}'", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        6 => format!("{head}\\\n{tail}"),
        7 => format!("{{{word},x}}"),
        8 => format!("${{Q:-{word}}}"),
        9 => {
            let nothing = pick(
                random,
                &[
                    "$Q", "${Q}", "$!", "$@", "$*", "$1", "\"$Q\"", "\"$@\"", "${Q:+x}", "$(true)", "`true`", "$\\\nQ",
                    "${Q[@]}", "${!Q}", "$2$3", "\"\"", "${@:9}",
                ],
            );
            format!("{head}{nothing}{tail}")
        }
        10 => format!("$(echo {word})"),
        _ => format!("$'{word}'"),
    }
}
