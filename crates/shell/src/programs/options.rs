//! Reading the options of one program as it would read them itself. Knows rows, not what they mean for a verdict.

use crate::analysis::{Cause, Part, Word};

use super::table::{Mode, Options};

/// Arguments sorted into options and operands.
#[derive(Debug, Default)]
pub struct Reading {
    pub options: Vec<Given>,
    pub operands: Vec<Word>,
    /// Index of the first operand in the arguments, if there is one.
    pub first_operand: Option<usize>,
    /// `--` stands in front of the operands.
    pub dashes: bool,
    /// Why the options may do more than read, or cannot be told; the first cause.
    pub trouble: Option<String>,
}

/// An option as given: its name without dashes and its value.
#[derive(Debug, Default)]
pub struct Given {
    pub name: String,
    pub value: Option<Word>,
    /// Which argument it begins with.
    pub index: usize,
    /// How many arguments it takes up.
    pub length: usize,
}

impl Reading {
    /// Whether one of these options is given.
    pub fn has(&self, names: &[String]) -> bool {
        self.options.iter().any(|given| names.contains(&given.name))
    }

    fn object(&mut self, trouble: String) {
        self.trouble.get_or_insert(trouble);
    }
}

/// Reads the arguments of `program`.
pub fn read(program: &str, arguments: &[Word], rules: &Options) -> Reading {
    let mut reading = Reading::default();
    let mut index = 0;
    // An option that no list knows may take the next word for its value.
    let mut greedy = false;
    while let Some(word) = arguments.get(index) {
        let begin = index;
        index += 1;
        let prefix = word.prefix();
        let after_greedy = std::mem::take(&mut greedy);
        if word.text() == Some("--") {
            reading.dashes = true;
            if let Some(word) = arguments.iter().skip(index).find(|word| after_greedy && would_count(word, rules)) {
                let shown = word.shown();
                reading.object(format!("`{shown}` may be an option of `{program}`"));
            }
            if index < arguments.len() {
                reading.first_operand.get_or_insert(index);
            }
            reading.operands.extend(arguments.iter().skip(index).cloned());
            break;
        }
        if rules.mode != Mode::Any && word.may_hide_option() && !prefix.starts_with('-') {
            let shown = word.shown();
            reading.object(format!("`{shown}` may become an option of `{program}` when it runs"));
        }
        if !prefix.starts_with('-') || word.text() == Some("-") {
            reading.first_operand.get_or_insert(index - 1);
            if rules.leading {
                reading.operands.extend(arguments.iter().skip(index - 1).cloned());
                break;
            }
            reading.operands.push(word.clone());
            continue;
        }
        if rules.mode != Mode::Any && word.causes().any(|cause| cause == Cause::Split) {
            let shown = word.shown();
            reading.object(format!("`{shown}` may become an option of `{program}` when it runs"));
        }
        let before = reading.options.len();
        let wanting = if prefix.starts_with("--") || is_dashed(prefix, rules) {
            long(program, word, rules, &mut reading)
        } else if rules.whole {
            whole(program, word, rules, &mut reading)
        } else {
            short(program, word, rules, &mut reading)
        };
        greedy = wanting.is_empty() && reading.options.get(before..).is_some_and(|given| unlisted(given, rules));
        for at in wanting {
            let value = arguments.get(index);
            index += 1;
            if rules.mode != Mode::Any && value.is_some_and(Word::may_be_many) {
                reading.object(format!("the value of an option of `{program}` may be several words"));
            }
            if after_greedy && value.is_some_and(|value| value.prefix().starts_with('-')) {
                let shown = value.map(Word::shown).unwrap_or_default();
                reading.object(format!("`{shown}` may be an option of `{program}`"));
            }
            if let Some(given) = reading.options.get_mut(at) {
                given.value = value.cloned();
            }
        }
        for given in reading.options.iter_mut().skip(before) {
            given.index = begin;
            given.length = index - begin;
        }
    }
    judge_writes(program, rules, &mut reading);
    reading
}

