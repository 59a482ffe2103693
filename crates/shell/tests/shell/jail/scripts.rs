//! Random scripts of the programs that read one, and random tests of `find`.

use fastrand::Rng;

use super::grammar::{one_in, pick};

/// A script of sed, without quotes around it.
pub fn sed(random: &mut Rng) -> String {
    let mut text = String::new();
    for at in 0..random.u8(1..4) {
        if at > 0 {
            text += pick(random, &[";", "; ", "\n", "", "}", " "]);
        }
        text += pick(
            random,
            &[
                "",
                "",
                "",
                "1",
                "$",
                "1,3",
                "/a/",
                "/a/,/b/",
                "1~2",
                "0,/a/",
                "/a/I",
                "\\,a,",
                "2!",
                "1,+2 ",
                "/a\\/w x/",
                "/[/]w/",
            ],
        );
        text += pick(
            random,
            &[
                "p",
                "d",
                "q",
                "l",
                "=",
                "n",
                "N",
                "D",
                "P",
                "g",
                "G",
                "h",
                "H",
                "x",
                "s/a/b/",
                "s/a/b/g",
                "s/a/b/2p",
                "s,a,b,",
                "s|a|b|gI",
                "y/ab/cd/",
                "b",
                "t",
                "ba",
                ":a",
                "{p}",
                "{p;d}",
                "a\\\nx",
                "a x",
                "i\\x",
                "c x",
                "r a.txt",
                "R a.txt",
                "q5",
                "s/\\//w/",
                "s/[/w]/x/",
                "s/a/\\n/",
                "#w OUT",
                "z",
                "F",
                "l 5",
                "s/a/b/;p",
                "a\\",
                "s/x/y/m",
                "p;;p",
                "} p",
            ],
        );
        if one_in(random, 6) {
            text += pick(
                random,
                &[
                    "w OUT",
                    "wOUT",
                    ";w OUT",
                    "\nw OUT",
                    "s/o/x/w OUT",
                    "e",
                    "e evil",
                    ";e evil",
                    "s/o/evil/e",
                    "s/.*/evil/ge",
                    "W OUT",
                    "}w OUT",
                    "s/o/x/gw OUT",
                    " e",
                    "w /dev/stdout",
                ],
            );
        }
    }
    text
}

/// A program of awk, without quotes around it.
pub fn awk(random: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..random.u8(1..3) {
        text += pick(
            random,
            &["", "", "/a/ ", "NR==1", "BEGIN ", "END ", "$1 ~ /a/ ", "NR>1 && NF ", "/a/,/b/ ", "1;", "a[$1]++;"],
        );
        text += pick(
            random,
            &[
                "{print}",
                "{print $1}",
                "{ print $1, $2 }",
                "{s+=$1}",
                "{print s}",
                "{printf \"%s\\n\", $0}",
                "{ a[$1]++ }",
                "{n=split($0,a,\":\"); print a[1]}",
                "{gsub(/a/,\"b\"); print}",
                "{if (NF>1) print length($0); else next}",
                "{for (k in a) print k, a[k]}",
                "{print substr($0,1,2)}",
                "{x = $1 / 2; y = 3 / 4; print x y}",
                "{print toupper($1) \">\" tolower($2)}",
                "{while ((getline l < \"a.txt\") > 0) print l}",
                "{print \"a;b\" # c\n}",
            ],
        );
        if one_in(random, 5) {
            text += pick(
                random,
                &[
                    "{print > \"OUT\"}",
                    "{print >> \"OUT\"}",
                    "{print | \"evil\"}",
                    "{system(\"evil\")}",
                    "{\"evil\" | getline}",
                    "{print>$2}",
                    "{f=\"system\"; @f(\"evil\")}",
                    "@include \"x.awk\"",
                    "BEGIN{\"evil\"|getline x}",
                    "{print |& \"evil\"}",
                    "{printf \"x\" > \"OUT\"}",
                    "{print $1 /a/ > \"OUT\" }",
                    "{ print a > b }",
                    "@load \"filefuncs\"",
                    "function f(x){system(x)} BEGIN{f(\"evil\")}",
                    "{print \"\\\"\" > \"OUT\"}",
                    "{x = /\"/; print > \"OUT\" }",
                    "BEGIN{print 1 > \"/dev/stderr\"}",
                    "{ print (1 > 2) }",
                ],
            );
        }
    }
    text
}

/// What stands behind `find`.
pub fn find(random: &mut Rng) -> String {
    let mut words: Vec<String> = Vec::new();
    if one_in(random, 6) {
        words.push(pick(random, &["-L", "-P", "-H", "-O3", "-D tree", "-D exec"]).into());
    }
    for _ in 0..random.u8(..3) {
        words.push(
            pick(random, &[".", "src", "docs", "/work", "~", "$DIR", "*", "\"$X\"", "./src", "none", "--", "$(ls)"])
                .into(),
        );
    }
    for _ in 0..random.u8(..5) {
        words.push(
            pick(
                random,
                &[
                    "-name '*.txt'",
                    "-name \\*.rs",
                    "-type f",
                    "-type d",
                    "-maxdepth 2",
                    "-mtime -1",
                    "-size +1k",
                    "-print",
                    "-print0",
                    "-ls",
                    "-not",
                    "!",
                    "-o",
                    "-a",
                    ",",
                    "\\( -name a \\)",
                    "-path './src/*'",
                    "-newer a.txt",
                    "-perm -644",
                    "-empty",
                    "-prune",
                    "-printf '%p\\n'",
                    "-regex '.*'",
                    "-iname X",
                    "-quit",
                    "-depth",
                    "-name \"$NAME\"",
                    "-name $NAME",
                    "-user me",
                    "-links 1",
                    "-inum 5",
                    "-samefile a.txt",
                    "-xdev",
                    "-mount",
                    "-daystart",
                    "-true",
                    "-false",
                    "-executable",
                    "-newermt 2020-01-01",
                    "-regextype posix-extended",
                    "-files0-from list0",
                    "-readable",
                    "-nogroup",
                    "-fstype tmpfs",
                    "-context x",
                    "-noleaf",
                    "-warn",
                    "-follow",
                ],
            )
            .into(),
        );
    }
    if one_in(random, 4) {
        let action = pick(
            random,
            &[
                "-delete",
                "-exec evil {} \\;",
                "-exec evil {} +",
                "-execdir evil {} \\;",
                "-ok evil {} ;",
                "-fprint OUT",
                "-fls OUT",
                "-fprintf OUT '%p'",
                "-fprint0 OUT",
                "-exec cat {} +",
                "-exec grep -l x {} \\;",
                "-exec sort -o OUT {} \\;",
                "-exec sh -c 'evil' \\;",
                "-exec sort {} +",
                "-exec sed -n p {} +",
                "-exec {} \\;",
                "-exec wc -l '{}' ';'",
                "-okdir evil \\;",
                "-exec find {} -delete \\;",
                "-exec head -1 {} \\; -exec awk -f {} x \\;",
                "-exec env {} \\;",
                "-exec git log {} +",
                "-exec stat {} +",
                "-exec tree {} \\;",
            ],
        );
        let at = random.usize(..=words.len());
        words.insert(at, action.into());
    }
    words.join(" ")
}
