//! Memory that this process may still take: what the machine has, what its control groups allow, and its limit on
//! address space. <https://docs.kernel.org/admin-guide/cgroup-v2.html>, cgroups(7), getrlimit(2).

use std::fs::read_to_string;
use std::path::Path;

use super::{available_bytes, page_bytes};
use crate::process::address_space_limit;

/// Names of the files of a version of control groups: limit, use, and the beginnings of lines that tell which
/// pages of it are of files, which the kernel takes back.
struct Files {
    limit: &'static str,
    usage: &'static str,
    reclaimable: [&'static str; 2],
}

const FIRST: Files = Files {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file ", "total_active_file "],
};

const SECOND: Files = Files {
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: ["inactive_file ", "active_file "],
};

/// Returns the bytes of memory that this process may still take; `u64::MAX` if nothing tells. Does not block.
#[must_use]
pub fn room_bytes() -> u64 {
    let machine = available_bytes().unwrap_or(u64::MAX);
    machine.min(group_bytes()).min(address_bytes())
}

/// Returns what is left of the limit on address space.
fn address_bytes() -> u64 {
    let limit = address_space_limit();
    let taken = read_to_string("/proc/self/statm").ok();
    let pages = taken.and_then(|text| text.split(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
    if limit == u64::MAX { limit } else { limit.saturating_sub(pages * page_bytes()) }
}

/// Returns what is left of the limits of this process's groups.
fn group_bytes() -> u64 {
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().filter_map(|line| {
        let (roots, path, files) = group(line)?;
        roots.iter().map(|root| left_below(Path::new(root), path, files)).min()
    });
    left.min().unwrap_or(u64::MAX)
}

/// Returns where the group of a line may be, and its files.
fn group(line: &str) -> Option<(&'static [&'static str], &str, &'static Files)> {
    let (_, rest) = line.split_once(':')?;
    let (controllers, path) = rest.split_once(':')?;
    match controllers {
        "" => Some((&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], path, &SECOND)),
        _ if controllers.split(',').any(|one| one == "memory") => {
            Some((&["/sys/fs/cgroup/memory"], path, &FIRST))
        }
        _ => None,
    }
}

/// Returns what is left in a group and in those above it. In a container the path may be one that only the host
/// has; the group is the root then.
fn left_below(root: &Path, path: &str, files: &Files) -> u64 {
    let mut group = root.join(path.trim_start_matches('/'));
    let mut left = u64::MAX;
    while group.starts_with(root) {
        left = left.min(left_in(&group, files).unwrap_or(u64::MAX));
        if !group.pop() {
            break;
        }
    }
    left
}

fn left_in(group: &Path, files: &Files) -> Option<u64> {
    let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = number(files.limit)?;
    let usage = number(files.usage)?;
    let statistics = read_to_string(group.join("memory.stat")).unwrap_or_default();
    let of_files = statistics.lines().filter_map(|line| {
        let count = files.reclaimable.iter().find_map(|name| line.strip_prefix(name))?;
        count.parse::<u64>().ok()
    });
    Some(limit.saturating_sub(usage.saturating_sub(of_files.sum())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_both_versions_are_found() {
        assert_eq!(group("0::/a/b").unwrap().1, "/a/b");
        assert_eq!(group("4:cpu,memory:/a:b").unwrap().1, "/a:b");
        assert!(group("1:cpu:/").is_none() && group("").is_none());
    }

    #[test]
    fn the_smallest_limit_of_all_groups_above_counts() {
        let root = std::env::temp_dir().join(format!("haul-room-{}", std::process::id()));
        let group = |path: &str, limit: &str, usage: &str, stat: &str| {
            let folder = root.join(path);
            std::fs::create_dir_all(&folder).unwrap();
            let files = [("memory.max", limit), ("memory.current", usage), ("memory.stat", stat)];
            for (name, text) in files {
                std::fs::write(folder.join(name), text).unwrap();
            }
        };
        group("a/b", "max\n", "70\n", "");
        assert_eq!(left_below(&root, "/a/b", &SECOND), u64::MAX);
        group("a", "100\n", "70\n", "inactive_file 20\nactive_file 5\nfile 50\n");
        assert_eq!(left_below(&root, "/a/b", &SECOND), 55);
        group("a/b", "50\n", "70\n", "inactive_file 30\n");
        assert_eq!(left_below(&root, "/a/b", &SECOND), 10);
        assert_eq!(left_below(&root, "/of/the/host", &SECOND), u64::MAX);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_process_may_take_some() {
        assert!(room_bytes() > 0);
    }
}
