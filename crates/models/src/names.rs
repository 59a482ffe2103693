//! Owns what a tool may be called in a history. A model can call a tool by any name; every vendor
//! refuses a request in which a name has other characters than these. Must not know which tools there are.

use std::borrow::Cow;

/// The longest name that vendors take (`^[a-zA-Z0-9_-]{1,64}$`).
const LONGEST: usize = 64;
/// The name of a call that has none.
const UNNAMED: &str = "unnamed";

/// The name, or the nearest that can be sent. No tool has such a name, so the call is answered and not run.
pub(crate) fn sendable(name: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name {
        "" => UNNAMED.into(),
        _ if name.len() <= LONGEST && name.chars().all(allowed) => name.into(),
        _ => name.chars().take(LONGEST).map(|c| if allowed(c) { c } else { '_' }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_one_that_can_be_sent() {
        let long = "n".repeat(80);
        let names = ["Read", "mcp__a-b__c", "functions.Read", "Re\u{fffd}d", "", long.as_str()];
        assert_eq!(names.map(sendable), ["Read", "mcp__a-b__c", "functions_Read", "Re_d", "unnamed", &long[..64]]);
    }
}
