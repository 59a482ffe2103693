//! Texts and the trees they give, printed in a short form: bare text as it is, quoted text in `«»`, expansions in `‹›`
//! with what they run.

use super::*;

fn show(text: &str) -> String {
    match parse(text) {
        Ok(tree) => script(&tree),
        Err(trouble) => format!("! {}", trouble.0),
    }
}

fn script(tree: &Script) -> String {
    tree.0.iter().map(and_or).collect::<Vec<_>>().join("; ")
}

fn and_or(list: &AndOr) -> String {
    let mut text = pipeline(&list.first);
    for (join, next) in &list.rest {
        text += if *join == Join::And { " && " } else { " || " };
        text += &pipeline(next);
    }
    if list.background { text + " &" } else { text }
}

fn pipeline(pipe: &Pipeline) -> String {
    let commands: Vec<String> = pipe.commands.iter().map(command).collect();
    format!("{}{}", if pipe.negated { "! " } else { "" }, commands.join(" | "))
}

fn command(tree: &Command) -> String {
    match tree {
        Command::Simple(simple) => {
            let mut parts = Vec::new();
            for set in &simple.assignments {
                parts.push(format!("{}=[{}]", set.name, words(&set.values)));
            }
            parts.extend(simple.words.iter().map(word));
            parts.extend(simple.redirects.iter().map(redirect));
            parts.join(" ")
        }
        Command::Compound(tree, redirects) => {
            let redirects: Vec<String> = redirects.iter().map(redirect).collect();
            format!("{} {}", compound(tree), redirects.join(" ")).trim_end().to_owned()
        }
        Command::Function { name, body } => format!("{name}() {}", command(body)),
    }
}

fn compound(tree: &Compound) -> String {
    match tree {
        Compound::Group(body) => format!("{{{}}}", script(body)),
        Compound::Subshell(body) => format!("({})", script(body)),
        Compound::If(arms, otherwise) => {
            let arms: Vec<String> =
                arms.iter().map(|(test, body)| format!("if {} then {}", script(test), script(body))).collect();
            let otherwise = otherwise.as_ref().map(|body| format!(" else {}", script(body)));
            arms.join(" el") + &otherwise.unwrap_or_default()
        }
        Compound::Loop(test, body) => format!("loop {} do {}", script(test), script(body)),
        Compound::Each { variable, words: list, body } => {
            format!("each {variable} in {} do {}", words(list), script(body))
        }
        Compound::Case { subject, arms } => {
            let arms: Vec<String> =
                arms.iter().map(|(patterns, body)| format!("{}) {}", words(patterns), script(body))).collect();
            format!("case {} {}", word(subject), arms.join(", "))
        }
        Compound::Arithmetic(expression) => format!("(({}", expression.written),
        Compound::Counted(header, body) => format!("for (({} do {}", header.written, script(body)),
        Compound::Test(list) => format!("[[ {} ]]", words(list)),
        Compound::Coprocess(body) => format!("coproc {}", command(body)),
    }
}

fn redirect(redirect: &Redirect) -> String {
    let target = match &redirect.target {
        Target::Word(target) => word(target),
        Target::Body(body) => body.get().map_or_else(|| "unset".to_owned(), word),
    };
    format!("{:?}:{target}", redirect.kind)
}

fn words(list: &[Word]) -> String {
    list.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(tree: &Word) -> String {
    tree.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Bare(text) => text.clone(),
            Piece::Quoted(text) => format!("«{text}»"),
            Piece::Expansion(expansion) => {
                let scripts: Vec<String> = expansion.scripts.iter().map(script).collect();
                let hazard = if expansion.hazard.is_some() { "!" } else { "" };
                match expansion.scripts.is_empty() {
                    true => format!("‹{hazard}{}›", expansion.written),
                    false => format!("‹{hazard}{}›", scripts.join("; ")),
                }
            }
        })
        .collect()
}