/// Whether a word that stands behind `--` would matter if `--` were the value of an option.
fn would_count(word: &Word, rules: &Options) -> bool {
    match word.text() {
        Some(text) => text.starts_with('-'),
        None => word.may_hide_option() && rules.except.iter().any(|name| name != "help"),
    }
}

/// Whether the last of the options that a word gives is in no list, and without a value of its own.
fn unlisted(given: &[Given], rules: &Options) -> bool {
    let Some(last) = given.last().filter(|last| last.value.is_none()) else {
        return false;
    };
    let letter = last.name.chars().next().filter(|_| last.name.len() == 1);
    let listed = match letter {
        Some(letter) => rules.flags.contains(letter) || (rules.digits && letter.is_ascii_digit()),
        None => rules.long.contains(&last.name),
    };
    rules.mode == Mode::Except && !listed
}

/// Adds a long option; gives its place among the options if its value is the next word.
fn long(program: &str, word: &Word, rules: &Options, reading: &mut Reading) -> Vec<usize> {
    let prefix = word.prefix();
    let body = prefix.strip_prefix("--").or_else(|| prefix.strip_prefix('-')).unwrap_or(prefix);
    let dashes = prefix.len() - body.len();
    let (name, attached) = match body.split_once('=') {
        Some((name, _)) => (name, true),
        None => (body, false),
    };
    let certain = attached || word.text().is_some();
    let plain = rules.long.iter().any(|known| known == name);
    let abbreviates = |known: &String| !plain && !name.is_empty() && known.starts_with(name);
    let valued = rules.long_values.iter().any(|known| known == name)
        || (rules.mode != Mode::Listed && rules.long_values.iter().any(abbreviates))
        || rules.writes.iter().chain(&rules.reads).any(|known| known.len() > 1 && known == name);
    let refused_value = rules.refuse_values.iter().any(|known| known == name);
    let refused = match rules.mode {
        _ if refused_value => true,
        Mode::Any => false,
        Mode::Listed => !certain || !(plain || valued),
        Mode::Except => {
            let excepted =
                |known: &String| known.len() > 1 && (known.starts_with(name) || name.starts_with(known.as_str()));
            !certain || name.is_empty() || rules.except.iter().any(excepted)
        }
    };
    if refused {
        reading.object(format!("`{program} --{name}` is not known to only read"));
    }
    let value = attached.then(|| word.without(dashes + name.len() + 1));
    reading.options.push(Given { name: name.to_owned(), value, ..Given::default() });
    if (valued || refused_value) && !attached { vec![reading.options.len() - 1] } else { Vec::new() }
}

/// Adds an option of a program that knows no clusters; gives its place if its value is the next word.
fn whole(program: &str, word: &Word, rules: &Options, reading: &mut Reading) -> Vec<usize> {
    let shown = word.shown();
    let name = shown.strip_prefix('-').unwrap_or(&shown);
    let valued = rules.long_values.iter().any(|known| known == name);
    let attached = name.chars().next().filter(|letter| rules.values.contains(*letter)).is_some_and(|letter| {
        let number = name.get(letter.len_utf8()..).unwrap_or_default();
        number.starts_with(|next: char| next.is_ascii_digit())
    });
    let known = word.text().is_some() && (valued || attached || rules.long.iter().any(|known| known == name));
    if !known {
        reading.object(format!("`{program} {shown}` is not known to only read"));
    }
    reading.options.push(Given { name: name.to_owned(), ..Given::default() });
    if valued { vec![reading.options.len() - 1] } else { Vec::new() }
}

/// Whether it is a long option behind a single dash.
fn is_dashed(prefix: &str, rules: &Options) -> bool {
    let name = prefix.strip_prefix('-').map(|body| body.split('=').next().unwrap_or(body));
    let is_known = |name: &str| rules.long.iter().chain(&rules.long_values).any(|known| known == name);
    rules.dashed && name.is_some_and(is_known)
}

