//! Removes entries that need approval: a move removes only what it has copied.
//!
//! The removal of a name changes the ctime of its file, and the approval of the file's next name
//! must know that this run made the change. So one worker at a time examines, approves, removes and
//! records a name of a file.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_io::last_check::{Aside, GivenBack};
use haul_io::quirk::Rename;
use haul_sys::fs::{Kind, OpenHow, Stat, fstat, openat, statat, unlinkat};
use haul_sys::{Call, CallError, Errno};

use super::node::Entry;
use super::run::Run;
use crate::data::error::What;
use crate::data::monitor::Report;
use crate::names::path::{directory_of, split};

/// Removes the name of an entry that is not a directory, if the monitor approves the entry in its
/// present state. Returns `false` if the entry stays, which was reported. Fails with `EISDIR` if
/// the entry is a directory.
pub(super) fn unlink(run: &Run<'_>, entry: Entry<'_>) -> haul_sys::Result<bool> {
    if run.last_names.has(entry.name.to_bytes()) {
        // Another worker is removing the file, or has reported it.
        return Ok(false);
    }
    let mut stat = entry.stat()?;
    let _one_name_at_a_time = run.files.of(stat.ino);
    // A file with one name can no longer lose another name, and the lost ones are recorded.
    if stat.nlink > 1 {
        stat = entry.stat()?;
    }
    if stat.kind() == Kind::Directory {
        return Err(CallError::new(Call::Unlinkat, Errno::ISDIR));
    }
    // What the removal needs is there before the last check, so that nothing is between the two.
    run.last_names.prepare()?;
    let opened;
    let mut place = (entry.directory, entry.name, entry.parent.delete_profile.quirk.rename);
    if entry.parent.is_root() {
        // An operand's name is a path.
        let (path, leaf) = split(entry.name.to_bytes_with_nul());
        let known = run.delete_profiles.known(stat.dev).filter(|_| path.is_empty());
        if let Some(profile) = known {
            place.2 = profile.quirk.rename;
        } else {
            opened = openat(
                entry.directory,
                &directory_of(entry.name.to_bytes()),
                OpenHow::DIRECTORY_HANDLE,
            )?;
            let rename = run.delete_profiles.of(stat.dev, opened.as_fd()).quirk.rename;
            place = (opened.as_fd(), CStr::from_bytes_with_nul(leaf).unwrap_or(entry.name), rename);
            stat = entry.stat()?;
        }
    }
    if !run.approves(entry, &stat) {
        return Ok(false);
    }
    unlink_approved(run, entry, place, &stat)
}

/// Removes an entry in its directory, unless another file has its name by now or it has changed.
fn unlink_approved(
    run: &Run<'_>,
    entry: Entry<'_>,
    (directory, name, rename): (BorrowedFd<'_>, &CStr, Rename),
    stat: &Stat,
) -> haul_sys::Result<bool> {
    let aside = run.last_names.set_aside(directory, name, rename)?;
    let pinned = if stat.nlink > 1 { pin(directory, aside.name()).map(Some) } else { Ok(None) };
    let removed = pinned.and_then(|pinned| {
        let now = pinned.as_ref().map_or_else(|| aside.stat(), fstat)?;
        if is_still(stat, &now) { aside.remove().map(|()| Some(pinned)) } else { Ok(None) }
    });
    let error = match removed {
        Ok(Some(pinned)) => {
            pinned.iter().for_each(|pinned| record(run, stat, pinned));
            return Ok(true);
        }
        Ok(None) => None,
        Err(error) => Some(error),
    };
    if !restore(run, entry, aside) {
        return Ok(false);
    }
    if let Some(error) = error {
        return Err(error);
    }
    // Numbers that a file system makes from the names of its files follow the name.
    if statat(directory, name).is_ok_and(|now| is_still(stat, &now)) {
        return unlinkat(directory, name).map(|()| true);
    }
    run.fail(entry.parent, entry.name, What::Changed, None);
    Ok(false)
}

/// Returns whether a file that was set aside is the one that was approved, in the same state. The new name has
/// set its ctime.
fn is_still(approved: &Stat, now: &Stat) -> bool {
    let state = |stat: &Stat| (stat.size, stat.mtime, stat.mode, stat.uid, stat.gid);
    now.same_file(approved) && state(now) == state(approved)
}

/// Gives a file its name back. Reports a file that gets another one, and returns `false`.
fn restore(run: &Run<'_>, entry: Entry<'_>, aside: Aside<'_>) -> bool {
    match aside.give_back() {
        GivenBack::Own => true,
        GivenBack::Other(other) => {
            run.fail_kept(entry, &other);
            false
        }
    }
}

/// Opens one of several names of a file, to see the file after that name was removed.
fn pin(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<OwnedFd> {
    openat(directory, name, OpenHow::HANDLE)
}

/// Reports the new state of a file to the monitor after one of its names was removed.
fn record(run: &Run<'_>, before: &Stat, pinned: &OwnedFd) {
    // A FUSE file system that finds files by their paths has no path for the descriptor any more, and answers
    // ENOENT. The other names of the file are then in a state that nothing has recorded, and are compared with
    // their copies.
    if let Ok(after) = fstat(pinned)
        && after.same_file(before)
    {
        run.monitor.report(Report::Unlinked { before, after: &after });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::error::Failure;
    use crate::data::monitor::{Candidate, Control, Monitor, Proposal};
    use crate::data::request::{Recursion, Resources};
    use crate::remove::{self, Policy, Request};
    use haul_sys::sync::Mutex;
    use std::collections::HashSet;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
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
        fn report(&self, report: Report<'_>) {
            match report {
                Report::Failed(failure) => self.failures.lock().push(failure.clone()),
                Report::Unlinked { after, .. } => {
                    thread::sleep(Duration::from_millis(1));
                    self.states.lock().insert(state(after));
                }
                _ => {}
            }
        }

        fn agrees(&self, proposal: Proposal<'_>) -> bool {
            let Proposal::Remove(Candidate { stat, .. }) = proposal else { return false };
            stat.kind() == Kind::Directory || self.states.lock().contains(&state(stat))
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
            selection: None,
            only: None,
        };
        let stop = AtomicBool::new(false);
        remove::remove(&request, &known, &Control::new(&stop));
        assert_eq!(*known.failures.lock(), []);
        assert!(!tree.exists());
    }
}
