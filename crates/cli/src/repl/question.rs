//! Owns how a line answers a permission question.

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// This once.
    Once,
    /// From now on, by the rules that were shown.
    Always,
    /// No, and why.
    No(Option<String>),
}

/// `y` or `a` alone; anything else is no, with what was typed as the reason.
pub fn read(line: &str, can_always: bool) -> Reply {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "y" | "yes" | "是" | "好" => return Reply::Once,
        "a" | "always" | "总是" if can_always => return Reply::Always,
        "a" | "always" | "总是" => return Reply::Once,
        "" | "n" | "no" | "否" | "不" => return Reply::No(None),
        _ => {}
    }
    let reason = ["n ", "N ", "no ", "No "].iter().find_map(|word| line.strip_prefix(word));
    Reply::No(Some(reason.unwrap_or(line).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_yes() {
        for (line, answer) in [
            ("y", Reply::Once),
            (" Y ", Reply::Once),
            ("a", Reply::Always),
            ("", Reply::No(None)),
            ("n", Reply::No(None)),
            ("n use tabs", Reply::No(Some("use tabs".into()))),
            ("yy", Reply::No(Some("yy".into()))),
            ("不要动它", Reply::No(Some("不要动它".into()))),
        ] {
            assert_eq!(read(line, true), answer, "{line}");
        }
        assert_eq!(read("a", false), Reply::Once);
    }
}
