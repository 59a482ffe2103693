//! Makes a text shorter as long as it is called read-only and still changes something.

use super::{Prison, Text};

/// Runs of the jail for one text.
const RUNS: usize = 150;

/// The shortest form that was found.
pub fn shorten(prison: &Prison, text: &Text) -> String {
    let mut best: Vec<char> = text.text.chars().collect();
    let mut runs = 0;
    let mut size = best.len().div_ceil(2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < best.len() && runs < RUNS {
            let end = (at + size).min(best.len());
            let rest: Vec<char> = best[..at].iter().chain(&best[end..]).copied().collect();
            let candidate = Text { text: rest.iter().collect(), ..text.clone() };
            let holds = candidate.only_reads() && {
                runs += 1;
                !prison.run(&[&candidate]).is_empty()
            };
            if holds {
                best = rest;
                shorter = true;
            } else {
                at = end;
            }
        }
        if runs >= RUNS || (size == 1 && !shorter) {
            return best.into_iter().collect();
        }
        size = size.div_ceil(2).max(1);
    }
}
