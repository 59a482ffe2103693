//! `*` in patterns, against known text and against text with unknown parts. Knows nothing of commands.

use crate::analysis::{Part, Word};

/// Whether a pattern matches a whole text. `*` stands for any text; a final ` *` also for nothing at all.
pub fn matches(pattern: &str, text: &str) -> bool {
    pattern.strip_suffix(" *").is_some_and(|stem| plain(stem, text)) || plain(pattern, text)
}

fn plain(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

/// Whether a pattern may match words of which some are unknown.
pub fn may_match(pattern: &str, words: &[Word]) -> bool {
    let text = wild(words);
    let stem = pattern.strip_suffix(" *");
    meet(&parse(pattern), &text) || stem.is_some_and(|stem| meet(&parse(stem), &text))
}

/// A character, or any text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    One(char),
    Any,
}

fn parse(pattern: &str) -> Vec<Sign> {
    pattern.chars().map(|next| if next == '*' { Sign::Any } else { Sign::One(next) }).collect()
}

fn wild(words: &[Word]) -> Vec<Sign> {
    let mut signs = Vec::new();
    for (index, word) in words.iter().enumerate() {
        // A word that may vanish takes the space before it along.
        if index > 0 && !word.may_be_many() {
            signs.push(Sign::One(' '));
        } else if index > 0 {
            signs.push(Sign::Any);
        }
        for part in &word.parts {
            match part {
                Part::Text(text) => signs.extend(text.chars().map(Sign::One)),
                Part::Unknown { .. } => signs.push(Sign::Any),
            }
        }
    }
    signs
}

/// Whether some text is matched by both.
fn meet(left: &[Sign], right: &[Sign]) -> bool {
    // reachable[j]: the signs read so far of `left` and the first j of `right` match a common text.
    let mut reachable = vec![false; right.len() + 1];
    if let Some(start) = reachable.first_mut() {
        *start = true;
    }
    spread(&mut reachable, right, None);
    for sign in left {
        let mut next = vec![false; right.len() + 1];
        for (j, &here) in reachable.iter().enumerate() {
            if !here {
                continue;
            }
            match (sign, right.get(j)) {
                (Sign::Any, _) => set(&mut next, j),
                (Sign::One(_), Some(Sign::Any)) => set(&mut next, j),
                (Sign::One(a), Some(Sign::One(b))) if a == b => set(&mut next, j + 1),
                (Sign::One(_), _) => {}
            }
        }
        spread(&mut next, right, Some(*sign));
        reachable = next;
    }
    reachable.last().copied().unwrap_or(false)
}

/// Moves on over what may be empty: a star on the right always, any sign under a star on the left.
fn spread(reachable: &mut [bool], right: &[Sign], left: Option<Sign>) {
    for j in 0..right.len() {
        let here = reachable.get(j).copied().unwrap_or(false);
        let passes = left == Some(Sign::Any) || right.get(j) == Some(&Sign::Any);
        if here && passes {
            set(reachable, j + 1);
        }
    }
}

fn set(flags: &mut [bool], index: usize) {
    if let Some(flag) = flags.get_mut(index) {
        *flag = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Cause;

    #[test]
    fn stars_and_word_boundaries() {
        let cases = [
            ("ls *", "ls", true),
            ("ls *", "ls -l", true),
            ("ls *", "lsof", false),
            ("ls*", "lsof", true),
            ("npm test", "npm test", true),
            ("npm test", "npm test x", false),
            ("git * --force", "git push --force", true),
            ("git * --force", "git push", false),
            ("git * --force", "git push a --force", true),
            ("*", "x", true),
            ("a*b*c", "axbxc", true),
            ("a*b*c", "axcxb", false),
            ("a*ba", "aba", true),
            ("a*aa", "aa", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn unknown_words_may_match() {
        let word = |text: &str| match text.strip_prefix('$') {
            Some(_) => {
                let mut word = Word::default();
                word.push_unknown(text, Cause::Split);
                word
            }
            None => Word::known(text),
        };
        let cases = [
            ("rm -rf *", "rm $X y", true),
            ("git push *", "git log $X", false),
            ("git push *", "git $X", true),
            ("git push", "git push $X", true),
            ("npm run deploy", "npm run $X", true),
            ("npm run deploy", "npm $X test", false),
            ("git * --force", "git push $X", true),
            ("ls", "ls a", false),
        ];
        for (pattern, text, expected) in cases {
            let words: Vec<Word> = text.split(' ').map(word).collect();
            assert_eq!(may_match(pattern, &words), expected, "{pattern} on {text}");
        }
    }
}
