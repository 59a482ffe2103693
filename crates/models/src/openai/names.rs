//! Owns how calls and tools are named on the wire: history holds ids of other vendors, and names as
//! models wrote them. Must not know what is called. The same name always gives the same one.

use std::borrow::Cow;

/// Ids of calls have so many characters where the provider is strict about them.
const SHORT: usize = 9;
/// Longer ids are refused.
const LONGEST_ID: usize = 40;
/// Longer names are refused.
const LONGEST_NAME: usize = 64;
/// Stands for a tool without a name.
const UNNAMED: &str = "unknown";
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

/// The name of a tool that a model called. The names of tools that there are pass unchanged.
pub(super) fn tool(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name {
        "" => Cow::Borrowed(UNNAMED),
        name if name.len() <= LONGEST_NAME && name.chars().all(fits) => Cow::Borrowed(name),
        name => Cow::Owned(name.chars().map(|c| if fits(c) { c } else { '_' }).take(LONGEST_NAME).collect()),
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

    #[test]
    fn names_have_the_characters_that_are_taken() {
        assert_eq!(tool("mcp__a-b__c"), "mcp__a-b__c");
        assert_eq!(tool("functions.Read:0"), "functions_Read_0");
        assert_eq!(tool(""), "unknown");
        assert_eq!(tool(&"读".repeat(80)), "_".repeat(64));
    }
}
