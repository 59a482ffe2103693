//! Programs of `awk`: which ones only compute and print to standard output. Everything doubtful is refused.
//!
//! What a slash begins depends on the grammar and on the version, so each that may be a division and may begin a pattern
//! is read both ways, and a program only prints if it does so in every reading that can be one.

use std::collections::HashSet;

/// Words that run, read or write something else, or name the files that are read.
const REFUSED: [&str; 6] = ["system", "getline", "close", "fflush", "ARGV", "ARGC"];

/// A program with more steps in all its readings is refused.
const MAX_STEPS: usize = 50_000;

/// Why a program may do more than print; `None` if it only does that.
pub fn objection(program: &str) -> Option<String> {
    let chars: Vec<char> = program.chars().collect();
    let mut open = vec![Reader::default()];
    let mut seen = HashSet::new();
    let mut ends = false;
    while let Some(reader) = open.pop() {
        if !seen.insert(reader) {
            continue;
        }
        if seen.len() > MAX_STEPS {
            return Some("the program of `awk` has too many readings".to_owned());
        }
        match reader.token(&chars) {
            Ok(Step::On(next)) => open.push(next),
            Ok(Step::Either(one, other)) => open.extend([one, other].into_iter().flatten()),
            Ok(Step::Wrong) => {}
            Ok(Step::End) => ends = true,
            Err(what) => return Some(format!("{what} in the program of `awk` may write or run")),
        }
    }
    (!ends).then(|| "the program of `awk` is not understood".to_owned())
}

/// How a program is read up to some place.
#[derive(Default, Clone, Copy, PartialEq, Eq, Hash)]
struct Reader {
    position: usize,
    braces: usize,
    parentheses: usize,
    /// What came before may be a value, so that a slash may divide.
    value: bool,
}

enum Step {
    On(Reader),
    /// Both readings of a slash, as far as they can be one.
    Either(Option<Reader>, Option<Reader>),
    /// No version takes this for a program.
    Wrong,
    End,
}

impl Reader {
    fn token(mut self, chars: &[char]) -> Result<Step, String> {
        let Some(next) = chars.get(self.position).copied() else {
            return Ok(Step::End);
        };
        let at = |position: usize| chars.get(position).copied();
        self.position += 1;
        match next {
            ' ' | '\t' => return Ok(Step::On(self)),
            '\\' if at(self.position) == Some('\n') => {
                self.position += 1;
                return Ok(Step::On(self));
            }
            '#' => {
                while at(self.position).is_some_and(|next| next != '\n') {
                    self.position += 1;
                }
                return Ok(Step::On(self));
            }
            '"' => return Ok(self.string(chars).map_or(Step::Wrong, Step::On)),
            '/' => {
                let pattern = self.pattern(chars)?;
                let divided = self.value.then_some(Self { value: false, ..self });
                return Ok(Step::Either(pattern, divided));
            }
            '|' if at(self.position) == Some('|') => self.position += 1,
            '|' | '@' | '\\' | '`' | '\'' => return Err(format!("`{next}`")),
            '>' if self.braces > 0 && self.parentheses == 0 => return Err("`>`".to_owned()),
            '{' => self.braces += 1,
            '(' | '[' => self.parentheses += 1,
            '}' => self.braces = self.braces.saturating_sub(1),
            ')' | ']' => {
                self.parentheses = self.parentheses.saturating_sub(1);
                return Ok(Step::On(Self { value: true, ..self }));
            }
            // Two of them may end a value.
            '+' | '-' | '$' | '.' => return Ok(Step::On(Self { value: true, ..self })),
            _ if next == '_' || next.is_ascii_alphanumeric() => return self.word(chars).map(Step::On),
            _ if next.is_ascii() => {}
            _ => return Err(format!("`{next}`")),
        }
        Ok(Step::On(Self { value: false, ..self }))
    }

    fn word(mut self, chars: &[char]) -> Result<Self, String> {
        let start = self.position - 1;
        let number = chars.get(start).is_some_and(char::is_ascii_digit);
        let is_part = |next: &char| *next == '_' || next.is_ascii_alphanumeric() || (number && *next == '.');
        while chars.get(self.position).is_some_and(is_part) {
            self.position += 1;
        }
        let word: String = chars.get(start..self.position).unwrap_or_default().iter().collect();
        // In the header of a loop, what looks like a comparison writes a file.
        let prints = self.parentheses > 0 && matches!(word.as_str(), "print" | "printf");
        if prints || REFUSED.contains(&word.as_str()) {
            return Err(format!("`{word}`"));
        }
        // A number ends before letters that may be a word of their own.
        let (digits, power) = word.split_once(['e', 'E']).unwrap_or((&word, ""));
        if number && ![digits, power].concat().chars().all(|next| next == '.' || next.is_ascii_digit()) {
            return Err(format!("`{word}`"));
        }
        Ok(Self { value: true, ..self })
    }

