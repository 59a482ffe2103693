//! The raw text: what makes it unfit to be trusted, and a crude reading for text that cannot be parsed.
//! Knows nothing of programs.

use std::collections::HashSet;

/// Longer texts are not parsed.
pub const MAX_LENGTH: usize = 64 * 1024;

/// The crude reading stops here; it never counts as complete.
const MAX_CRUDE: usize = 10_000;

/// A crude command keeps no more words than this.
const MAX_WORDS: usize = 64;

/// Words that may stand in front of a command without being one.
const OPENERS: [&str; 12] =
    ["if", "then", "elif", "else", "while", "until", "do", "time", "!", "{", "coproc", "function"];

/// The first character that a person cannot see for what it is, tab and newline excepted.
pub fn deceptive(text: &str) -> Option<char> {
    text.chars().find(|&character| is_deceptive(character))
}

fn is_deceptive(character: char) -> bool {
    match character {
        '\t' | '\n' => false,
        // Soft hyphen, combining joiner, Arabic letter mark, Hangul fillers, Khmer inherent vowels, Mongolian selectors.
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{3164}'
        | '\u{ffa0}' => true,
        // Zero width and bidirectional marks, line and paragraph separators, embeddings, isolates, invisible operators.
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        // Byte order mark, interlinear marks, musical and shorthand format controls, tags, selectors beyond emoji's.
        '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        '\u{fe00}'..='\u{fe0e}' => true,
        // Spaces that look like the ASCII one but do not separate words.
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' => true,
        other => other.is_control(),
    }
}

/// Candidate commands of a text that is not parsed: whatever stands after something that separates commands. Quotes are
/// taken once as part of words and once as separators, so that text for a shell inside a shell is seen as well.
pub fn crude_commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", "");
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    for quotes_separate in [false, true] {
        let separates = |character: char| {
            matches!(character, ';' | '&' | '|' | '(' | ')' | '{' | '}' | '\n' | '`')
                || (quotes_separate && matches!(character, '\'' | '"'))
        };
        for segment in text.split(separates) {
            let words = crude_words(segment);
            if words.is_empty() || !seen.insert(words.join(" ")) {
                continue;
            }
            found.push(words);
            if found.len() >= MAX_CRUDE {
                return found;
            }
        }
    }
    found
}

fn crude_words(segment: &str) -> Vec<String> {
    segment
        .split([' ', '\t', '<', '>'])
        .map(|word| word.chars().filter(|next| !matches!(next, '\'' | '"' | '\\' | '\0')).collect())
        .filter(|word: &String| !word.is_empty())
        .skip_while(|word| OPENERS.contains(&word.as_str()) || is_assignment(word))
        .take(MAX_WORDS)
        .collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| crate::syntax::is_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_any_script_are_ordinary() {
        for text in ["café – ok", "修正", "Привет", "→ ✓ 🚀", "a\tb\nc"] {
            assert_eq!(deceptive(text), None, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_deceptive() {
        for character in
            ['\0', '\r', '\x1b', '\u{b}', '\u{ad}', '\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{a0}']
        {
            assert_eq!(deceptive(&format!("a{character}b")), Some(character));
        }
    }

    #[test]
    fn the_crude_reading_finds_commands() {
        let cases: [(&str, &[&str]); 4] = [
            ("ls; rm x &&", &["ls", "rm x"]),
            ("A=1 'r'm x", &["rm x", "r", "m x"]),
            ("sh -c 'rm x", &["sh -c rm x", "sh -c", "rm x"]),
            ("if rm x; then", &["rm x"]),
        ];
        for (text, expected) in cases {
            let found: Vec<String> = crude_commands(text).iter().map(|words| words.join(" ")).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
