//! Owns the ids of calls on the wire: history holds those of other vendors, and some are refused.
//! Must not know what is called. The same id always becomes the same one.

use std::borrow::Cow;

/// Ids of calls have so many characters where the provider is strict about them.
const SHORT: usize = 9;
/// Longer ids are refused.
const LONGEST_ID: usize = 40;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id of a call.
pub(super) fn id(id: &str, short: bool) -> Cow<'_, str> {
    match short {
        true if id.len() == SHORT && id.bytes().all(|b| b.is_ascii_alphanumeric()) => Cow::Borrowed(id),
        true => Cow::Owned(digits(id, SHORT)),
        false if id.is_empty() || id.len() > LONGEST_ID => Cow::Owned(format!("call_{}", digits(id, SHORT))),
        false => Cow::Borrowed(id),
    }
}

/// So many letters and digits that follow from the text (FNV-1a, 64 bits, to base 62).
fn digits(text: &str, count: usize) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    let digit = |_| {
        let digit = DIGITS[(hash % 62) as usize];
        hash /= 62;
        char::from(digit)
    };
    (0..count).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_where_they_must_be() {
        assert_eq!(id("toolu_01A", false), "toolu_01A");
        assert_eq!(id("aB3dE6gH9", true), "aB3dE6gH9");
        let short = ["toolu_01A", "toolu_01B", "call_1", "", "aB3dE6gH9x"].map(|given| id(given, true).into_owned());
        assert!(short.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())), "{short:?}");
        assert!(short.iter().enumerate().all(|(at, id)| !short[..at].contains(id)), "{short:?}");
        assert_eq!(id("toolu_01A", true), id("toolu_01A", true));
        let long = "call_".repeat(20);
        assert_eq!(id(&long, false).len(), 14);
        assert_eq!(id("", false).len(), 14);
    }
}
