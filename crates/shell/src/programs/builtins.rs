//! Builtins that evaluate subscripts: `test`, `printf` and `read` run code when a name they are given holds one.

use crate::analysis::{Cause, Part, Word};
use crate::syntax::is_name;

use super::table::table;

/// Why `test` or `[` may run code: `-v` and `-R` look up a name, and evaluate the index in it. Whatever the operators
/// around them are, two words that follow one another are needed for that.
pub fn test_objection(arguments: &[Word]) -> Option<String> {
    let may_look_up = |word: &Word| match word.text() {
        Some(text) => matches!(text, "-v" | "-R"),
        None => matches!(word.prefix(), "" | "-") && !is_number(word),
    };
    let may_hold_index = |word: &Word| !is_number(word) && word.text().is_none_or(|text| text.contains('['));
    for (index, word) in arguments.iter().enumerate() {
        let shown = word.shown();
        if matches!(word.text(), Some("-v" | "-R")) {
            return Some(format!("`test {shown}` can evaluate an index, which can run commands"));
        }
        if word.may_be_many() {
            return Some(format!("`{shown}` may become an operator of `test`"));
        }
        if may_look_up(word) && arguments.get(index + 1).is_some_and(may_hold_index) {
            return Some(format!("`{shown}` may become an operator of `test`"));
        }
    }
    None
}

fn is_number(word: &Word) -> bool {
    matches!(word.parts.as_slice(), [Part::Unknown { cause: Cause::Number, .. }])
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
            word.text().is_some_and(digits) || is_number(word)
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
            // Without the `T`, what stands between is read again.
            Some('(') => {
                let closed = chars.find(|next| matches!(next, '(' | ')')) == Some(')');
                if !closed || chars.next() != Some('T') {
                    return Some(format!("`printf {text}` holds a time of an unknown form"));
                }
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
            ("\"$X\" a", true),
            ("\"$X\" a[b]", false),
            ("a -a \"$X\" a[b]", false),
            ("-n \"$X\" -a \"$Y\" = b", true),
            ("! \"$X\"", true),
            ("\"$X\" = [a]", true),
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
            ("%(x)%n", false),
            ("%(x", false),
            ("%((x)T)%n", false),
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
