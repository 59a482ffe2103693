//! Owns reasoning that stands in the text between tags. Must not know where the text comes from.

/// What servers put round reasoning that they do not take apart.
const TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<seed:think>", "</seed:think>")];

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
}

/// Takes apart text that comes in pieces of any size. Reasoning is at the front: a tag after the first
/// word is part of the answer.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    state: State,
    /// What may be the beginning of a tag, or blanks before one.
    held: String,
    /// Reasoning came before; blanks after it belong to nobody.
    after: bool,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    /// Nothing but blanks so far.
    #[default]
    Front,
    /// Within reasoning that ends so.
    Inside(&'static str),
    /// Reasoning of which something was said.
    Deep(&'static str),
    Answer,
}

impl Splitter {
    /// Takes a piece; gives what is certain now.
    pub(super) fn push(&mut self, piece: &str, out: &mut Vec<(Kind, String)>) {
        if let State::Answer = self.state {
            return say(out, Kind::Text, piece);
        }
        self.held.push_str(piece);
        loop {
            let held = self.held.as_str();
            match self.state {
                State::Front => {
                    let front = held.trim_start();
                    if let Some((open, close)) = TAGS.iter().find(|(open, _)| front.starts_with(open)) {
                        self.held = front[open.len()..].to_owned();
                        self.state = State::Inside(close);
                        continue;
                    }
                    if TAGS.iter().any(|(open, _)| open.starts_with(front)) {
                        return;
                    }
                    say(out, Kind::Text, if self.after { front } else { held });
                    self.state = State::Answer;
                    self.held.clear();
                    return;
                }
                State::Inside(close) => {
                    let from = held.len() - held.trim_start().len();
                    self.held.drain(..from);
                    if self.held.is_empty() {
                        return;
                    }
                    if !close.starts_with(self.held.as_str()) {
                        self.state = State::Deep(close);
                    } else if close.len() == self.held.len() {
                        self.close(close.len());
                    } else {
                        return;
                    }
                }
                State::Deep(close) => {
                    if let Some(at) = held.find(close) {
                        say(out, Kind::Thinking, &held[..at]);
                        self.close(at + close.len());
                        continue;
                    }
                    let kept = (1..close.len()).rev().find(|count| held.ends_with(&close[..*count])).unwrap_or(0);
                    let said = held.len() - kept;
                    say(out, Kind::Thinking, &held[..said]);
                    self.held.drain(..said);
                    return;
                }
                State::Answer => return,
            }
        }
    }

    fn close(&mut self, done: usize) {
        self.held.drain(..done);
        self.state = State::Front;
        self.after = true;
    }

    /// Nothing follows for now: what is held is what it looks like.
    pub(super) fn flush(&mut self, out: &mut Vec<(Kind, String)>) {
        let held = std::mem::take(&mut self.held);
        match self.state {
            State::Front if held.trim().is_empty() => {}
            State::Front | State::Answer => {
                say(out, Kind::Text, &held);
                self.state = State::Answer;
            }
            State::Inside(_) | State::Deep(_) => say(out, Kind::Thinking, &held),
        }
    }
}

fn say(out: &mut Vec<(Kind, String)>, kind: Kind, text: &str) {
    if !text.is_empty() {
        out.push((kind, text.to_owned()));
    }
}

/// Reasoning and answer of a text in which reasoning only ends: where the prompt ends in the opening tag,
/// servers forget to put it back. A tag that is quoted is part of the answer.
pub(super) fn reopened(text: &str) -> Option<(&str, &str)> {
    let (at, close) = TAGS.iter().filter_map(|(_, close)| Some((text.find(close)?, *close))).min()?;
    let (before, after) = (&text[..at], &text[at + close.len()..]);
    let quoted = before.ends_with(['`', '"', '\'', '“', '«']) || before.matches("```").count() % 2 == 1;
    let opened = TAGS.iter().any(|(open, _)| before.contains(open));
    (!quoted && !opened && !before.trim().is_empty()).then(|| (before.trim_end(), after.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let mut splitter = Splitter::default();
        let mut out = Vec::new();
        for piece in pieces {
            splitter.push(piece, &mut out);
        }
        splitter.flush(&mut out);
        let of = |kind| out.iter().filter(|(k, _)| *k == kind).map(|(_, text)| text.as_str()).collect();
        (of(Kind::Thinking), of(Kind::Text))
    }

    fn pair(thinking: &str, text: &str) -> (String, String) {
        (thinking.into(), text.into())
    }

    #[test]
    fn reasoning_is_at_the_front_however_it_is_cut() {
        for (text, expected) in [
            ("<think>plan</think>Answer", pair("plan", "Answer")),
            ("\n<think>\npl</th an</think>\n\nAnswer <think>", pair("pl</th an", "Answer <think>")),
            ("<think>a</think>\n<think>b</think> c", pair("ab", "c")),
            ("<think>\n\n</think>\n\nhi", pair("", "hi")),
            ("<thinking>a</thinking>b", pair("a", "b")),
            ("<think>only", pair("only", "")),
            ("  plain </think> text", pair("", "  plain </think> text")),
            ("<thin air", pair("", "<thin air")),
            ("<th", pair("", "<th")),
        ] {
            let letters: Vec<String> = text.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(&letters), expected, "{text}");
            for at in 0..=text.len() {
                assert_eq!(split(&[&text[..at], &text[at..]]), expected, "{text} at {at}");
            }
        }
    }

    #[test]
    fn a_tag_that_only_ends_reasoning() {
        assert_eq!(reopened("plan\n</think>\n\nAnswer"), Some(("plan", "Answer")));
        for text in ["the tag `</think>` ends it", "```\n</think>\n```", "a <think> b </think>", "</think>x", "x"] {
            assert_eq!(reopened(text), None, "{text}");
        }
    }
}
