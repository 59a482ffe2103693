//! Owns what is kept of a child's output: its beginning and its end, as text, in bounded memory.

/// Turns bytes into text piece by piece. A character that is split between two pieces stays whole;
/// bytes that can belong to no character become U+FFFD.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The beginning of a character whose rest has not come yet; at most three bytes.
    pending: Vec<u8>,
}

impl Decoder {
    /// The text that is certain after these bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        self.pending.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = self.pending.as_slice();
        loop {
            let fault = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    rest = &[];
                    break;
                }
                Err(fault) => fault,
            };
            let (valid, after) = rest.split_at(fault.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            rest = after;
            let Some(bad) = fault.error_len() else { break };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = rest.get(bad..).unwrap_or_default();
        }
        self.pending = rest.to_vec();
        text
    }

    /// What the end of the output makes of an unfinished character.
    pub(super) fn finish(&mut self) -> &'static str {
        let unfinished = !std::mem::take(&mut self.pending).is_empty();
        if unfinished { "\u{FFFD}" } else { "" }
    }
}

/// The first and the last characters of a text of any length; never holds much more than its limit.
#[derive(Debug)]
pub(super) struct Bounded {
    /// Characters that still go to the head.
    head_room: usize,
    head: String,
    /// Characters that the tail keeps.
    tail_limit: usize,
    tail: String,
    dropped: u64,
}

impl Bounded {
    /// Keeps `limit` characters: the first half and the last.
    pub(super) fn new(limit: usize) -> Self {
        let head_room = limit / 2;
        Self { head_room, head: String::new(), tail_limit: limit - head_room, tail: String::new(), dropped: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        let split = text.char_indices().nth(self.head_room).map_or(text.len(), |(at, _)| at);
        let (first, rest) = text.split_at(split);
        if self.head_room > 0 {
            self.head.push_str(first);
            self.head_room -= first.chars().count();
        }
        self.tail.push_str(rest);
        // Trimming only now and then keeps the work for each byte constant.
        if self.tail.len() > self.tail_limit.saturating_mul(8) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let extra = self.tail.chars().count().saturating_sub(self.tail_limit);
        let cut = self.tail.char_indices().nth(extra).map_or(self.tail.len(), |(at, _)| at);
        self.tail.drain(..cut);
        self.dropped += cut as u64;
    }

    /// The text with a line where something was left out, and how many bytes that were.
    pub(super) fn finish(mut self) -> (String, u64) {
        self.trim();
        let mut text = self.head;
        if self.dropped > 0 {
            text.push_str(&format!("\n[… {} bytes left out …]\n", self.dropped));
        }
        text.push_str(&self.tail);
        (text, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_survive_every_split() {
        let text = "aé你😀z";
        for cut in 0..=text.len() {
            let mut decoder = Decoder::default();
            let (first, second) = text.as_bytes().split_at(cut);
            let whole = decoder.push(first) + &decoder.push(second) + decoder.finish();
            assert_eq!(whole, text, "cut at {cut}");
        }
    }

    #[test]
    fn bad_bytes_are_replaced_and_the_rest_stays() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xff\xc4b\xe4\xbd"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(decoder.push(b"c\xe4"), "\u{FFFD}c");
        assert_eq!(decoder.finish(), "\u{FFFD}");
        assert_eq!(decoder.finish(), "");
    }

    #[test]
    fn head_and_tail_stay_whatever_the_pieces() {
        let text: String = ('a'..='z').cycle().take(1_000).collect();
        let kept = format!("{}\n[… 990 bytes left out …]\n{}", &text[..5], &text[995..]);
        for size in [1, 3, 64, 1_000] {
            let mut output = Bounded::new(10);
            for piece in text.as_bytes().chunks(size) {
                output.push(std::str::from_utf8(piece).unwrap());
            }
            assert_eq!(output.finish(), (kept.clone(), 990), "pieces of {size}");
        }
    }

    #[test]
    fn what_fits_is_untouched() {
        let mut output = Bounded::new(5);
        output.push("你好");
        output.push("世界!");
        assert_eq!(output.finish(), ("你好世界!".into(), 0));
    }
}
