//! To which side of a run the call belongs in which a worker sleeps.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_engine::relocate;
use haul_engine::remove;
use haul_engine::request::Request;
use haul_sys::fs::{Activity, BlockDevice, Mount, descriptor_of, mount_id_of, mounts};

/// Descriptors of the standard streams, which are no side.
const STANDARD: std::ops::RangeInclusive<i32> = 0..=2;

/// A side of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Source,
    Target,
    /// Both by one call, which does not say which one it waits for.
    Both,
}

/// The operands of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operands {
    sources: Vec<PathBuf>,
    /// What a removal changes are its targets; it has no sources.
    targets: Vec<PathBuf>,
}

/// Operands beyond this number are not looked at: those of a shell's pattern are on one file system.
const OPERANDS_MAX: usize = 64;

impl Operands {
    pub(crate) fn of_copy(request: &Request) -> Operands {
        Operands {
            sources: paths(request.sources.iter()),
            targets: paths(std::iter::once(&request.target)),
        }
    }

    pub(crate) fn of_move(request: &relocate::Request) -> Operands {
        Operands {
            sources: paths(request.sources.iter()),
            targets: paths(std::iter::once(&request.target)),
        }
    }

    pub(crate) fn of_removal(request: &remove::Request) -> Operands {
        Operands { sources: Vec::new(), targets: paths(request.operands.iter()) }
    }

    /// Returns whether there is one side only.
    pub(super) fn is_removal(&self) -> bool {
        self.sources.is_empty()
    }
}

fn paths<'a>(names: impl Iterator<Item = &'a std::ffi::CString>) -> Vec<PathBuf> {
    names.take(OPERANDS_MAX).map(|name| OsStr::from_bytes(name.to_bytes()).into()).collect()
}

/// The mounts of both sides.
#[derive(Debug, Default)]
pub(super) struct Sides {
    sources: Vec<u64>,
    targets: Vec<u64>,
    has_source: bool,
}

impl Sides {
    /// Finds the mounts of the operands, and the devices below them. May block on a file system.
    pub(super) fn find(operands: &Operands) -> (Sides, Vec<BlockDevice>) {
        let of = |paths: &[PathBuf]| {
            let mut found: Vec<u64> = paths.iter().filter_map(|path| mount_of(path)).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let (sources, targets) = (of(&operands.sources), of(&operands.targets));
        let table = mounts().unwrap_or_default();
        let mut devices: Vec<BlockDevice> = Vec::new();
        for id in sources.iter().chain(&targets) {
            let mount = table.iter().find(|mount| mount.id == *id);
            if let Some(device) = mount.and_then(Mount::device)
                && !devices.contains(&device)
            {
                devices.push(device);
            }
        }
        (Sides { sources, targets, has_source: !operands.is_removal() }, devices)
    }

    /// Returns the side that a worker waits for; `None` if it waits for none.
    pub(super) fn of(&self, tid: u32, activity: Activity) -> Option<Side> {
        let side = |fd, by_call| {
            (!STANDARD.contains(&fd)).then(|| self.of_descriptor(descriptor_of(tid, fd), by_call))
        };
        let found = match activity {
            Activity::Running | Activity::Idle => None,
            Activity::Reads(fd) => side(fd, Side::Source),
            Activity::Changes(fd) => side(fd, Side::Target),
            // One of the two is a pipe within the process, if a splice waits for one side alone.
            Activity::Moves { from, to } => {
                match (self.is_on_a_side(tid, from), self.is_on_a_side(tid, to)) {
                    (true, false) => Some(Side::Source),
                    (false, true) => Some(Side::Target),
                    _ => Some(Side::Both),
                }
            }
            // A mapping is only ever made of a source.
            Activity::Page => Some(Side::Source),
            Activity::Requests => Some(Side::Both),
        };
        if self.has_source { found } else { found.map(|_| Side::Target) }
    }

    fn is_on_a_side(&self, tid: u32, fd: i32) -> bool {
        descriptor_of(tid, fd).is_some_and(|(_, mount)| {
            self.sources.contains(&mount) || self.targets.contains(&mount)
        })
    }

    /// Returns the side of an open file: by its mount, if that is of one side alone, or else by what is done with it.
    fn of_descriptor(&self, descriptor: Option<(i32, u64)>, by_call: Side) -> Side {
        /// The mode of an open file: 0 is for reading alone, see open(2).
        const ACCESS_MODE: i32 = 3;
        let Some((flags, mount)) = descriptor else { return by_call };
        match (self.sources.contains(&mount), self.targets.contains(&mount)) {
            (true, false) => Side::Source,
            (false, true) => Side::Target,
            _ if flags & ACCESS_MODE != 0 => Side::Target,
            _ => by_call,
        }
    }
}

/// Returns the mount of a path, or of the directory in which it will be made.
fn mount_of(path: &Path) -> Option<u64> {
    let parent = || match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    mount_id_of(path).or_else(|_| mount_id_of(&parent())).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: i32 = 0;
    const WRITTEN: i32 = 1;

    #[test]
    fn a_file_belongs_to_the_side_whose_mount_it_is_on() {
        let sides = Sides { sources: vec![1, 2], targets: vec![3], has_source: true };
        for (descriptor, by_call, expected) in [
            (Some((READ, 2)), Side::Target, Side::Source),
            (Some((READ, 3)), Side::Source, Side::Target),
            // A mount below the source.
            (Some((READ, 9)), Side::Source, Side::Source),
            (Some((WRITTEN, 9)), Side::Source, Side::Target),
            // It was closed meanwhile.
            (None, Side::Target, Side::Target),
        ] {
            assert_eq!(sides.of_descriptor(descriptor, by_call), expected, "{descriptor:?}");
        }
    }

    #[test]
    fn on_one_mount_the_call_decides() {
        let sides = Sides { sources: vec![1], targets: vec![1], has_source: true };
        for (descriptor, by_call, expected) in [
            ((READ, 1), Side::Source, Side::Source),
            ((READ, 1), Side::Target, Side::Target),
            ((WRITTEN, 1), Side::Source, Side::Target),
        ] {
            assert_eq!(sides.of_descriptor(Some(descriptor), by_call), expected);
        }
    }

    #[test]
    fn neither_a_person_nor_another_thread_is_a_side() {
        let sides = Sides { has_source: true, ..Sides::default() };
        for activity in [Activity::Reads(0), Activity::Changes(2), Activity::Idle] {
            assert_eq!(sides.of(0, activity), None, "{activity:?}");
        }
        let removal = Sides::default();
        assert_eq!(removal.of(0, Activity::Reads(-100)), Some(Side::Target));
        assert_eq!(removal.of(0, Activity::Changes(1)), None);
    }

    #[test]
    fn what_does_not_exist_yet_is_on_the_mount_of_its_directory() {
        let here = mount_of(Path::new("."));
        assert_eq!(mount_of(Path::new("a-name-that-nothing-has")), here);
        assert_eq!(mount_of(Path::new("/no/such/directory")), None);
    }
}