#[test]
fn commands_are_taken_apart() {
    let cases = [
        ("ls -la", "ls -la"),
        ("a; b & c\nd", "a; b &; c; d"),
        ("a && b || ! c | d |& e", "a && b || ! c | d | e"),
        ("a \\\n; b", "a; b"),
        ("r\\\nm x # c", "rm x"),
        ("# c\\\na", "a"),
        ("A=1 B+=2 c D=3", "A=[1] B=[2] c D=3"),
        ("a=(x 'y'\nz)", "a=[x «y» z]"),
        ("export a=(x y)", "export a= x y"),
        ("time -p a; ! b", "a; ! b"),
        ("{ a; } > f", "{a} Output:f"),
        ("(a; b) 2>&1", "(a; b) CopyOutput:1"),
        ("if a; then b; elif c; then d; else e; fi", "if a then b elif c then d else e"),
        ("while a; do b; done < f", "loop a do b Input:f"),
        ("for x in a b; do c; done", "each x in a b do c"),
        ("for x; do c; done", "each x in  do c"),
        ("select x in a; do c; done", "each x in a do c"),
        ("for ((i=0;i<3;i++)); do c; done", "for ((i=0;i<3;i++)) do c"),
        ("case a in x|y) b;; (z) c;& *) esac", "case a x y) b, z) c, *)"),
        ("f() { a; }; function g { b; }; function h() (c)", "f() {a}; g() {b}; h() (c)"),
        ("[[ -f a && b =~ ^(x|y z)$ ]]", "[[ -f a b =~ ^«|»x«|»y«|»z«|»$ ]]"),
        ("((1+2))", "((1+2))"),
        ("coproc a b; coproc N { a; }", "coproc a b; coproc {a}"),
        ("a &>f 2>>g {fd}<h <>i >|j", "a Output:f Output:g Input:h ReadWrite:i Output:j"),
        ("if a; then if b; then c; fi fi", "if a then if b then c"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn quotes_are_read_as_bash_reads_them() {
    let cases = [
        (r#"'a b'"c d"\ e"#, "«a b»«c d »e"),
        (r#""a\"b\$c\d""#, r#"«a"b$c\d»"#),
        (r"$'\x72\u006d\n\'x'", "«rm\n'x»"),
        (r#"$"rm""#, "«rm»"),
        (r#""""#, "«»"),
        (r#""a $b `c "d"` $(e "f")""#, "«a »‹$b›« »‹c «d»›« »‹e «f»›"),
        ("`a \\`b\\``", "‹a ‹b››"),
        ("$(case x in x) a;; esac)", "‹case x x) a›"),
        ("$(a # )\n)", "‹a›"),
        ("${x:-$(a)}${x#'}'}${#x}", "‹a›‹${x#'}'}›‹${#x}›"),
        ("${!x} ${x@P} ${x:=y} ${x[$(a)]} ${x@Q}", "‹!${!x}› ‹!${x@P}› ‹!${x:=y}› ‹!a› ‹${x@Q}›"),
        ("$((1+0x1f)) $((x)) $(($(a))) $[1]", "‹$((1+0x1f))› ‹!$((x))› ‹!a› ‹$[1]›"),
        ("<(a)x>(b)", "‹a›x‹b›"),
        ("a#b $ $%", "a#b $ $%"),
    ];
    for (text, expected) in cases {
        let shown = show(&format!("c {text}"));
        // Where one quoted piece ends and the next begins means nothing.
        assert_eq!(shown.replace("»«", ""), format!("c {expected}").replace("»«", ""), "{text}");
    }
}

#[test]
fn here_documents_end_where_bash_ends_them() {
    let cases = [
        ("cat <<E\na $x\nE\nb", "cat Text:«a »‹$x›«\n»; b"),
        ("cat <<'E'\n$(a)\nE\n", "cat Text:«$(a)\n»"),
        ("cat <<-E\n\ta\n\tE\n", "cat Text:«a\n»"),
        ("cat <<A <<'B'; c\n1\nA\n2\nB\n", "cat Text:«1\n» Text:«2\n»; c"),
        // A line that a backslash continues does not end it.
        ("cat <<E\nfoo\\\nE\n'$(a)'\nE\n", "cat Text:«fooE\n'»‹a›«'\n»"),
        ("cat <<E\n\\$(a) \"\nE", "cat Text:«$(a) \"\n»"),
        ("a <<<'x y'", "a Text:«x y»"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(text), expected, "{text}");
    }
}

#[test]
fn what_bash_may_read_otherwise_is_refused() {
    let texts = [
        "a 'b",
        "a \"b",
        "a `b",
        "a $(b",
        "a ${b",
        "(a",
        "{ a",
        "a )",
        "a &&",
        "| a",
        "a ;; b",
        "if a; then b",
        "for",
        "case a in",
        "cat <<E\na",
        "cat <<$x\na\n",
        "a $(b <<E)\nE\n",
        "a \"${x:-'}\"; b; c \"'}\"",
        "$((a) b)",
        "a[$(b)]",
        "a[1 2",
        "a <",
        "a b (c)",
        "fi",
        "a \\",
        "$'\\xff'",
        "${x:-<(a)}",
        "${ a; }",
        "f() a",
        "{ }",
        "a <<E $(b\nE\n)",
    ];
    for text in texts {
        assert!(parse(text).is_err(), "{text}: {}", show(text));
    }
}
