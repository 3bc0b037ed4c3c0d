//! Memory cgroups: the limits of memory that hold for the process besides the machine's.
//!
//! <https://docs.kernel.org/admin-guide/cgroup-v2.html>,
//! <https://docs.kernel.org/admin-guide/cgroup-v1/memory.html>. A limit holds for everything below its
//! group, so every group from the process's own up to the root counts. The page cache that a process
//! fills is charged to its group, and is reclaimed within the group when the limit is reached.

use std::time::Duration;

use crate::fs::pseudo::text;
use crate::psi::Report;

/// More than any file of a cgroup has; `memory.stat` has about 2 KiB.
const FILE_BYTES: usize = 16 << 10;

/// More than the mount table of a machine with thousands of containers has.
const TABLE_BYTES: usize = 4 << 20;

/// The memory of a cgroup with a limit, or of the machine, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryState {
    /// Bytes that there are.
    pub limit_bytes: u64,
    /// Bytes that nothing uses, so that they can be filled without anything being reclaimed.
    pub free_bytes: u64,
    /// Bytes of the page cache, which the kernel reclaims if more than the free bytes are needed.
    pub cached_bytes: u64,
    /// The part of them that was not used again since it was read or written, which the kernel reclaims
    /// first.
    pub inactive_bytes: u64,
    /// Pages of files, since the start of the group or machine, that were read again soon after they had
    /// been reclaimed; `None` if the kernel does not report them.
    pub refaulted_pages: Option<u64>,
    /// Time for which at least one process waited for memory, since the start; `None` without
    /// [pressure stall information](https://docs.kernel.org/accounting/psi.html).
    pub stalled: Option<Duration>,
}

impl MemoryState {
    /// Returns the bytes that can be had without swapping.
    #[must_use]
    pub const fn available_bytes(&self) -> u64 {
        self.free_bytes.saturating_add(self.cached_bytes)
    }
}

/// The memory cgroups with the process in them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryCgroups {
    /// Directories, the innermost first.
    directories: Vec<String>,
    names: Option<&'static Names>,
}

/// The names of a version's files and of the lines of `memory.stat`.
#[derive(Debug, PartialEq, Eq)]
struct Names {
    /// Files that have a limit each; the lowest one counts.
    limits: &'static [&'static str],
    used: &'static str,
    /// Lines that add up to the page cache that can be reclaimed, the inactive part first.
    cached: [&'static str; 2],
    refaulted: &'static str,
    /// Version 1 has none.
    pressure: Option<&'static str>,
}

static VERSION_1: Names = Names {
    limits: &["memory.limit_in_bytes"],
    used: "memory.usage_in_bytes",
    cached: ["total_inactive_file", "total_active_file"],
    refaulted: "total_workingset_refault_file",
    pressure: None,
};

/// Above `memory.high` the kernel slows the group down and reclaims, so it is a limit like `memory.max`.
static VERSION_2: Names = Names {
    limits: &["memory.high", "memory.max"],
    used: "memory.current",
    cached: ["inactive_file", "active_file"],
    refaulted: "workingset_refault_file",
    pressure: Some("memory.pressure"),
};

impl MemoryCgroups {
    /// Finds the groups. Without /proc, or without a mounted hierarchy, there are none. Does not block.
    #[must_use]
    pub fn of_process() -> MemoryCgroups {
        let found = text("/proc/self/cgroup", FILE_BYTES).and_then(|groups| {
            let mounts = text("/proc/self/mountinfo", TABLE_BYTES)?;
            find(&groups, &mounts)
        });
        found.unwrap_or_default()
    }

    /// Returns the directories of the groups, that of the process's own first.
    #[must_use]
    pub fn directories(&self) -> &[String] {
        &self.directories
    }

    /// Returns whether they are those of version 1.
    #[must_use]
    pub fn is_version_1(&self) -> bool {
        self.names == Some(&VERSION_1)
    }

    /// Returns the states of the groups that have a limit, the innermost group first. Reads three to four
    /// files for each group; does not block.
    pub fn states(&self) -> impl Iterator<Item = MemoryState> + '_ {
        let names = self.names;
        self.directories.iter().filter_map(move |directory| state(directory, names?))
    }
}

