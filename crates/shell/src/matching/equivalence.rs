//! Options that mean the same: a rule about `rm -rf *` also speaks of `rm x --force -R`. Knows the rows of the table.

use std::collections::BTreeSet;

use crate::analysis::Word;
use crate::programs::table::table;

use super::glob;

/// Arguments taken apart: canonical options, and operands joined by spaces.
struct Sorted {
    options: BTreeSet<String>,
    operands: String,
}

/// Whether the options that a pattern names are all given, in whatever spelling, and its other words match the operands.
pub fn holds(pattern: &str, words: &[Word]) -> bool {
    let texts: Vec<String> = words.iter().map(Word::shown).collect();
    let Some((wanted, given)) = sort_both(pattern, &texts) else {
        return false;
    };
    wanted.options.is_subset(&given.options) && operands_match(&wanted, &given)
}

/// Whether that cannot be excluded, because a word may become an option or an operand.
pub fn may_hold(pattern: &str, words: &[Word]) -> bool {
    let texts: Vec<String> = words.iter().map(Word::shown).collect();
    let Some((wanted, given)) = sort_both(pattern, &texts) else {
        return false;
    };
    let hides = words.iter().any(Word::may_hide_option);
    let unknown = words.iter().any(|word| word.text().is_none());
    (hides || wanted.options.is_subset(&given.options)) && (unknown || operands_match(&wanted, &given))
}

fn operands_match(wanted: &Sorted, given: &Sorted) -> bool {
    if wanted.operands.is_empty() || wanted.operands == "*" {
        return wanted.operands == "*" || given.operands.is_empty();
    }
    glob::matches(&wanted.operands, &given.operands)
}

/// Pattern and command, if there is a row for their common program and the pattern names an option.
fn sort_both(pattern: &str, texts: &[String]) -> Option<(Sorted, Sorted)> {
    let wanted: Vec<&str> = pattern.split(' ').collect();
    let given: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (length, groups) = row(&wanted)?;
    if wanted.get(..length) != given.get(..length) {
        return None;
    }
    let wanted = sort(wanted.get(length..)?, groups);
    if wanted.options.is_empty() {
        return None;
    }
    Some((wanted, sort(given.get(length..)?, groups)))
}

/// The row for a program and its subcommand, or for the program, and how many words name it.
fn row(words: &[&str]) -> Option<(usize, &'static Vec<Vec<String>>)> {
    let rows = &table().equivalents;
    let first = words.first()?;
    let both = words.get(1).and_then(|second| rows.get(&format!("{first} {second}")));
    match both {
        Some(groups) => Some((2, groups)),
        None => rows.get(*first).map(|groups| (1, groups)),
    }
}

fn sort(arguments: &[&str], groups: &[Vec<String>]) -> Sorted {
    let mut options = BTreeSet::new();
    let mut operands = Vec::new();
    let mut ended = false;
    for &argument in arguments {
        match argument.strip_prefix('-') {
            _ if ended => operands.push(argument),
            Some("-") => ended = true,
            Some(option) if !option.is_empty() && !argument.contains('*') => match option.strip_prefix('-') {
                Some(long) => {
                    let name = long.split('=').next().unwrap_or(long);
                    options.insert(canonical_long(name, groups));
                }
                None => {
                    let letters = option.chars().map(String::from);
                    options.extend(letters.map(|letter| canonical(&letter, groups)));
                }
            },
            _ => operands.push(argument),
        }
    }
    Sorted { options, operands: operands.join(" ") }
}

/// The first name of the group that an option belongs to, or its own.
fn canonical(name: &str, groups: &[Vec<String>]) -> String {
    let group = groups.iter().find(|group| group.iter().any(|known| known == name));
    group.and_then(|group| group.first()).map_or(name, String::as_str).to_owned()
}

/// The same for a long option, which may be abbreviated as long as one row begins like it.
fn canonical_long(name: &str, groups: &[Vec<String>]) -> String {
    let exact = groups.iter().flatten().any(|known| known.len() > 1 && known == name);
    if exact {
        return canonical(name, groups);
    }
    let mut longer =
        groups.iter().flatten().filter(|known| known.len() > 1 && !name.is_empty() && known.starts_with(name));
    match (longer.next(), longer.next()) {
        (Some(only), None) => canonical(only, groups),
        _ => format!("--{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::known).collect()
    }

    #[test]
    fn options_match_in_every_spelling() {
        let cases = [
            ("rm -rf *", "rm -fr x", true),
            ("rm -rf *", "rm -r -f x", true),
            ("rm -rf *", "rm --recursive --force x", true),
            ("rm -rf *", "rm -rfv x", true),
            ("rm -rf *", "rm x -rf", true),
            ("rm -rf *", "rm -R --forc x", true),
            ("rm -rf *", "rm -r x", false),
            ("rm -rf *", "rm -- -rf", false),
            ("rm -rf /*", "rm -fr /etc", true),
            ("rm -rf /*", "rm -fr etc", false),
            ("git push --force *", "git push origin main -f", true),
            ("git push --force *", "git push --force-with-lease", false),
            ("git push --force *", "git push origin", false),
            ("rm -r", "rm --recursive", true),
            ("rm -r", "rm -r x", false),
            ("chmod -R 777 *", "chmod 777 --recursive x", true),
            ("mkdir *", "mkdir -p x", false),
            ("foo -a *", "foo -ab x", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(holds(pattern, &words(text)), expected, "{pattern} on {text}");
        }
    }
}
