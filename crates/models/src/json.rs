//! Owns reading JSON that others write, forgiving where a mistake costs one character only.
//! Must not know what is read.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Reads JSON. Half a surrogate pair in a string, as programs leave it that cut text in the middle of a
/// character, is read as U+FFFD: strictly it is an error, and would cost the whole answer.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|fault| match mended(text) {
        Cow::Borrowed(_) => Err(fault),
        Cow::Owned(text) => serde_json::from_str(&text),
    })
}

/// The text with every escape that is half of a pair replaced.
fn mended(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        let start = at + found;
        at = match (unit(text, start), unit(text, start + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => start + 12,
            (Some(0xd800..0xe000), _) => {
                out.push_str(&text[kept..start]);
                out.push_str("\\ufffd");
                kept = start + 6;
                kept
            }
            // Any other escape: what is escaped is one character.
            _ => text.ceil_char_boundary((start + 2).min(text.len())),
        };
    }
    match kept {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(out + &text[kept..]),
    }
}

/// The UTF-16 unit that the escape at this place stands for, if there is one.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<String> {
        from_str(json).ok()
    }

    #[test]
    fn half_a_pair_is_one_character() {
        let cases = [
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""a\ud83db""#, "a\u{fffd}b"),
            (r#""\ude42\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude42""#, "\u{fffd}🙂"),
            (r#""\ud83d\n你""#, "\u{fffd}\n你"),
            (r#""\\\ud83d\\ud83d""#, "\\\u{fffd}\\ud83d"),
            (r#""🙂\ud83D🙂""#, "🙂\u{fffd}🙂"),
        ];
        for (json, expected) in cases {
            assert_eq!(read(json).as_deref(), Some(expected), "{json}");
        }
    }

    #[test]
    fn what_is_wrong_otherwise_stays_wrong() {
        for json in [r#""\ud83d"#, r#""\ud83""#, r#""\ud83d\x""#, r#""\"#, "\"\\你\"", r#""\u+83d""#] {
            assert_eq!(read(json), None, "{json}");
        }
    }
}
