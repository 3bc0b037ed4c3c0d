//! A memory cgroup that is made for one command: with a limit, or with page cache that is bounded.
//!
//! A limit of a cgroup counts all memory of its processes: at the limit the kernel kills a process, or a call of it
//! fails. To bound the page cache alone there is none; the kernel is asked to reclaim what is above the bound, again
//! and again. In version 2 that is `memory.reclaim`; in version 1 a limit does it while it is set, which is no lower
//! than what the processes use then.
//!
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html>,
//! <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html>

use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::id;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};

use super::MemoryCgroups;
use crate::fs::pseudo::text;

/// The files of a version of cgroups.
#[derive(Debug)]
struct Files {
    /// What makes the kernel reclaim.
    reclaim: &'static str,
    limit: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` that add up to the page cache.
    cached: [&'static str; 2],
}

const VERSION_1: Files = Files {
    reclaim: "memory.limit_in_bytes",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: Files = Files {
    reclaim: "memory.reclaim",
    limit: "memory.max",
    used: "memory.current",
    cached: ["inactive_file", "active_file"],
};

/// Attempts to reclaim the pages of a group that has ended: some are busy for a moment.
const ATTEMPTS: u32 = 8;

/// More than any file of a cgroup has; `memory.stat` has about 2 KiB.
const FILE_BYTES: usize = 16 << 10;

/// What is bounded in a cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Bytes of the page cache; [`OwnCgroup::bound`] has to be called again and again.
    PageCache(u64),
    /// Bytes of all memory, which is a limit of the kernel's.
    Memory(u64),
}

/// A cgroup that was made for a command.
#[derive(Debug)]
pub struct OwnCgroup {
    path: PathBuf,
    /// The group of this process.
    own: PathBuf,
    files: &'static Files,
    bound: Bound,
}

impl OwnCgroup {
    /// Makes a group, whose name begins with a word. Fails where the process may make none.
    pub fn make(word: &str, bound: Bound) -> Result<OwnCgroup> {
        let groups = MemoryCgroups::of_process();
        let mut directories = groups.directories().iter().map(PathBuf::from);
        let Some(own) = directories.next() else {
            return Err(Error::new(ErrorKind::NotFound, "no memory cgroups are mounted"));
        };
        // In version 2 a group with processes has no groups with limits below it, but for the root.
        let (files, parents) = if groups.is_version_1() {
            (&VERSION_1, vec![own.clone()])
        } else {
            (&VERSION_2, directories.next().into_iter().chain([own.clone()]).collect())
        };
        let mut refused = Error::from(ErrorKind::NotFound);
        // Another process may have the same number in another namespace, or have left its group.
        let names = (0..ATTEMPTS).map(|attempt| format!("haul-{word}-{}-{attempt}", id()));
        for (parent, name) in
            parents.iter().flat_map(|parent| names.clone().map(move |name| (parent, name)))
        {
            let path = parent.join(name);
            let group = OwnCgroup { path, own: own.clone(), files, bound };
            let made = mkdirat(CWD, &group.path, Mode::from_raw_mode(0o755)).map_err(Error::from);
            let made = made.and_then(|()| {
                // In version 2 a group may have no files about memory.
                group.begin().inspect_err(|_| {
                    // What cannot be used is not left behind.
                    let _removed = group.remove();
                })
            });
            match made {
                Ok(()) => return Ok(group),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Sets a limit, or prepares for what reclaims.
    fn begin(&self) -> Result<()> {
        match self.bound {
            Bound::Memory(bytes) => self.write(self.files.limit, &bytes.to_string()),
            Bound::PageCache(_) => {
                self.open(self.files.reclaim)?;
                if self.is_version_1() {
                    // A limit would swap memory of the command out, too.
                    let _told = self.write("memory.swappiness", "0");
                }
                Ok(())
            }
        }
    }

    /// Returns where the group is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens one of its files, which is not created where it is missing.
    fn open(&self, name: &str) -> Result<OwnedFd> {
        open_to_write(&self.path.join(name))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        write(&self.open(name)?, text)
    }

    fn text(&self, name: &str) -> Option<String> {
        text(self.path.join(name).to_str()?, FILE_BYTES)
    }

    fn remove(&self) -> Result<()> {
        Ok(unlinkat(CWD, &self.path, AtFlags::REMOVEDIR)?)
    }

    /// Moves this process to the group that it was in before.
    fn go_back(&self, own: &str) -> Result<()> {
        write(&open_to_write(&self.own.join("cgroup.procs"))?, own)
    }

    fn is_version_1(&self) -> bool {
        self.files.reclaim == VERSION_1.reclaim
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.trim().parse().ok()
    }

    /// Returns the bytes of the page cache of the group.
    fn cached_bytes(&self) -> Option<u64> {
        let stat = self.text("memory.stat")?;
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        let cached = lines.filter(|(name, _)| self.files.cached.contains(name));
        Some(cached.filter_map(|(_, number)| number.parse::<u64>().ok()).sum())
    }

    /// Calls a function while this process is in the group: what it starts stays there. Fails if the process may not
    /// be moved; the function is not called then.
    pub fn inside<T>(&self, start: impl FnOnce() -> T) -> Result<T> {
        let own = id().to_string();
        self.write("cgroup.procs", &own)?;
        let started = start();
        // Where this is refused, the messages of this process are counted with the command.
        let _back = self.go_back(&own);
        Ok(started)
    }

    /// Has the kernel reclaim page cache in version 2, and no memory of the command, where it can be told so.
    fn reclaim(&self, bytes: u64) {
        let spares_memory = format!("{bytes} swappiness=0");
        if self.write(self.files.reclaim, &spares_memory).is_err_and(|error| {
            // What is short of pages to reclaim answers EAGAIN, and a kernel before Linux 6.11 EINVAL.
            error.kind() == ErrorKind::InvalidInput
        }) {
            let _reclaimed = self.write(self.files.reclaim, &bytes.to_string());
        }
    }

    /// Has the page cache above the bound reclaimed. Blocks while the kernel does so.
    pub fn bound(&self) {
        let Bound::PageCache(most) = self.bound else { return };
        let excess = self.cached_bytes().unwrap_or(0).saturating_sub(most);
        if excess == 0 {
            return;
        }
        // What the kernel cannot reclaim now is reclaimed the next time.
        if !self.is_version_1() {
            self.reclaim(excess);
        } else if let Some(used) = self.number(self.files.used) {
            let limit = used.saturating_sub(excess);
            let _reclaimed = self.write(self.files.reclaim, &limit.to_string());
            let _unlimited = self.write(self.files.reclaim, "-1");
        }
    }

    /// Drops the pages of the group and removes it. Returns whether it stays, because processes are left in it.
    #[must_use]
    pub fn end(self) -> bool {
        for _ in 0..ATTEMPTS {
            let cached = self.cached_bytes().unwrap_or(0);
            if cached == 0 {
                break;
            }
            // What is dirty cannot be dropped, and goes to the group above.
            let _reclaimed = if self.is_version_1() {
                self.write("memory.force_empty", "0")
            } else {
                self.reclaim(cached);
                Ok(())
            };
        }
        // If this process could not leave the group before, it is still in it.
        let _back = self.go_back(&id().to_string());
        self.remove().is_err()
    }
}

fn open_to_write(path: &Path) -> Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Writes a value, which the kernel takes as a whole or refuses.
fn write(file: &OwnedFd, text: &str) -> Result<()> {
    rustix::io::write(file, text.as_bytes())?;
    Ok(())
}
