//! Owns how a line answers a permission question.

use kernel::Answer;

/// `y` or `a` alone; anything else is no, with what was typed as the reason.
pub fn read(line: &str, can_always: bool) -> Answer {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" | "是" | "好" => return Answer::Once,
        "a" | "always" | "总是" if can_always => return Answer::Always,
        "a" | "always" | "总是" => return Answer::Once,
        "" | "n" | "no" | "否" | "不" => return Answer::No(None),
        _ => {}
    }
    let reason = ["n ", "N ", "no ", "No "].iter().find_map(|word| line.strip_prefix(word));
    Answer::No(Some(reason.unwrap_or(line).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_yes() {
        for (line, answer) in [
            ("y", Answer::Once),
            (" Y ", Answer::Once),
            ("a", Answer::Always),
            ("", Answer::No(None)),
            ("n", Answer::No(None)),
            ("n use tabs", Answer::No(Some("use tabs".into()))),
            ("yy", Answer::No(Some("yy".into()))),
            ("不要动它", Answer::No(Some("不要动它".into()))),
        ] {
            assert_eq!(read(line, true), answer, "{line}");
        }
        assert_eq!(read("a", false), Answer::Once);
    }
}
