//! Guards against removing the root directory under any name, guarded mount points, and file
//! systems that are mounted inside. They compare identities, not paths.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use haul_sys::Errno;
use haul_sys::fs::{CWD, Kind, mount_id, statat, statat_follow};

use super::node::Place;
use super::request::{Guard, MountPoints, Policy};
use crate::data::error::What;
use crate::data::request::{Borders, Recursion};
use crate::names::by_identity::identity;
use crate::names::path::{directory_of, split};
use haul_tree::Identity;

/// Returns the identity of the root directory if it is guarded. A directory with this identity is
/// not removed, even if its path is `/data/..` or a bind mount deep inside a tree.
pub(super) fn root(policy: &Policy) -> haul_sys::Result<Option<Identity>> {
    if policy.recursion == Recursion::No || policy.root == Guard::Off {
        return Ok(None);
    }
    statat(CWD, c"/").map(|stat| Some(identity(&stat)))
}

/// Returns whether the last component of a path is `.` or `..`.
pub(super) fn ends_in_dots(path: &CStr) -> bool {
    matches!(split(path.to_bytes()).1, b"." | b"..")
}

/// Returns the device and mount of an open directory.
pub(super) fn place(policy: &Policy, dev: u64, directory: impl AsFd) -> Place {
    let wanted = policy.borders == Borders::Stay;
    // A kernel without mount IDs leaves the device, which GNU rm compares.
    let mount = if wanted { mount_id(directory, c"").ok().flatten() } else { None };
    Place { dev, mount }
}

/// Returns whether a directory is beyond the limit of `--one-file-system`.
pub(super) fn is_beyond(policy: &Policy, top: Place, here: Place) -> bool {
    policy.borders == Borders::Stay && top != here
}

/// Checks whether an operand, a directory, is the root of a mount, if mount points are guarded.
pub(super) fn mount_point(policy: &Policy, operand: &CStr, dev: u64) -> Result<(), What> {
    match policy.mount_points {
        MountPoints::Emptied => Ok(()),
        MountPoints::Kept if is_mounted(operand, dev) => Err(What::MountKept),
        MountPoints::Kept => Ok(()),
        MountPoints::KeptAsAsked => mount_point_as_in_gnu(operand, dev),
    }
}

/// Returns whether a directory is on another mount than the directory that has its name. The last component
/// is neither `.` nor `..`. Makes two calls where the kernel has mount IDs (since 5.8).
fn is_mounted(operand: &CStr, dev: u64) -> bool {
    let parent = directory_of(operand.to_bytes());
    match (mount_id(CWD, &parent), mount_id(CWD, operand)) {
        (Ok(Some(above)), Ok(Some(here))) => above != here,
        // The parent may be a symbolic link.
        _ => statat_follow(CWD, &parent).is_ok_and(|above| above.dev != dev),
    }
}

/// Checks the same by the parent that the directory itself has; refuses it if that cannot be examined.
fn mount_point_as_in_gnu(operand: &CStr, dev: u64) -> Result<(), What> {
    let mut parent = operand.to_bytes().to_vec();
    parent.extend_from_slice(b"/..\0");
    let parent = CStr::from_bytes_with_nul(&parent).map_err(|_| What::StatParent)?;
    let stat = statat(CWD, parent).map_err(|_| What::StatParent)?;
    let mount = |path| mount_id(CWD, path).ok().flatten();
    if stat.dev == dev && mount(parent) == mount(operand) { Ok(()) } else { Err(What::MountPoint) }
}

/// Returns whether the removal of one operand cannot affect another one: their paths only descend, and none
/// of them begins with another one. Only then can several workers handle operands at once. Otherwise an
/// operand could lie in another one, or be reached through it, and then it would seem to be missing.
pub(super) fn are_independent(operands: &[CString]) -> bool {
    let [first, _, ..] = operands else { return true };
    let is_absolute = |path: &CStr| path.to_bytes().starts_with(b"/");
    let mut known = HashSet::new();
    let mut paths = Vec::with_capacity(operands.len());
    for operand in operands {
        if is_absolute(operand) != is_absolute(first) || !only_descends(operand, &mut known) {
            return false;
        }
        paths.push(names(operand).collect::<Vec<_>>());
    }
    paths.sort_unstable();
    // What begins with a path follows it at once.
    paths.windows(2).all(|pair| match pair {
        [one, next] => !one.is_empty() && !next.starts_with(one),
        _ => true,
    })
}

/// Returns the components of a path that are names, or `..`.
fn names(path: &CStr) -> impl Iterator<Item = &[u8]> {
    path.to_bytes().split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."))
}

/// Returns whether a path has no `..`, and leads through no symbolic link. Remembers the directories that it
/// leads through.
fn only_descends<'a>(path: &'a CStr, known: &mut HashSet<&'a [u8]>) -> bool {
    if names(path).any(|name| name == b"..") {
        return false;
    }
    let bytes = path.to_bytes();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| **byte == b'/' && *at > 0);
    ends.filter_map(|(end, _)| bytes.get(..end)).all(|directory| {
        if known.contains(directory) {
            return true;
        }
        let kind = CString::new(directory).map(|name| statat(CWD, &name).map(|stat| stat.kind()));
        let is_directory = match kind {
            Ok(Ok(kind)) => kind == Kind::Directory,
            // The operand does not exist either.
            Ok(Err(error)) => error.errno == Errno::NOENT,
            Err(_) => false,
        };
        is_directory && {
            known.insert(directory);
            true
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_seen_behind_any_slashes() {
        for path in [c".", c"..", c"./", c".///", c"a/..", c"a/../.", c"/.."] {
            assert!(ends_in_dots(path), "{path:?}");
        }
        for path in [c"", c"/", c"a", c".a", c"...", c"a/..b/", c"./a"] {
            assert!(!ends_in_dots(path), "{path:?}");
        }
    }

    #[test]
    fn paths_that_only_descend_into_different_places_are_independent() {
        let independent = |paths: &[&CStr]| {
            are_independent(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>())
        };
        assert!(independent(&[c"a", c"b/", c"c"]));
        assert!(independent(&[c"./a", c"./b"]));
        assert!(independent(&[c"/a", c"/b"]));
        assert!(independent(&[c"/proc/a", c"/proc/b"]));
        assert!(!independent(&[c"a", c"a/"]));
        assert!(!independent(&[c"a/b", c"a"]));
        assert!(!independent(&[c"x/..", c"x/b"]));
        assert!(independent(&[c"/proc/1/a", c"/proc/1x/b", c"/a", c"/proc/1/ab"]));
        assert!(!independent(&[c"./a//b", c"c", c"a"]), "one is in the other");
        assert!(!independent(&[c"/a", c"a"]), "they may be one");
        assert!(!independent(&[c".", c"a"]));
        assert!(!independent(&[c"/proc/self/", c"/proc/1"]), "a link with a slash");
        assert!(independent(&[c"/proc/self", c"/proc/1"]), "a link itself");
    }

    #[test]
    fn a_path_that_may_lead_through_an_operand_makes_it_dependent() {
        let independent = |paths: [&str; 2]| {
            are_independent(&paths.map(|path| CString::new(path).unwrap_or_default()))
        };
        assert!(!independent(["/proc/../a", "/proc/../b"]));
        assert!(!independent(["/proc/self/a", "/proc/self/b"]), "a symbolic link");
        assert!(!independent(["/proc/self/fd/a", "/proc/self/fd/b"]));
    }
}
