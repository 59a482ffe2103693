//! The oracle: random texts are analysed, and what is called read-only is run for real in a throw-away jail. Nothing
//! there may be different afterwards.

mod calls;
mod grammar;
mod mutation;
mod prison;
mod programs;
mod scripts;
mod shrink;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use prison::Prison;
use shell::{Place, Verdict, analyse};

/// Texts that share one jail.
const BATCH: usize = 150;
/// So many violations are made short; the rest is counted.
const SHORTENED: usize = 60;

/// Values that do harm where they become words, options, scripts or arithmetic.
const VALUES: [&str; 24] = [
    "/dev/tcp/127.0.0.1/9",
    "x[$(evil)]",
    "",
    "a.txt",
    "src",
    "7",
    "-delete",
    "-o OUT",
    "--output=OUT",
    "-exec evil {} ;",
    "x[$(evil)]",
    "a[$(evil)]",
    "evil",
    "w OUT",
    "s/a/evil/e",
    "/work/OUT",
    "../OUT",
    "`evil`",
    "$(evil)",
    "a b",
    "*",
    "BEGIN{system(\"evil\")}",
    "-i",
    "-c evil",
];

/// One text and where it runs.
#[derive(Clone)]
pub struct Text {
    /// It is drawn again from this alone.
    seed: u64,
    /// What the variables hold that texts speak of.
    values: [&'static str; 4],
    folder: &'static str,
    text: String,
}

impl Text {
    fn draw(seed: u64, corpus: &[String]) -> Self {
        let mut random = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let values = [(); 4].map(|()| VALUES[random.usize(..VALUES.len())]);
        let folder = if random.u8(..4) == 0 { "/work/odd" } else { "/work" };
        let text = match random.u8(..10) {
            0..5 => grammar::script(&mut random),
            _ => mutation::mutate(&mut random, corpus),
        };
        Self { seed, values, folder, text: text.replace('\0', "") }
    }

    fn only_reads(&self) -> bool {
        let place = Place { cwd: self.folder.into(), home: Some("/home/me".into()), clean: true };
        analyse(&self.text, &place).verdict == Verdict::ReadOnly
    }
}

/// A text that was called read-only and was not.
struct Violation {
    text: Text,
    short: String,
    changes: Vec<String>,
}

/// Draws `count` texts from `seed` on and runs those that only read, on `workers` threads, except those with one of
/// these parts in them.
fn run(count: u64, seed: u64, workers: usize, left_out: &[String]) {
    let started = Instant::now();
    let corpus = mutation::corpus();
    let prison = Prison::new();
    let next = AtomicU64::new(0);
    let (ran, found) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let violations = Mutex::new(Vec::new());
    let work = || {
        let mut batch = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at < count {
                batch.push(Text::draw(seed.wrapping_add(at), &corpus));
                batch.retain(|text| !left_out.iter().any(|part| text.text.contains(part)) && text.only_reads());
            }
            if at >= count || batch.len() >= BATCH {
                let bad = guilty(&prison, &batch.iter().collect::<Vec<_>>());
                let all = ran.fetch_add(batch.len(), Ordering::Relaxed) + batch.len();
                for (text, changes) in bad {
                    let short = match found.fetch_add(1, Ordering::Relaxed) < SHORTENED {
                        true => shrink::shorten(&prison, &text),
                        false => text.text.clone(),
                    };
                    let violation = Violation { text, short, changes };
                    print(&violation);
                    violations.lock().unwrap().push(violation);
                }
                if all / 10_000 != (all - batch.len()) / 10_000 {
                    println!("{all} run of {at} drawn after {:?}", started.elapsed());
                }
                batch.clear();
            }
            if at >= count {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(work);
        }
    });
    let violations = violations.into_inner().unwrap();
    println!(
        "{count} texts from seed {seed}: {} called read-only and run, {} of them changed something, in {:?}",
        ran.load(Ordering::Relaxed),
        violations.len(),
        started.elapsed()
    );
    let shapes: BTreeSet<&str> = violations.iter().map(|violation| violation.short.as_str()).collect();
    assert_eq!(shapes, BTreeSet::new(), "read-only texts that changed something");
}

/// The texts that change something, each found alone; a batch that changed something is halved.
fn guilty(prison: &Prison, texts: &[&Text]) -> Vec<(Text, Vec<String>)> {
    let changes = if texts.is_empty() { Vec::new() } else { prison.run(texts) };
    match texts {
        _ if changes.is_empty() => Vec::new(),
        [text] => vec![((*text).clone(), changes)],
        _ => {
            let (left, right) = texts.split_at(texts.len() / 2);
            let mut all = guilty(prison, left);
            all.extend(guilty(prison, right));
            if all.is_empty() {
                let together = texts.iter().map(|text| text.text.as_str()).collect::<Vec<_>>().join("\n----\n");
                let text = Text { text: format!("only together:\n{together}"), ..(*texts[0]).clone() };
                all.push((text, changes));
            }
            all
        }
    }
}

fn print(violation: &Violation) {
    let Violation { text, short, changes } = violation;
    println!("VIOLATION seed {} in {} with {:?}", text.seed, text.folder, text.values);
    println!("    text:  {:?}", text.text);
    println!("    short: {short:?}");
    for change in changes.iter().take(6) {
        println!("    {change}");
    }
}

#[test]
fn what_only_reads_changes_nothing() {
    run(600, 1, 2, &[]);
}

/// Without this, a jail in which nothing works would find nothing.
#[test]
fn the_jail_sees_what_changes() {
    let prison = Prison::new();
    let ways = [
        ("touch a.txt", "+ /log/touch."),
        ("/usr/bin/touch a.txt", "+ /work/a.txt"),
        ("/bin/rm -r src", "- /work/src"),
        ("echo x > /home/me/new", "+ /home/me/new"),
        ("(sleep 0.01; echo x > OUT) &", "+ /work/OUT"),
        ("/bin/chmod 600 b.txt", "+ /work/b.txt"),
        ("/bin/ln -sfn b.txt link", "+ /work/link"),
        ("find . -name a.txt -exec evil \\;", "+ /log/evil."),
        ("git log --format=%G?", "+ /log/gpg."),
        ("git tag --format='%(signature)'; git verify-tag v1", "+ /log/gpg."),
        (": < /dev/tcp/127.0.0.1/9", "+ connections 1"),
        ("echo > /dev/udp/127.0.0.1/9", "+ datagrams 1"),
        ("git add -A", "+ /work/.git/index"),
        ("kill -9 -1", "the jail ended before its texts did"),
    ];
    for (text, expected) in ways {
        let text = Text { seed: 0, values: [""; 4], folder: "/work", text: text.into() };
        let changes = prison.run(&[&text]);
        let seen = changes.iter().any(|change| change.starts_with(expected));
        assert!(seen, "{:?}: {changes:?}", text.text);
        assert_eq!(prison.run(&[&Text { text: "cat a.txt; ls -la; git status".into(), ..text }]), Vec::<String>::new());
    }
}

/// `cargo xtask jail [COUNT] [SEED]`.
#[test]
#[ignore = "as long as one likes"]
fn as_many_texts_as_asked_for() {
    let number = |name, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let workers = std::thread::available_parallelism().map_or(1, Into::into);
    run(number("RSAGENT_JAIL_COUNT", 1_000_000), number("RSAGENT_JAIL_SEED", 1), workers, &[]);
}
