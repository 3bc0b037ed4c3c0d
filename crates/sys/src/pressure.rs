//! Pressure stall information: how long tasks waited for storage, processors or memory.
//!
//! <https://docs.kernel.org/accounting/psi.html>. The files of `/proc/pressure` are about all tasks of the
//! machine, those of a cgroup (version 2) about the tasks in it, such as a processor limit of a container makes
//! wait. A threshold that is written to an open file makes poll(2) report `POLLPRI` when tasks waited that long
//! within a window; before Linux 6.5 this takes `CAP_SYS_RESOURCE`, and since then a user without it may
//! have windows of whole multiples of 2 s.

mod busy_threads;

pub use crate::psi::{Report, Stalled};
pub use busy_threads::busy_threads;

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Errno;
use crate::data::{pread, write};
use crate::fs::{Access, CWD, Follow, OpenHow, openat};
use crate::memory::MemoryCgroups;
use crate::process::doze;

/// What tasks wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Requests to storage, and pages that are being read again.
    Storage,
    /// A processor.
    Processors,
    /// Memory that has to be reclaimed first.
    Memory,
}

impl Resource {
    /// All, with the names of their files.
    pub const ALL: [(Resource, &'static str); 3] =
        [(Resource::Storage, "io"), (Resource::Processors, "cpu"), (Resource::Memory, "memory")];
}

/// Whose tasks a file is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All tasks of the machine.
    Machine,
    /// The tasks in the cgroup of this process.
    Cgroup,
}

/// What one file says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stall {
    /// What was waited for.
    pub resource: Resource,
    /// Whose tasks waited.
    pub scope: Scope,
    /// Part of the last ten seconds in which at least one task waited, from 0 to 1.
    pub recent: f64,
    /// Time in which at least one task waited, since the machine or the cgroup was started.
    pub total: Duration,
}

/// The open files of the machine and of the process's cgroup: one descriptor for each.
#[derive(Debug)]
pub struct Pressure {
    files: Vec<PressureFile>,
    /// Whether each file has a threshold, which poll(2) reports.
    is_reported: bool,
}

#[derive(Debug)]
struct PressureFile {
    resource: Resource,
    scope: Scope,
    fd: OwnedFd,
}

/// More than a file has: two lines of about 60 bytes.
const FILE_BYTES: usize = 512;

/// Thresholds and windows in microseconds, the one that needs a privilege first: a tenth of the time.
const THRESHOLDS: [&str; 2] = ["some 100000 1000000", "some 200000 2000000"];

impl Pressure {
    /// Opens the files. `None` where the kernel has none (before 4.20, without `CONFIG_PSI`, or with `psi=0`), or
    /// none that this process may read.
    #[must_use]
    pub fn open() -> Option<Pressure> {
        let machine = Resource::ALL
            .map(|(resource, name)| (resource, Scope::Machine, format!("/proc/pressure/{name}")));
        let cgroups = MemoryCgroups::of_process();
        let own = cgroups.directories().first().filter(|_| !cgroups.is_version_1());
        let own = own.into_iter().flat_map(|directory| {
            Resource::ALL.map(|(resource, name)| {
                (resource, Scope::Cgroup, format!("{directory}/{name}.pressure"))
            })
        });
        let (mut files, mut is_reported) = (Vec::new(), true);
        for (resource, scope, path) in machine.into_iter().chain(own) {
            let to_write = open(&path, Access::ReadWrite);
            let may_write = to_write.is_some();
            let Some(fd) = to_write.or_else(|| open(&path, Access::Read)) else { continue };
            // With `psi=0` the files are there and cannot be read.
            if read(&fd).is_some() {
                is_reported &= may_write && set_threshold(&fd);
                files.push(PressureFile { resource, scope, fd });
            }
        }
        (!files.is_empty()).then_some(Pressure { files, is_reported })
    }

    /// Returns the number of descriptors.
    #[must_use]
    pub fn descriptors(&self) -> usize {
        self.files.len()
    }

    /// Returns what the files say now, without those that cannot be read any more. Does not block on I/O.
    #[must_use]
    pub fn stalls(&self) -> Vec<Stall> {
        let stall = |file: &PressureFile| {
            let Stalled { recent, total } = Report::parse(&read(&file.fd)?)?.some;
            Some(Stall { resource: file.resource, scope: file.scope, recent, total })
        };
        self.files.iter().filter_map(stall).collect()
    }

