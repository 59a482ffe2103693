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
        ("cat a ./b ../c /d/../e", &["r /work/a", "r /work/b", "r /c", "r /e"]),
        ("cat < a > b 2>&1", &["r /work/a", "w /work/b"]),
        ("cat ~/a '~/b'", &["r /home/me/a", "r /work/~/b"]),
        ("cd s && cat a", &["r /work/s/a"]),
        ("cd s; cat a", &["r /work/s/a", "r /work/a"]),
        ("cd s || cat a; cat b", &["r /work/a", "r /work/s/b", "r /work/b"]),
        ("(cd s && cat a); cat b", &["r /work/s/a", "r /work/b"]),
        ("cd s && cd ../t && cat a", &["r /work/t/a"]),
        ("cd && cat a", &["r /home/me/a"]),
        ("cd $X && cat a /b", &["r ?", "r /b"]),
        ("cd - && cat a", &["r ?"]),
        ("pushd x; cat a", &["r* /work/x", "r ?"]),
        ("cd s | cat a", &["r /work/a"]),
        ("echo $(cd s && cat a) b; cat c", &["r /work/s/a", "r /work/c"]),
        ("cat s/*.md", &["r /work/s/*.md in /work/s"]),
        ("cat /*/x", &["r /*/x in /"]),
        ("cat */../x", &["r ?"]),
        ("grep -n pat a b", &["r /work/a", "r /work/b"]),
        ("grep -e pat -f p a", &["r /work/p", "r /work/a"]),
        ("grep -rn pat", &["r* /work"]),
        ("find s -name x | head | xargs cat", &["r* /work/s"]),
        ("ls | xargs cat", &["r ?"]),
        ("cp a b", &["r* /work/a", "w* /work/b"]),
        ("sed -i s/a/b/ f", &["w /work/f"]),
        ("sort a -o b", &["w /work/b", "r /work/a"]),
        ("find s -delete", &["w* /work/s"]),
        ("echo a b; ls s", &[]),
    ];
    for (text, expected) in cases {
        let files: Vec<String> = analyse(text).files.iter().map(show).collect();
        assert_eq!(files, expected, "{text}");
    }
}
