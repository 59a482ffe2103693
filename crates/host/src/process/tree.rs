//! Owns the ending of a whole tree of processes. Must not know what they are or who waits.

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

/// How often strays are looked for; what breeds faster than that is a fork bomb.
const MAX_LOOKS: usize = 8;

/// A child, its process group and what descends from it. Killed when this is dropped before it was
/// released.
pub(super) struct Tree {
    /// The child's id, which is its group's, too. `None` once the child was released: the number
    /// may then belong to somebody else.
    group: Option<Pid>,
    /// Descendants outside the group, as far as they were found when the tree was told to end:
    /// later their parents may be gone.
    strays: Vec<Stray>,
}

impl Tree {
    /// The tree of a child that leads its own group.
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { group: id.and_then(Pid::from_raw), strays: Vec::new() }
    }

    /// Tells all of it to end.
    pub(super) fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends all of it.
    pub(super) fn kill(&mut self) {
        self.signal(Signal::KILL);
    }

    /// The child has exited: nothing of it is ours any more.
    pub(super) fn release(&mut self) {
        self.group = None;
    }

    fn signal(&mut self, signal: Signal) {
        let Some(group) = self.group else { return };
        // Looked for before anything ends: afterwards nobody knows whose children they were.
        let found = self.new_strays(group);
        self.strays.extend(found);
        // What is gone already cannot be signalled, and need not be.
        let _ = kill_process_group(group, signal);
        for stray in &self.strays {
            stray.signal(signal);
        }
        // One that was born meanwhile was not seen; the last look shows that there is none.
        for _ in 0..MAX_LOOKS {
            let found = self.new_strays(group);
            if found.is_empty() {
                break;
            }
            for stray in &found {
                stray.signal(signal);
            }
            self.strays.extend(found);
        }
    }

    fn new_strays(&self, group: Pid) -> Vec<Stray> {
        let mut found = find_strays(group, &self.strays);
        found.retain(|stray| !self.strays.contains(stray));
        found
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(target_os = "linux")]
use linux::{Stray, find_strays};
#[cfg(not(target_os = "linux"))]
use other::{Stray, find_strays};

#[cfg(target_os = "linux")]
mod linux {
    //! Owns finding descendants in `/proc`.

    use rustix::process::{Pid, Signal, kill_process};

    /// A descendant that left the group, for certain the same process as when it was found.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct Stray {
        id: Pid,
        /// In clock ticks since boot. Together with the id it names one process.
        started: u64,
    }

    impl Stray {
        pub(super) fn signal(&self, signal: Signal) {
            let same = Entry::read(self.id).is_some_and(|entry| entry.started == self.started);
            if same {
                let _ = kill_process(self.id, signal);
            }
        }
    }

    /// What descends from the members of a group, or of the groups that known strays lead, and is
    /// not in the group itself.
    pub(super) fn find_strays(group: Pid, known: &[Stray]) -> Vec<Stray> {
        let entries: Vec<Entry> = std::fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|id| Entry::read(Pid::from_raw(id)?))
            .collect();
        let of_group = |entry: &&Entry| entry.group == group.as_raw_nonzero().get();
        let of_known = |entry: &Entry| known.iter().any(|stray| stray.id.as_raw_nonzero().get() == entry.group);
        let mut family: Vec<Pid> =
            entries.iter().filter(|entry| of_group(entry) || of_known(entry)).map(|entry| entry.id).collect();
        let mut next = 0;
        while let Some(parent) = family.get(next).copied() {
            for entry in &entries {
                if entry.parent == parent.as_raw_nonzero().get() && !family.contains(&entry.id) {
                    family.push(entry.id);
                }
            }
            next += 1;
        }
        entries
            .iter()
            .filter(|entry| !of_group(entry) && family.contains(&entry.id))
            .map(|entry| Stray { id: entry.id, started: entry.started })
            .collect()
    }

    struct Entry {
        id: Pid,
        parent: i32,
        group: i32,
        started: u64,
    }

    impl Entry {
        /// From `/proc/ID/stat`; see proc_pid_stat(5). `None` when the process is gone.
        fn read(id: Pid) -> Option<Self> {
            let stat = std::fs::read(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
            let stat = String::from_utf8_lossy(&stat);
            // The second field, the name in parentheses, may itself hold spaces and parentheses.
            let (_, fields) = stat.rsplit_once(')')?;
            let fields: Vec<&str> = fields.split_whitespace().collect();
            Some(Self {
                id,
                parent: fields.get(1)?.parse().ok()?,
                group: fields.get(2)?.parse().ok()?,
                started: fields.get(19)?.parse().ok()?,
            })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    //! Owns the place of what only Linux shows cheaply: descendants outside the group.

    use rustix::process::{Pid, Signal};

    /// Never made.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) enum Stray {}

    impl Stray {
        pub(super) fn signal(&self, _signal: Signal) {
            match *self {}
        }
    }

    pub(super) fn find_strays(_group: Pid, _known: &[Stray]) -> Vec<Stray> {
        Vec::new()
    }
}
