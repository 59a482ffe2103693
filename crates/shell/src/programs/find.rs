//! The expression language of `find`, and the commands that `find`, `fd` and `xargs` run.

use crate::analysis::{Cause, Part, Word};

/// Tests and actions of `find` without an argument that only read.
const PLAIN: [&str; 26] = [
    "!",
    "(",
    ")",
    ",",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-d",
    "-depth",
    "-daystart",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-ls",
    "-mount",
    "-nouser",
    "-nogroup",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
];

/// The same with one argument.
const VALUED: [&str; 36] = [
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// Without an argument, but not in every version.
const GLOBAL: [&str; 5] = ["-noleaf", "-xdev", "-warn", "-nowarn", "-writable"];

/// What a command line of `find` does.
#[derive(Debug, Default)]
pub struct Search {
    /// Where it starts; empty means the working folder.
    pub roots: Vec<Word>,
    /// The commands that it runs.
    pub commands: Vec<Executed>,
    /// Files that it writes.
    pub writes: Vec<Word>,
    /// Why it may do more than read, its commands aside; the first cause.
    pub trouble: Option<String>,
}

/// A command that is run for what is found.
#[derive(Debug, Default)]
pub struct Executed {
    pub words: Vec<Word>,
    /// It runs in the folder of what is found.
    pub elsewhere: bool,
}

/// Reads the arguments of `find`.
pub fn read(arguments: &[Word]) -> Search {
    let mut search = Search::default();
    let mut index = 0;
    let mut in_expression = false;
    while let Some(word) = arguments.get(index) {
        index += 1;
        let Some(text) = word.text() else {
            if word.may_hide_option() || in_expression {
                let shown = word.shown();
                search.object(format!("`{shown}` may become an action of `find` when it runs"));
            }
            search.roots.push(word.clone());
            continue;
        };
        let leading = matches!(text, "-H" | "-L" | "-P") || text.starts_with("-O");
        if !in_expression && leading {
            continue;
        }
        if !in_expression && !text.starts_with('-') && !matches!(text, "!" | "(" | ")" | ",") {
            search.roots.push(word.clone());
            continue;
        }
        in_expression = true;
        match text {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                if text.starts_with("-ok") {
                    search.object(format!("`find {text}` asks before it runs a command"));
                }
                let rest = arguments.get(index..).unwrap_or_default();
                let (words, length) = executed(rest);
                if let Some(word) = rest.iter().take(length).find(|word| may_end(word)) {
                    let shown = word.shown();
                    search.object(format!("`{shown}` may end the command of `find {text}` when it runs"));
                }
                search.commands.push(Executed { words, elsewhere: text.ends_with("dir") });
                index += length;
            }
            "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                search.writes.extend(arguments.get(index).cloned());
                search.object(format!("`find {text}` writes a file"));
                index += 1;
            }
            "-delete" => {
                search.object("`find -delete` removes files".into());
            }
            _ if PLAIN.contains(&text) || GLOBAL.contains(&text) => {}
            _ if VALUED.contains(&text) || text.starts_with("-newer") => {
                if arguments.get(index).is_some_and(Word::may_be_many) {
                    search.object(format!("the value of `find {text}` may be several words"));
                }
                index += 1;
            }
            _ => search.object(format!("`find {text}` is not known to only read")),
        }
    }
    search
}

impl Search {
    fn object(&mut self, trouble: String) {
        self.trouble.get_or_insert(trouble);
    }
}

/// The command after `-exec`, with what `find` fills in marked as unknown, and how many words it takes.
fn executed(rest: &[Word]) -> (Vec<Word>, usize) {
    let end = rest.iter().enumerate().position(|(index, word)| match word.text() {
        Some(";") => true,
        Some("+") => index > 0 && rest.get(index - 1).and_then(Word::text) == Some("{}"),
        _ => false,
    });
    let words = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let command = words.iter().map(|word| fill(word, "{}")).collect();
    (command, end.map_or(rest.len(), |end| end + 1))
}

/// Whether a word that is not known may be the one that ends a command, so that actions follow.
fn may_end(word: &Word) -> bool {
    let fixed = word.parts.iter().any(|part| matches!(part, Part::Text(text) if !matches!(text.as_str(), ";" | "+")));
    let splits = word.causes().any(|cause| matches!(cause, Cause::Split | Cause::Braces));
    word.text().is_none() && (splits || !fixed)
}

/// The commands after `-x`, `-X`, `--exec` and `--exec-batch` of `fd`.
pub fn fd_commands(arguments: &[Word]) -> Vec<Executed> {
    let mut commands = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let prefix = word.prefix();
        let short = prefix.starts_with('-') && !prefix.starts_with("--") && prefix.contains(['x', 'X']);
        if !(short || prefix.starts_with("--ex")) {
            continue;
        }
        let attached = prefix.split_once('=').map(|(_, command)| Word::known(command));
        let rest = arguments.get(index + 1..).unwrap_or_default();
        let end = rest.iter().position(|word| word.text() == Some(";")).unwrap_or(rest.len());
        let mut command: Vec<Word> = attached.into_iter().collect();
        command.extend(rest.get(..end).unwrap_or_default().iter().map(|word| fill(word, "{}")));
        command.push(Word::filled("{}"));
        commands.push(Executed { words: command, elsewhere: false });
    }
    commands
}

/// The word with every `place` in its known text replaced by an unknown part.
pub fn fill(word: &Word, place: &str) -> Word {
    let mut filled = Word { parts: Vec::new(), tilde: word.tilde };
    for part in &word.parts {
        match part {
            Part::Text(text) if !place.is_empty() => {
                for (index, piece) in text.split(place).enumerate() {
                    if index > 0 {
                        filled.push_unknown(place, Cause::Filled);
                    }
                    filled.push_text(piece);
                }
            }
            other => filled.parts.push(other.clone()),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Word> {
        text.split(' ').map(Word::known).collect()
    }

    fn shown(command: &[Word]) -> String {
        command.iter().map(Word::shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn actions_are_found_anywhere() {
        let cases = [
            (". -name *.rs -type f", true),
            ("src -type f -newer Cargo.toml", true),
            ("-L . -maxdepth 2 -ls", true),
            (". -name node_modules -prune -o -name x -print", true),
            (". -path ./-exec/* -print", true),
            (". ! -name a ( -size +1 )", true),
            (". -delete", false),
            (". -name a -o -delete", false),
            (". -fprint list", false),
            (". -fls f", false),
            (". -ok rm {} ;", false),
            ("-files0-from list -delete", false),
            (". -frob", false),
            (". -exec rm {} ;", true),
        ];
        for (text, fine) in cases {
            assert_eq!(read(&words(text)).trouble.is_none(), fine, "{text}");
        }
    }

    #[test]
    fn commands_are_taken_apart() {
        let search = read(&words(". -exec ls {} ; -exec rm a{}b + -exec x {} + -print"));
        let commands: Vec<String> = search.commands.iter().map(|command| shown(&command.words)).collect();
        assert_eq!(commands, ["ls {}", "rm a{}b + -exec x {}"]);
        assert_eq!(
            fd_commands(&words("-e tmp -x rm -f")).iter().map(|c| shown(&c.words)).collect::<Vec<_>>(),
            ["rm -f {}"]
        );
    }
}
