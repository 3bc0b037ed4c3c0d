//! A memory cgroup whose page cache is bounded, for the processes of one command.
//!
//! The limit of a cgroup counts all memory of its processes, and only the page cache is to be bounded: at a limit the
//! kernel kills a process, or a call of it fails. So there is none; the kernel is asked to reclaim what is above the
//! bound, again and again. In version 2 that is `memory.reclaim`; in version 1 a limit does it while it is set, which
//! is no lower than what the processes use then.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::id;

use haul_sys::memory::MemoryCgroups;

/// The files of a version of cgroups.
#[derive(Debug)]
struct Files {
    /// What makes the kernel reclaim.
    reclaim: &'static str,
    used: &'static str,
    /// Lines of `memory.stat` that add up to the page cache.
    cached: [&'static str; 2],
}

const VERSION_1: Files = Files {
    reclaim: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
};

const VERSION_2: Files = Files {
    reclaim: "memory.reclaim",
    used: "memory.current",
    cached: ["inactive_file", "active_file"],
};

/// Attempts to reclaim the pages of a group that has ended: some are busy for a moment.
const ATTEMPTS: u32 = 8;

/// A cgroup that was made for a command.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// The group of this process.
    own: PathBuf,
    files: &'static Files,
    cache_bytes: u64,
}

impl Group {
    /// Makes a group with this many bytes of page cache. Fails where the process may make none.
    pub(super) fn make(cache_bytes: u64) -> Result<Group> {
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
        let names = (0..ATTEMPTS).map(|attempt| format!("haul-spare-{}-{attempt}", id()));
        for (parent, name) in
            parents.iter().flat_map(|parent| names.clone().map(move |name| (parent, name)))
        {
            let path = parent.join(name);
            let group = Group { path, own: own.clone(), files, cache_bytes };
            let made = fs::create_dir(&group.path).and_then(|()| {
                // In version 2 a group may have no files about memory.
                group.open(files.reclaim).map(drop).inspect_err(|_| {
                    // What cannot be used is not left behind.
                    let _removed = fs::remove_dir(&group.path);
                })
            });
            match made {
                Ok(()) => {
                    if group.is_version_1() {
                        // A limit would swap memory of the command out, too.
                        let _told = group.write("memory.swappiness", "0");
                    }
                    return Ok(group);
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }

    /// Returns where the group is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens one of its files, which is not created where it is missing.
    fn open(&self, name: &str) -> Result<fs::File> {
        fs::OpenOptions::new().write(true).open(self.path.join(name))
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        std::io::Write::write_all(&mut self.open(name)?, text.as_bytes())
    }

    fn is_version_1(&self) -> bool {
        self.files.reclaim == VERSION_1.reclaim
    }

    fn number(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.path.join(name)).ok()?.trim().parse().ok()
    }

    /// Returns the bytes of the page cache of the group.
    fn cached_bytes(&self) -> Option<u64> {
        let stat = fs::read_to_string(self.path.join("memory.stat")).ok()?;
        let lines = stat.lines().filter_map(|line| line.split_once(' '));
        let cached = lines.filter(|(name, _)| self.files.cached.contains(name));
        Some(cached.filter_map(|(_, number)| number.parse::<u64>().ok()).sum())
    }

    /// Calls a function while this process is in the group: what it starts stays there.
    pub(super) fn inside<T>(&self, start: impl FnOnce() -> T) -> Result<T> {
        let own = id().to_string();
        self.write("cgroup.procs", &own)?;
        let started = start();
        // Where this is refused, the messages of this process are counted with the command.
        let _back = fs::write(self.own.join("cgroup.procs"), &own);
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
    pub(super) fn bound(&self) {
        let excess = self.cached_bytes().unwrap_or(0).saturating_sub(self.cache_bytes);
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
    pub(super) fn end(self) -> bool {
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
        let _back = fs::write(self.own.join("cgroup.procs"), id().to_string());
        fs::remove_dir(&self.path).is_err()
    }
}
