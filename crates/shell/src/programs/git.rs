//! The formats of `git`: which ones only print. A signature is checked by a program, so none may be shown.

use crate::analysis::Word;

use super::options::Reading;
use super::table::Format;

/// Names that `git` knows itself; any other is looked up in the configuration.
const NAMED: [&str; 10] = ["", "oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd"];

/// Why what `git` is told to print may run a program.
pub fn objection(format: Format, arguments: &[Word], reading: &Reading) -> Option<String> {
    let shows = |text: &str| match format {
        Format::Commits => shows_signature(text),
        // What is stored of a signature is only text.
        Format::References => text.replace("contents:signature", "").contains("signature"),
    };
    if let Some(word) = arguments.iter().find(|word| shows(&word.shown())) {
        return Some(format!("`{}` makes `git` check a signature, which runs a program", word.shown()));
    }
    let options: &[&str] = match format {
        Format::Commits => &["format", "pretty", "group"],
        Format::References => &["format", "sort"],
    };
    reading.options.iter().find_map(|given| {
        let is_one = options.iter().any(|name| !given.name.is_empty() && name.starts_with(given.name.as_str()));
        let value = given.value.as_ref().filter(|_| is_one && given.name.len() > 1)?;
        let shown = value.shown();
        match value.text() {
            None => Some(format!("the format `{shown}` is only known when it runs")),
            Some(text) if format == Format::Commits && given.name != "group" && !is_plain(text) => {
                Some(format!("the configuration tells what the format `{shown}` is"))
            }
            Some(_) => None,
        }
    })
}

fn is_plain(text: &str) -> bool {
    NAMED.contains(&text) || text.contains('%') || text.starts_with("format:") || text.starts_with("tformat:")
}

/// Whether a format of commits holds `%G…`, with or without a sign that changes blanks before it.
fn shows_signature(text: &str) -> bool {
    text.split('%').skip(1).any(|rest| rest.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}

#[cfg(test)]
mod tests {
    use super::shows_signature;

    #[test]
    fn signatures_are_found_behind_every_sign() {
        let cases = [
            ("%G?", true),
            ("%+GK", true),
            ("%-GS", true),
            ("% GG", true),
            ("a%hb%GP", true),
            ("%h %s", false),
            ("%aG", false),
            ("100%", false),
            ("G", false),
        ];
        for (text, found) in cases {
            assert_eq!(shows_signature(text), found, "{text}");
        }
    }
}