/// Adds the options of a cluster; gives the places of those whose values are the next words.
fn short(program: &str, word: &Word, rules: &Options, reading: &mut Reading) -> Vec<usize> {
    let prefix = word.prefix().to_owned();
    let mut wanting = Vec::new();
    for (at, letter) in prefix.char_indices().skip(1) {
        let name = letter.to_string();
        let listed = |names: &[String]| names.contains(&name);
        let valued = rules.values.contains(letter) || listed(&rules.reads) || listed(&rules.writes);
        let detached = rules.detached.contains(letter);
        let plain = rules.flags.contains(letter) || detached || (rules.digits && letter.is_ascii_digit());
        let refused_value = listed(&rules.refuse_values);
        let optional = rules.optional.contains(letter);
        let refused = match rules.mode {
            _ if refused_value => true,
            Mode::Any => false,
            Mode::Listed => !plain && !valued && !optional,
            Mode::Except => listed(&rules.except),
        };
        if refused {
            reading.object(format!("`{program} -{letter}` is not known to only read"));
        }
        reading.options.push(Given { name, ..Given::default() });
        let rest = at + letter.len_utf8();
        if detached {
            wanting.push(reading.options.len() - 1);
        } else if valued || refused_value || optional {
            if rest == prefix.len() && word.text().is_some() {
                if !optional {
                    wanting.push(reading.options.len() - 1);
                }
                return wanting;
            }
            let value = word.without(rest);
            if rules.mode != Mode::Any && may_be_bare(&value) {
                let shown = word.shown();
                reading.object(format!("`{shown}` may be several words when it runs"));
            }
            if let Some(last) = reading.options.last_mut() {
                last.value = Some(value);
            }
            return wanting;
        }
    }
    if rules.mode != Mode::Any && word.text().is_none() {
        let shown = word.shown();
        reading.object(format!("the options in `{shown}` are only known when it runs"));
    }
    wanting
}

/// Whether a value that is attached to its option may become several words, one of them without a value: that one
/// takes the next word.
fn may_be_bare(value: &Word) -> bool {
    let fixed = value.parts.iter().any(|part| matches!(part, Part::Text(_)));
    !fixed && value.may_be_many()
}

fn judge_writes(program: &str, rules: &Options, reading: &mut Reading) {
    let target = reading.options.iter().find(|given| is_one_of(&given.name, &rules.writes));
    if let Some(given) = target {
        let shown = given.value.as_ref().map(Word::shown).unwrap_or_default();
        reading.trouble = Some(format!("`{program}` writes to {shown}"));
    }
}

/// Whether an option is one of those named, abbreviations of long ones included.
pub fn is_one_of(name: &str, names: &[String]) -> bool {
    names.iter().any(|known| known == name || (name.len() > 1 && known.len() > 1 && known.starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Options {
        serde_json::from_str(text).unwrap()
    }

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::known).collect()
    }

    #[test]
    fn options_are_found_in_every_spelling() {
        let rules =
            rules(r#"{"flags":"nru","values":"k","long":["reverse"],"long_values":["key"],"writes":["o","output"]}"#);
        let cases: [(&str, Option<&str>); 10] = [
            ("-n -r a", None),
            ("-nru a -k 2 -k2", None),
            ("--key 2 --reverse --key=3 a", None),
            ("-uoFILE a", Some("`sort` writes to FILE")),
            ("a -o b", Some("`sort` writes to b")),
            ("--output=b", Some("`sort` writes to b")),
            ("--outp=b", Some("`sort` writes to b")),
            ("-k o a", None),
            ("-- -o a", None),
            ("--parallel=3", Some("`sort --parallel` is not known to only read")),
        ];
        for (text, trouble) in cases {
            let reading = read("sort", &words(text), &rules);
            assert_eq!(reading.trouble.as_deref(), trouble, "{text}");
        }
    }

    #[test]
    fn all_but_some_options_refuses_abbreviations() {
        let rules = rules(r#"{"mode":"except","values":"e","except":["O","output"]}"#);
        let cases = [("--stat -n", true), ("--outp=x", false), ("-nOless", false), ("-e -O", true)];
        for (text, fine) in cases {
            let reading = read("git", &words(text), &rules);
            assert_eq!(reading.trouble.is_none(), fine, "{text}");
        }
    }
}
