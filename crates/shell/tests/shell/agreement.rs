//! A second reading of Bash by another parser: what it finds, the analysis finds.

use brush_parser::ParserOptions;
use brush_parser::ast::{Command, CompoundCommand, CompoundList};
use shell::Word;

use super::analyse;

const TEXTS: [&str; 24] = [
    "ls -la | head; pwd",
    "a && b || c",
    "a & b\nc",
    "if a; then b; elif c; then d; else e; fi",
    "while a; do b; done | c",
    "for x in 1 2; do a $x; done",
    "case x in (a|b) c;; *) d;; esac",
    "(a; b) && { c; d; }",
    "f() { a; }; f",
    "function g { a; b; }",
    "A=1 b c >d 2>&1 <e",
    "a <<E | b\nx\nE\nc",
    "a <<'E'\n$(x)\nE\nb",
    "a <<<'x y' | b",
    "! a | b |& c",
    "a 'b;c' \"d|e\" f\\;g",
    "a # b; c\nd",
    "a \\\n b; c",
    "[[ -f x && y == z ]] && a",
    "((1 + 2)) || a",
    "time a | b",
    "until a; do b; done",
    "a \"$(b)\" `c`; d",
    "{ a; } 2>/dev/null || b",
];

#[test]
fn another_parser_finds_the_same_commands() {
    for text in TEXTS {
        let tokens = brush_parser::tokenize_str(text).unwrap();
        let program = brush_parser::parse_tokens(&tokens, &ParserOptions::default()).unwrap();
        let mut expected = Vec::new();
        for list in &program.complete_commands {
            list_names(list, &mut expected);
        }
        let found: Vec<String> =
            analyse(text).commands.iter().filter_map(|command| command.words.first().map(Word::shown)).collect();
        // Substitutions are among those found, but not in the other parser's tree.
        let missing: Vec<&String> = expected.iter().filter(|name| !found.contains(name)).collect();
        assert_eq!(missing, Vec::<&String>::new(), "{text:?}: {found:?}");
        let own = found.iter().filter(|name| !["b", "c"].contains(&name.as_str()) || !text.contains("$("));
        let added: Vec<&String> = own.filter(|name| !expected.contains(name)).collect();
        assert_eq!(added, Vec::<&String>::new(), "{text:?}: {expected:?}");
    }
}

fn list_names(list: &CompoundList, names: &mut Vec<String>) {
    for item in &list.0 {
        for (_, pipeline) in item.0.iter() {
            for command in &pipeline.seq {
                command_names(command, names);
            }
        }
    }
}

fn command_names(command: &Command, names: &mut Vec<String>) {
    match command {
        Command::Simple(simple) => names.extend(simple.word_or_name.iter().map(|word| word.value.clone())),
        Command::Compound(compound, _) => compound_names(compound, names),
        Command::Function(function) => compound_names(&function.body.0, names),
        Command::ExtendedTest(..) => {}
    }
}

fn compound_names(compound: &CompoundCommand, names: &mut Vec<String>) {
    match compound {
        CompoundCommand::BraceGroup(group) => list_names(&group.list, names),
        CompoundCommand::Subshell(subshell) => list_names(&subshell.list, names),
        CompoundCommand::ForClause(each) => list_names(&each.body.list, names),
        CompoundCommand::CaseClause(case) => {
            case.cases.iter().filter_map(|arm| arm.cmd.as_ref()).for_each(|list| list_names(list, names));
        }
        CompoundCommand::IfClause(condition) => {
            list_names(&condition.condition, names);
            list_names(&condition.then, names);
            for part in condition.elses.iter().flatten() {
                part.condition.iter().for_each(|list| list_names(list, names));
                list_names(&part.body, names);
            }
        }
        CompoundCommand::WhileClause(repeat) | CompoundCommand::UntilClause(repeat) => {
            list_names(&repeat.0, names);
            list_names(&repeat.1.list, names);
        }
        CompoundCommand::Arithmetic(_) | CompoundCommand::ArithmeticForClause(_) | CompoundCommand::Coprocess(_) => {}
    }
}
