//! `env -S`: one word taken apart into words by rules of its own. Owns those rules; must not know commands.

use crate::analysis::{Cause, Word};

use super::options::{self, Reading};

/// Arguments after an option that is taken apart was replaced by its words.
pub struct Split {
    pub arguments: Vec<Word>,
    /// Why the words are not certain.
    pub doubt: Option<String>,
}

/// Replaces the first option of `names` by the words of its value, if one is given.
pub fn options(arguments: &[Word], reading: &Reading, names: &[String]) -> Option<Split> {
    let given = reading.options.iter().find(|given| options::is_one_of(&given.name, names))?;
    let value = given.value.clone().unwrap_or_default();
    let (words, certain) = match value.text() {
        Some(text) => take_apart(text),
        None => (value.shown().split_whitespace().map(Word::known).collect(), false),
    };
    let doubt = (!certain).then(|| format!("what becomes of `{}` is not certain", value.shown()));
    let mut replaced = arguments.get(..given.index).unwrap_or_default().to_vec();
    replaced.extend(words);
    replaced.extend(arguments.iter().skip(given.index + given.length).cloned());
    Some(Split { arguments: replaced, doubt })
}

/// The words of a text, and whether nothing in it is in doubt.
fn take_apart(text: &str) -> (Vec<Word>, bool) {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote: Option<char> = None;
    let mut certain = true;
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        match (quote, next) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            (Some('\''), '\\') => match chars.next() {
                Some(escaped @ ('\\' | '\'')) => push(&mut word, escaped),
                Some(other) => {
                    push(&mut word, '\\');
                    push(&mut word, other);
                }
                None => certain = false,
            },
            (_, '\\') => match chars.next() {
                Some('_') if quote.is_none() => words.extend(word.take()),
                Some('_') => push(&mut word, ' '),
                Some('c') if quote.is_none() => break,
                Some('f') => push(&mut word, '\u{c}'),
                Some('n') => push(&mut word, '\n'),
                Some('r') => push(&mut word, '\r'),
                Some('t') => push(&mut word, '\t'),
                Some('v') => push(&mut word, '\u{b}'),
                Some(escaped @ ('#' | '$' | '"' | '\'' | '\\')) => push(&mut word, escaped),
                Some(_) | None => certain = false,
            },
            (None | Some('"'), '$') => {
                let name: String = chars.by_ref().take_while(|&next| next != '}').collect();
                word.get_or_insert_default().push_unknown(&format!("${name}}}"), Cause::Quoted);
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') => words.extend(word.take()),
            _ => push(&mut word, next),
        }
    }
    words.extend(word);
    (words, certain && quote.is_none())
}

fn push(word: &mut Option<Word>, character: char) {
    word.get_or_insert_default().push_text(character.encode_utf8(&mut [0; 4]));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GNU env 9.1 takes them apart.
    #[test]
    fn words_are_taken_apart_as_env_does() {
        let cases: [(&str, &[&str], bool); 9] = [
            ("rm x", &["rm", "x"], true),
            ("  rm\\_x ", &["rm", "x"], true),
            ("\"r\\_m\" 'a\\'b'", &["r m", "a'b"], true),
            ("rm \\c x", &["rm"], true),
            ("rm # x", &["rm"], true),
            ("rm a#b", &["rm", "a#b"], true),
            ("a${X}b", &["a${X}b"], true),
            ("rm '' x", &["rm", "", "x"], true),
            ("rm 'x", &["rm", "x"], false),
        ];
        for (text, expected, certain) in cases {
            let (words, sure) = take_apart(text);
            let words: Vec<String> = words.iter().map(Word::shown).collect();
            assert_eq!((words, sure), (expected.iter().map(|&word| word.to_owned()).collect(), certain), "{text}");
        }
    }
}
