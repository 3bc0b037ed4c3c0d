//! Removes entries that need approval: a move removes only what it has copied.
//!
//! The removal of a name changes the ctime of its file, and the approval of the file's next name
//! must know that this run made the change. So one worker at a time examines, approves, removes and
//! records a name of a file.

use haul_sys::fs::{Access, Kind, OpenHow, Stat, fstat, openat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use super::node::Entry;
use super::run::Run;

/// Removes the name of an entry that is not a directory, if the monitor approves the entry in its
/// present state. Returns `false` if the entry stays, which was reported. Fails with `EISDIR` if
/// the entry is a directory.
pub(super) fn unlink(run: &Run<'_>, entry: Entry<'_>) -> haul_sys::Result<bool> {
    let Entry { directory, name, .. } = entry;
    let mut stat = entry.stat()?;
    let _one_name_at_a_time = run.files.lock(&stat);
    // A file with one name can no longer lose another name, and the lost ones are recorded.
    if stat.nlink > 1 {
        stat = entry.stat()?;
    }
    if stat.kind() == Kind::Directory {
        return Err(CallError::new(Call::Unlinkat, Errno::ISDIR));
    }
    if !run.approves(entry, &stat) {
        return Ok(false);
    }
    if stat.nlink > 1 {
        unlink_one_of_several(run, entry, &stat)?;
    } else {
        unlinkat(directory, name)?;
    }
    Ok(true)
}

/// Removes one of several names of a file and reports the file's new state to the monitor.
fn unlink_one_of_several(run: &Run<'_>, entry: Entry<'_>, stat: &Stat) -> haul_sys::Result<()> {
    let Entry { directory, name, .. } = entry;
    let how = OpenHow { access: Access::Path, ..OpenHow::READ };
    let pinned = openat(directory, name, how)?;
    unlinkat(directory, name)?;
    // The name is removed, whatever follows. A FUSE file system that finds files by their paths has no
    // path for the descriptor any more, and answers ENOENT. The other names of the file are then in a
    // state that nothing has recorded, and are compared with their copies.
    if let Ok(after) = fstat(&pinned)
        && after.same_file(stat)
    {
        run.monitor.unlinked(stat, &after);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Failure;
    use crate::monitor::{Candidate, Control, Monitor};
    use crate::remove::{self, Policy, Request};
    use crate::request::{Recursion, Resources};
    use std::collections::HashSet;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;
    use std::{fs, thread};

    /// Files by inode number and ctime in nanoseconds.
    type States = HashSet<(u64, i128)>;

    /// Approves the states that it knows, and takes its time to learn a new one.
    struct Known {
        states: Mutex<States>,
        failures: Mutex<Vec<Failure>>,
    }

    fn state(stat: &Stat) -> (u64, i128) {
        let Stat { ino, ctime, .. } = stat;
        (*ino, i128::from(ctime.seconds) * 1_000_000_000 + i128::from(ctime.nanoseconds))
    }

    impl Monitor for Known {
        fn failed(&self, failure: &Failure) {
            self.failures.lock().unwrap().push(failure.clone());
        }

        fn approves(&self, candidate: &Candidate<'_>) -> bool {
            candidate.stat.kind() == Kind::Directory
                || self.states.lock().unwrap().contains(&state(candidate.stat))
        }

        fn unlinked(&self, _before: &Stat, after: &Stat) {
            thread::sleep(Duration::from_millis(1));
            self.states.lock().unwrap().insert(state(after));
        }
    }

    #[test]
    fn several_workers_remove_the_names_of_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("t");
        let directories: Vec<_> = (0..8).map(|number| tree.join(format!("d{number}"))).collect();
        let mut states = States::new();
        for directory in &directories {
            fs::create_dir_all(directory).unwrap();
        }
        for number in 0..40 {
            let name = format!("f{number}");
            let [first, others @ ..] = &*directories else { unreachable!() };
            fs::write(first.join(&name), "content").unwrap();
            for other in others {
                fs::hard_link(first.join(&name), other.join(&name)).unwrap();
            }
            let found = first.join(&name).metadata().unwrap();
            let ctime = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
            states.insert((found.ino(), ctime));
        }
        let known = Known { states: Mutex::new(states), failures: Mutex::default() };
        let request = Request {
            operands: vec![CString::new(tree.as_os_str().as_bytes()).unwrap()],
            policy: Policy {
                recursion: Recursion::Yes,
                approval: remove::Approval::Each,
                ..Policy::PLAIN
            },
            resources: Resources { jobs: 4, waiting_jobs: 4, descriptors: 256 },
        };
        let stop = AtomicBool::new(false);
        remove::remove(&request, &known, &Control::new(&stop));
        assert_eq!(*known.failures.lock().unwrap(), []);
        assert!(!tree.exists());
    }
}