fn state(directory: &str, names: &Names) -> Option<MemoryState> {
    let file = |name: &str| text(&format!("{directory}/{name}"), FILE_BYTES);
    let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
    // A group without a limit has the word `max`, or in version 1 a number near the largest there is.
    let limit = names.limits.iter().filter_map(|name| number(name)).min();
    let limit_bytes = limit.filter(|limit| *limit < u64::MAX >> 2)?;
    let used_bytes = number(names.used)?;
    let stat = file("memory.stat")?;
    let line = |name: &str| field(&stat, name);
    Some(MemoryState {
        limit_bytes,
        free_bytes: limit_bytes.saturating_sub(used_bytes),
        cached_bytes: names.cached.iter().filter_map(|name| line(name)).sum(),
        inactive_bytes: line(names.cached[0]).unwrap_or(0),
        refaulted_pages: line(names.refaulted),
        stalled: names.pressure.and_then(|name| stalled(&file(name)?)),
    })
}

/// Returns the time for which at least one task waited, from the text of a pressure file.
pub(super) fn stalled(text: &str) -> Option<Duration> {
    Report::parse(text).map(|report| report.some.total)
}

/// Returns the number of a line such as `inactive_file 4096`.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(key, _)| *key == name)?.1.trim().parse().ok()
}

/// Returns the groups, from the texts of /proc/self/cgroup and /proc/self/mountinfo.
fn find(groups: &str, mounts: &str) -> Option<MemoryCgroups> {
    let has_memory = |controllers: &str| controllers.split(',').any(|one| one == "memory");
    // `4:memory:/path` in version 1, `0::/path` in version 2; a machine may have both, and then the
    // controller of memory is in one of them.
    let path_of = |matches: &dyn Fn(&str) -> bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            matches(fields.next()?).then_some(fields.next()?)
        })
    };
    let (path, names) = match path_of(&has_memory) {
        Some(path) => (path, &VERSION_1),
        None => (path_of(&str::is_empty)?, &VERSION_2),
    };
    let (root, point) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let kind = after.next()?;
        let is_ours = match names.limits.len() {
            1 => kind == "cgroup" && after.nth(1).is_some_and(has_memory),
            _ => kind == "cgroup2",
        };
        let mut fields = before.split(' ').skip(3);
        is_ours.then_some((fields.next()?, fields.next()?))
    })?;
    // The mount shows the groups below its root. A path that begins with `..` lies outside of the
    // namespace's root.
    let below = path.strip_prefix(root.trim_end_matches('/'))?;
    if !(below.is_empty() || below.starts_with('/')) || below.starts_with("/..") {
        return None;
    }
    let mut directory = format!("{point}{}", below.trim_end_matches('/'));
    let mut directories = Vec::new();
    while directory.len() >= point.len() {
        directories.push(directory.clone());
        directory.truncate(directory.rfind('/')?);
    }
    Some(MemoryCgroups { directories, names: Some(names) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_version_that_has_the_controller_counts() {
        let found = find("9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n", MOUNTS).unwrap();
        let expected =
            ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"];
        assert_eq!(found.directories, expected);
        assert_eq!(found.names, Some(&VERSION_1));
        let found = find("0::/x.slice\n", MOUNTS).unwrap();
        assert_eq!(found.directories, ["/sys/fs/cgroup/unified/x.slice", "/sys/fs/cgroup/unified"]);
        assert_eq!(found.names, Some(&VERSION_2));
    }

    #[test]
    fn a_mount_of_a_part_shows_only_that_part() {
        let mounts = "35 31 0:32 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let found = find("4:memory:/docker/1\n", mounts).unwrap();
        assert_eq!(found.directories, ["/sys/fs/cgroup/memory"]);
        assert_eq!(find("4:memory:/docker/12\n", mounts), None);
        assert_eq!(find("0::/../other\n", MOUNTS), None);
        assert_eq!(find("4:memory:/\n", ""), None);
    }

    #[test]
    fn lines_are_found_by_their_whole_names() {
        let stat = "inactive_file 1\ntotal_inactive_file 2\n";
        assert_eq!(field(stat, "total_inactive_file"), Some(2));
        assert_eq!(field(stat, "inactive_file"), Some(1));
        assert_eq!(field(stat, "file"), None);
    }

    #[test]
    fn states_are_consistent() {
        for state in MemoryCgroups::of_process().states() {
            assert!(state.free_bytes <= state.limit_bytes, "{state:?}");
        }
    }
}