    /// Returns whether the kernel reports for each file when tasks wait, so that no program has to look.
    #[must_use]
    pub fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// Blocks until tasks waited for a tenth of the last window, and returns `true`, or for `most`. Where the
    /// kernel does not report that, or a signal arrives, returns `false` earlier or later.
    pub fn wait(&mut self, most: Duration) -> bool {
        if !self.is_reported {
            doze(most);
            return false;
        }
        let seconds = i64::try_from(most.as_secs()).unwrap_or(i64::MAX);
        let wait = Timespec { tv_sec: seconds, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut fds: Vec<_> =
            self.files.iter().map(|file| PollFd::new(&file.fd, PollFlags::PRI)).collect();
        let answer = poll(&mut fds, Some(&wait)).map(|_| ());
        let events: Vec<PollFlags> = fds.iter().map(PollFd::revents).collect();
        drop(fds);
        match outcome(answer, &events) {
            Outcome::Waited => true,
            Outcome::Quiet => false,
            Outcome::Lost => {
                self.is_reported = false;
                doze(most);
                false
            }
        }
    }
}

/// What a wait for thresholds has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Tasks waited.
    Waited,
    /// The time is over, or a signal arrived.
    Quiet,
    /// No later wait would be better: the cgroup was removed, or a filter refuses poll(2), or there are more
    /// thresholds than descriptors may be open now.
    Lost,
}

fn outcome(answer: rustix::io::Result<()>, events: &[PollFlags]) -> Outcome {
    match answer {
        Ok(()) if events.iter().any(|events| events.contains(PollFlags::ERR)) => Outcome::Lost,
        Ok(()) if events.iter().any(|events| !events.is_empty()) => Outcome::Waited,
        Ok(()) | Err(Errno::INTR) => Outcome::Quiet,
        Err(_) => Outcome::Lost,
    }
}

fn open(path: &str, access: Access) -> Option<OwnedFd> {
    let path = CString::new(path).ok()?;
    let how = OpenHow { access, ..OpenHow::READ }.following(Follow::Yes);
    openat(CWD, &path, how).ok()
}

/// Sets the first threshold that the kernel takes from this user, and returns whether there is one.
fn set_threshold(file: impl AsFd) -> bool {
    THRESHOLDS.iter().any(|threshold| {
        let text = CString::new(*threshold).unwrap_or_default();
        write(&file, text.as_bytes_with_nul()).is_ok()
    })
}

fn read(file: impl AsFd) -> Option<String> {
    let mut buffer = [0; FILE_BYTES];
    let filled = pread(file, &mut buffer, 0).ok()?;
    String::from_utf8(buffer[..filled].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_is_refused_is_not_tried_again() {
        let (none, waited, gone) = (PollFlags::empty(), PollFlags::PRI, PollFlags::ERR);
        for (answer, events, expected) in [
            (Ok(()), [none, none], Outcome::Quiet),
            (Ok(()), [none, waited], Outcome::Waited),
            (Ok(()), [gone, waited], Outcome::Lost),
            (Err(Errno::INTR), [none, none], Outcome::Quiet),
            (Err(Errno::PERM), [none, none], Outcome::Lost),
            (Err(Errno::INVAL), [none, none], Outcome::Lost),
        ] {
            assert_eq!(outcome(answer, &events), expected, "{answer:?} {events:?}");
        }
    }

    #[test]
    fn a_threshold_that_has_gone_is_given_up() {
        // The kernel reports an error of a pipe without a reader at once and each time, as of a removed cgroup.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let file = PressureFile {
            resource: Resource::Storage,
            scope: Scope::Cgroup,
            fd: OwnedFd::from(writer),
        };
        let mut pressure = Pressure { files: vec![file], is_reported: true };
        assert!(!pressure.wait(Duration::from_millis(1)));
        assert!(!pressure.is_reported(), "so the next wait is a sleep");
        assert_eq!(pressure.stalls(), []);
    }

    #[test]
    fn totals_never_fall() {
        let Some(pressure) = Pressure::open() else {
            println!("ignored: pressure stall information");
            return;
        };
        let (before, after) = (pressure.stalls(), pressure.stalls());
        // A file with a threshold is read by the same descriptor.
        assert_eq!(before.len(), pressure.descriptors());
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert_eq!((before.resource, before.scope), (after.resource, after.scope));
            assert!(before.total <= after.total, "{before:?}, {after:?}");
        }
    }
}
