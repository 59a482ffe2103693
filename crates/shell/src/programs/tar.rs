//! Command lines of `tar`: which ones only list an archive. It reads options without a dash, too.

use crate::analysis::Word;

/// Letters that neither write nor run anything but a program that unpacks, where one lists.
const PLAIN: &str = "tvzjJa";

const LONG: [&str; 6] = ["list", "verbose", "gzip", "bzip2", "xz", "auto-compress"];

/// Why a command line may do more than list.
pub fn objection(arguments: &[Word]) -> Option<String> {
    let mut lists = false;
    let mut archives: Vec<String> = Vec::new();
    let mut words = arguments.iter().enumerate();
    while let Some((index, word)) = words.next() {
        let Some(text) = word.text() else {
            return Some(format!("`{}` may become an option of `tar` when it runs", word.shown()));
        };
        let refused = || Some(format!("`tar {text}` is not known to only list"));
        if let Some(name) = text.strip_prefix("--") {
            match name.split_once('=') {
                Some(("file", archive)) => archives.push(archive.to_owned()),
                None if LONG.contains(&name) => lists |= name == "list",
                _ => return refused(),
            }
            continue;
        }
        let letters = match text.strip_prefix('-') {
            Some(letters) => letters,
            None if index == 0 => text,
            None => continue,
        };
        lists |= letters.contains('t');
        let (flags, attached) = letters.split_once('f').map_or((letters, None), |(flags, rest)| (flags, Some(rest)));
        if letters.is_empty() || !flags.chars().all(|letter| PLAIN.contains(letter)) {
            return refused();
        }
        // Without a dash, letters go on behind the `f`.
        match attached {
            Some("") => archives.extend(words.next().map(|(_, archive)| archive.shown())),
            Some(archive) if text.starts_with('-') => archives.push(archive.to_owned()),
            Some(_) => return refused(),
            None => {}
        }
    }
    // A colon parts a host from a file on it.
    let near = |archive: &String| !archive.contains([':', '$', '`', '*', '?', '[', '{', '<']);
    let lists = lists && !archives.is_empty() && archives.iter().all(near);
    (!lists).then(|| "`tar` is not known to only list an archive of this machine".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lists_of_local_archives() {
        let cases = [
            ("tf a.tar", true),
            ("tzvf a.tgz src", true),
            ("-tzf a.tgz", true),
            ("-t -v -f a.tar", true),
            ("--list --file=a.tar", true),
            ("-tfa.tar", true),
            ("xf a.tar", false),
            ("-tf a.tar -x", false),
            ("-f a.tar", false),
            ("t", false),
            ("tf host:a.tar", false),
            ("tf a.tar --to-command=sh", false),
            ("tf a.tar -I sh", false),
            ("tfv a.tar", false),
            ("-tvfx", true),
            ("f a.tar t", false),
            ("tf a.tar -", false),
        ];
        for (text, fine) in cases {
            let words: Vec<Word> = text.split(' ').map(Word::known).collect();
            assert_eq!(objection(&words).is_none(), fine, "{text}");
        }
    }
}
