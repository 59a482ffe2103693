//! Owns how a permission rule is written. Must not know what its pattern means.

use kernel::{Origin, Rule};

/// Reads `Tool` or `Tool(pattern)`. The error shows the text and how rules are written.
pub fn parse(text: &str, origin: Origin) -> Result<Rule, String> {
    let text = text.trim();
    let fault = |what: &str| format!("bad permission rule `{text}`: {what}; write `Tool` or `Tool(pattern)`");
    let (tool, pattern) = match text.split_once('(') {
        None => (text, None),
        Some((tool, rest)) => {
            let pattern = rest.strip_suffix(')').ok_or_else(|| fault("the closing `)` is missing"))?;
            (tool, Some(pattern.trim()).filter(|pattern| !matches!(*pattern, "" | "*")))
        }
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*');
    if tool.is_empty() || !tool.chars().all(is_name) {
        return Err(fault("no tool name"));
    }
    if tool.contains('*') && pattern.is_some() {
        return Err(fault("a name with `*` speaks for whole tools and takes no pattern"));
    }
    Ok(Rule { tool: tool.to_owned(), pattern: pattern.map(str::to_owned), origin })
}

/// The rules that a question may offer, from their texts.
pub(crate) fn offered(texts: impl IntoIterator<Item = String>) -> Vec<Rule> {
    texts.into_iter().filter_map(|text| parse(&text, Origin::Session).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_read_as_they_print() {
        for (text, printed) in [
            ("Read", "Read"),
            ("Bash(rm -rf *)", "Bash(rm -rf *)"),
            ("Bash(*)", "Bash"),
            ("Bash()", "Bash"),
            (" Bash(echo (x)) ", "Bash(echo (x))"),
            ("mcp__a__*", "mcp__a__*"),
        ] {
            assert_eq!(parse(text, Origin::User).unwrap().to_string(), printed);
        }
        for text in ["", "(x)", "Bash(x", "Ba sh(x)", "mcp__*(x)"] {
            assert!(parse(text, Origin::User).is_err(), "{text}");
        }
    }
}
