//! Builtins that evaluate subscripts: `test`, `printf` and `read` run code when a name they are given holds one.

use crate::analysis::{Cause, Part, Word};
use crate::syntax::is_name;

use super::table::table;

const UNARY: [&str; 22] = [
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-G", "-h", "-k", "-L", "-n", "-N", "-O", "-p", "-r", "-s", "-S", "-u",
    "-w", "-x", "-z",
];

const BINARY: [&str; 16] =
    ["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "-a", "-o"];

/// Why `test` or `[` may run code: a name to look up, or a word that may become the operator for that.
pub fn test_objection(arguments: &[Word]) -> Option<String> {
    let is = |index: Option<usize>, operators: &[&str]| {
        index.and_then(|index| arguments.get(index)).and_then(Word::text).is_some_and(|text| operators.contains(&text))
    };
    for (index, word) in arguments.iter().enumerate() {
        let Some(text) = word.text() else {
            let lone = arguments.iter().filter(|word| word.text() != Some("]")).count() == 1;
            let one = word.causes().all(|cause| matches!(cause, Cause::Quoted | Cause::Number));
            let before = index.checked_sub(1);
            let placed = is(before, &UNARY) || is(before, &BINARY) || is(Some(index + 1), &BINARY);
            if !word.may_hide_option() || (one && (placed || lone)) {
                continue;
            }
            return Some(format!("`{}` may become an operator of `test`", word.shown()));
        };
        if matches!(text, "-v" | "-R") {
            return Some(format!("`test {text}` can evaluate an index, which can run commands"));
        }
    }
    None
}

/// The same for the words of `[[ ]]`, where only arithmetic operators evaluate their operands.
pub fn extended_test_objection(words: &[Word]) -> Option<String> {
    const ARITHMETIC: [&str; 6] = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
    let is_number = |word: Option<&Word>| {
        word.is_some_and(|word| {
            let digits = |text: &str| {
                let digits = text.strip_prefix('-').unwrap_or(text);
                !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
            };
            word.text().is_some_and(digits)
                || matches!(word.parts.as_slice(), [Part::Unknown { cause: Cause::Number, .. }])
        })
    };
    for (index, word) in words.iter().enumerate() {
        match word.text() {
            Some("-v" | "-R") => {
                return Some("`[[ -v` can evaluate an index, which can run commands".into());
            }
            Some(operator) if ARITHMETIC.contains(&operator) => {
                let left = index.checked_sub(1).and_then(|index| words.get(index));
                if !is_number(left) || !is_number(words.get(index + 1)) {
                    return Some(format!("`[[ {operator}` evaluates its operands, which can run commands"));
                }
            }
            _ => {}
        }
    }
    None
}

/// Why `printf` may assign a variable, whose index is evaluated.
pub fn printf_objection(arguments: &[Word]) -> Option<String> {
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.text() == Some("--") => rest,
        _ => arguments,
    };
    let format = arguments.first()?;
    let Some(text) = format.text() else {
        return Some("the format of `printf` is only known when it runs".into());
    };
    if text.starts_with('-') {
        return Some(format!("`printf {text}` assigns a variable"));
    }
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        if next != '%' {
            continue;
        }
        let conversion = chars.find(|next| !"#0- +'.*hlLjzt123456789".contains(*next));
        match conversion {
            Some('n') => return Some("`printf %n` assigns a variable".into()),
            Some('(') => {
                chars.find(|&next| next == ')');
                chars.next();
            }
            Some(_) | None => {}
        }
    }
    None
}

/// Why `read` may assign a variable that matters, or one with an index.
pub fn read_objection(operands: &[Word]) -> Option<String> {
    operands.iter().find_map(|word| match word.text() {
        Some(name) if is_name(name) && table().is_idle_variable(name) => None,
        _ => Some(format!("`read` sets `{}`", word.shown())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ')
            .map(|text| match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
                Some(quoted) => unknown(quoted, Cause::Quoted),
                None if text.starts_with('$') => unknown(text, Cause::Split),
                None => Word::known(text),
            })
            .collect()
    }

    fn unknown(written: &str, cause: Cause) -> Word {
        let mut word = Word::default();
        word.push_unknown(written, cause);
        word
    }

    #[test]
    fn test_refuses_what_may_look_up_a_name() {
        let cases = [
            ("-f x", true),
            ("-n \"$X\"", true),
            ("\"$X\" = y", true),
            ("y = \"$X\"", true),
            ("\"$X\" ]", true),
            ("-e a -a -e b", true),
            ("! -f x", true),
            ("3 -gt 2", true),
            ("-v a", false),
            ("$X", false),
            ("\"$X\" \"$Y\"", false),
            ("-n $X", false),
            ("\"$X\" a", false),
        ];
        for (text, fine) in cases {
            assert_eq!(test_objection(&words(text)).is_none(), fine, "{text}");
        }
    }

    #[test]
    fn printf_refuses_assignments() {
        let cases = [
            ("%s\\n a b", true),
            ("%5.2f 1", true),
            ("100%% x", true),
            ("-- %s", true),
            ("-v a", false),
            ("%n a", false),
            ("%5ln a", false),
            ("\"$F\" a", false),
            ("%(%F)T", true),
            ("%(n)T%n", false),
        ];
        for (text, fine) in cases {
            assert_eq!(printf_objection(&words(text)).is_none(), fine, "{text}");
        }
    }

    #[test]
    fn extended_tests_refuse_arithmetic_on_names() {
        let cases = [("X -eq 1", false), ("1 -eq 2", true), ("-v a", false), ("\"$a\" = b", true), ("$a -gt 3", false)];
        for (text, fine) in cases {
            assert_eq!(extended_test_objection(&words(text)).is_none(), fine, "{text}");
        }
    }
}