    /// The end of a string; none if it has no end on its line.
    fn string(mut self, chars: &[char]) -> Option<Self> {
        loop {
            let next = chars.get(self.position).copied()?;
            self.position += 1;
            match next {
                '\\' => self.position += 1,
                '\n' => return None,
                '"' => return Some(Self { value: true, ..self }),
                _ => {}
            }
        }
    }

    /// The end of a pattern; none if it has no end on its line. Inside brackets a slash ends it in some versions only.
    fn pattern(mut self, chars: &[char]) -> Result<Option<Self>, String> {
        let mut bracket = false;
        while let Some(next) = chars.get(self.position).copied() {
            self.position += 1;
            let rest = chars.get(self.position..).unwrap_or_default();
            match next {
                '\\' => self.position += 1,
                '\n' => return Ok(None),
                '/' if bracket => return Err("a slash in brackets".to_owned()),
                '/' => return Ok(Some(Self { value: true, ..self })),
                '[' if bracket && matches!(rest.first(), Some(':' | '.' | '=')) => {
                    match rest.iter().position(|&next| next == ']') {
                        Some(end) if rest.get(..end).is_some_and(|name| !name.contains(&'/')) => {
                            self.position += end + 1;
                        }
                        _ => return Err("a class without an end".to_owned()),
                    }
                }
                '[' if !bracket => {
                    if matches!(rest, [']', ..] | ['^', ']', ..]) {
                        return Err("a bracket that may be closed".to_owned());
                    }
                    bracket = true;
                }
                ']' => bracket = false,
                _ => {}
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::objection;

    #[test]
    fn programs_that_only_print() {
        let programs = [
            "{s+=$1} END {print s}",
            "{print \"system(1)\"}",
            "{print \"a > b\"}",
            "NR>1",
            "{print $NF}",
            "NR==n",
            "{a[$1]++} END{for(k in a) print k, a[k]}",
            "{print ($1 > 2)}",
            "/foo/ {print $2}",
            "$1 ~ /a|b/",
            "{if ($3 > 100) print $1}",
            "END {print s/NR}",
            "{print ($1+$2)/2}",
            "!seen[$0]++",
            "NR==1 || /x/",
            "{printf \"%s\\n\", $1}",
            "{print} # > f",
            "{print $1/$2, $3/$4}",
            "$1 > 1e6 || $2 < 0.5 {print $1 * 1.5e-3}",
            "{print length / 2 \" > \"}",
            "$1 ~ /[[:alpha:]]+\\/x/ {print}",
            "{gsub(/\"/, \"\"); print}",
            "NR > 1 && $3 > 2 {x++} END {print x / NR \" a|b\"}",
            "{n[$1]+=$2} END {for (k in n) printf \"%s %d\\n\", k, n[k]/2}",
        ];
        for program in programs {
            assert_eq!(objection(program), None, "{program}");
        }
    }

    #[test]
    fn programs_that_write_or_run() {
        let programs = [
            "{print > \"out.txt\"}",
            "{printf \"%s\\n\", $1 > \"out.txt\"}",
            "{print > $1}",
            "BEGIN { system (\"touch x\") }",
            "BEGIN{\"date\" | getline d; print d}",
            "BEGIN{\"touch x\" |& getline}",
            "BEGIN{f=\"system\"; @f(\"touch x\")}",
            "BEGIN{close(\"x\"); print \"a\" > \"x\"}",
            "{print | \"sh\"}",
            "{print >> \"f\"}",
            "@load \"filefuncs\"",
            "{print /\"/; print > \"f\"; y=/\"/ }",
            "{ a = 1 / 2; print > \"f\"; b = 1 / 2 }",
            "{if (x) /\"/; print > \"f/g\"; z=\"/\"}",
            "{print \"a",
            "{print(1)>\"f\"}",
            "{x=y++ / \"/; print > \"f\"; /\"/}",
            "{not /\"/; print > \"f\"; x=\"/\"}",
            "{print length /\"/; print > \"f\"; x=\"/\"}",
            "BEGIN {for (i=0; i<1; print \"x\" > \"f\") i++}",
            "BEGIN {for (;;) {printf(\"x\") > \"f\"}}",
            "BEGIN {ARGV[1]=\"/inet/tcp/0/h/80\"; ARGC=2} {print}",
            "/[]/]\"/ {print > \"f\"} #\"",
            "/[[:x/]\"/ {print > \"f\"} #\"",
            "{print /x\n/}",
            "2system(\"touch x\")",
            "BEGIN {x = 1.5e2getline}",
            "BEGIN {for (;0xprint > \"f\";) x++}",
        ];
        for program in programs {
            assert!(objection(program).is_some(), "{program}");
        }
    }
}
