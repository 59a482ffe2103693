//! Owns what untrusted text may do to a terminal: be read. Control characters, which move the
//! cursor, set the title or open links, are made visible or dropped.

/// The text with every control character but line feed and tab made harmless.
pub fn sanitize(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' => Some(c),
            // A carriage return in the middle of a line would overwrite it; at its end it is noise.
            '\r' => None,
            '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
            '\u{7f}'..='\u{9f}' => Some('\u{fffd}'),
            // Bidirectional overrides make text read differently from what it is.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some('\u{fffd}'),
            _ => Some(c),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::sanitize;

    #[test]
    fn nothing_in_text_reaches_the_terminal_as_a_command() {
        assert_eq!(sanitize("\u{1b}]0;x\u{7}\u{1b}[2Jhi\r\n\t你好"), "␛]0;x␇␛[2Jhi\n\t你好");
        assert_eq!(sanitize("a\u{9b}b\u{202e}c"), "a\u{fffd}b\u{fffd}c");
    }
}
