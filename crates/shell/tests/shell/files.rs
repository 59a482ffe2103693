//! Which files a text visibly reads and writes.

use shell::{Access, FileAccess, Target};

use super::analyse;

/// `r`ead or `w`rite, `*` for everything beneath, then the path, glob or `?`.
fn show(file: &FileAccess) -> String {
    let access = match file.access {
        Access::Read => "r",
        Access::Write => "w",
    };
    let target = match &file.target {
        Target::Path(path) => path.display().to_string(),
        Target::Glob { directory, pattern } => format!("{} in {}", pattern, directory.display()),
        Target::Unknown { .. } => "?".into(),
    };
    format!("{access}{} {target}", if file.tree { "*" } else { "" })
}

#[test]
fn files_follow_the_working_folder() {
    let cases: [(&str, &[&str]); 27] = [
        ("cat a ./b ../c /d/../e", &["r /proj/a", "r /proj/b", "r /c", "r /e"]),
        ("cat < a > b 2>&1", &["r /proj/a", "w /proj/b"]),
        ("cat ~/a '~/b'", &["r /home/me/a", "r /proj/~/b"]),
        ("cd s && cat a", &["r /proj/s/a"]),
        ("cd s; cat a", &["r /proj/s/a", "r /proj/a"]),
        ("cd s || cat a; cat b", &["r /proj/a", "r /proj/s/b", "r /proj/b"]),
        ("(cd s && cat a); cat b", &["r /proj/s/a", "r /proj/b"]),
        ("cd s && cd ../t && cat a", &["r /proj/t/a"]),
        ("cd && cat a", &["r /home/me/a"]),
        ("cd $X && cat a /b", &["r ?", "r /b"]),
        ("cd - && cat a", &["r ?"]),
        ("pushd x; cat a", &["r* /proj/x", "r ?"]),
        ("cd s | cat a", &["r /proj/a"]),
        ("echo $(cd s && cat a) b; cat c", &["r /proj/s/a", "r /proj/c"]),
        ("cat s/*.md", &["r /proj/s/*.md in /proj/s"]),
        ("cat /*/x", &["r /*/x in /"]),
        ("cat */../x", &["r ?"]),
        ("grep -n pat a b", &["r /proj/a", "r /proj/b"]),
        ("grep -e pat -f p a", &["r /proj/p", "r /proj/a"]),
        ("grep -rn pat", &["r* /proj"]),
        ("find s -name x | head | xargs cat", &["r* /proj/s"]),
        ("ls | xargs cat", &["r ?"]),
        ("cp a b", &["r* /proj/a", "w* /proj/b"]),
        ("sed -i s/a/b/ f", &["w /proj/f"]),
        ("sort a -o b", &["w /proj/b", "r /proj/a"]),
        ("find s -delete", &["w* /proj/s"]),
        ("echo a b; ls s", &[]),
    ];
    for (text, expected) in cases {
        let files: Vec<String> = analyse(text).files.iter().map(show).collect();
        assert_eq!(files, expected, "{text}");
    }
}
