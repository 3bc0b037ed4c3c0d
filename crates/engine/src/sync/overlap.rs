//! Finds out whether the target of a synchronisation lies in a source: what the source has there would be removed
//! before the run notices that it copies a directory into itself.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use haul_sys::fs::{CWD, Follow, Kind, Mount, OpenHow, fstat, mount_id, mounts, openat};

use crate::data::request::{Borders, Policy, Selected};
use crate::data::selected::of_operands;
use crate::decide::follows_links;
use crate::names::by_identity::{Identity, identity};
use crate::plan::overlap::place_of;

/// A directory as the mount table shows it.
struct Place {
    path: PathBuf,
    dev: u64,
    /// The file system, and the path on it.
    on: Option<((u32, u32), PathBuf)>,
}

/// The directories of a synchronisation on their mounts. Without /proc, identities have to do.
pub(crate) struct Overlap<'p> {
    policy: &'p Policy,
    table: Vec<Mount>,
}

impl<'p> Overlap<'p> {
    /// Reads the table of mounts.
    pub(crate) fn new(policy: &'p Policy) -> Overlap<'p> {
        Overlap { policy, table: mounts().unwrap_or_default() }
    }

    /// Returns whether one of the targets lies in one of the sources, under its path or another one that a mount gives
    /// it, and the run would reach it there: the selection does not leave it out, and no border is between. All are
    /// paths from the current directory; one that is no directory lies in none, and has none.
    pub(crate) fn reaches(&self, sources: &[&CStr], targets: &[&CStr]) -> bool {
        let known = |path: &&CStr| {
            let directory =
                openat(CWD, path, OpenHow::DIRECTORY_HANDLE.following(Follow::Yes)).ok()?;
            Some((self.place(&directory), directory, CString::from(*path)))
        };
        let targets: Vec<_> = targets.iter().filter_map(known).map(|it| (it.0, it.1)).collect();
        sources.iter().filter_map(known).any(|(from, source, name)| {
            targets.iter().any(|(to, target)| match (&from, to) {
                (Some(from), Some(to)) => self.is_reached((&name, from), to),
                _ => fstat(&source).is_ok_and(|own| is_in(target, identity(&own)).unwrap_or(true)),
            })
        })
    }

    /// Returns the mount points in a source that may show directories of the target: those of its file system.
    pub(crate) fn mounts_below(&self, source: &CStr, target: &CStr) -> Vec<PathBuf> {
        let place = |path: &CStr| {
            self.place(&openat(CWD, path, OpenHow::DIRECTORY_HANDLE.following(Follow::Yes)).ok()?)
        };
        let (Some(from), Some(Place { on: Some((numbers, _)), .. })) =
            (place(source), place(target))
        else {
            return Vec::new();
        };
        let is_below = |mount: &&Mount| {
            mount.numbers == numbers
                && mount.point != from.path
                && mount.point.starts_with(&from.path)
        };
        self.table.iter().filter(is_below).map(|mount| mount.point.clone()).collect()
    }

    /// Returns where an open directory is, if the kernel tells its path.
    fn place(&self, directory: &OwnedFd) -> Option<Place> {
        let path = place_of(directory.as_fd())?;
        let dev = fstat(directory).ok()?.dev;
        let id = mount_id(directory.as_fd(), c"").ok().flatten();
        let mount = id.and_then(|id| self.table.iter().find(|mount| mount.id == id));
        let on = mount.and_then(|mount| {
            let below = path.strip_prefix(&mount.point).ok()?;
            Some((mount.numbers, mount.root.join(below)))
        });
        Some(Place { path, dev, on })
    }

    fn is_reached(&self, (name, source): (&CStr, &Place), target: &Place) -> bool {
        if self.policy.borders == Borders::Stay && source.dev != target.dev {
            return false;
        }
        let ways = self.ways(source, target);
        // A link that is followed may be one more way.
        let selected = self.policy.selection.as_ref().filter(|_| !follows_links(self.policy));
        match selected {
            Some(selected) => ways.iter().any(|way| !is_left_out(name, way, selected)),
            None => !ways.is_empty(),
        }
    }

    /// Returns the paths below the source that lead to the target.
    fn ways(&self, source: &Place, target: &Place) -> Vec<PathBuf> {
        let own = target.path.strip_prefix(&source.path).ok().map(Path::to_owned);
        let Some((numbers, wanted)) = &target.on else { return own.into_iter().collect() };
        // The source itself, and what is mounted in it, with the path that leads there.
        let itself = source.on.clone().map(|(numbers, root)| (numbers, root, PathBuf::new()));
        let mounted = self.table.iter().filter_map(|mount| {
            let path = mount.point.strip_prefix(&source.path).ok()?;
            Some((mount.numbers, mount.root.clone(), path.to_owned()))
        });
        let shown = itself
            .into_iter()
            .chain(mounted)
            .filter(|(device, _, _)| device == numbers)
            .filter_map(|(_, root, path)| Some(path.join(wanted.strip_prefix(root).ok()?)));
        own.into_iter().chain(shown).collect()
    }
}

/// Returns whether a directory is another one, or lies in it; `None` if one above it cannot be opened.
pub(crate) fn is_in(directory: &OwnedFd, wanted: Identity) -> Option<bool> {
    let id = |directory: &OwnedFd| fstat(directory).map(|stat| identity(&stat)).ok();
    let mut at = id(directory)?;
    let mut above = openat(directory, c"..", OpenHow::DIRECTORY_HANDLE).ok()?;
    while at != wanted {
        let next = id(&above)?;
        // The root directory is its own parent.
        if next == at {
            return Some(false);
        }
        at = next;
        above = openat(&above, c"..", OpenHow::DIRECTORY_HANDLE).ok()?;
    }
    Some(true)
}

/// Returns whether the selection leaves out a directory on the way from a source to a path below it.
fn is_left_out(source: &CStr, path: &Path, selected: &Selected) -> bool {
    let opened = openat(CWD, source, OpenHow::DIRECTORY_HANDLE.following(Follow::Yes));
    let Ok(from) = opened else { return false };
    let Some(operands) = of_operands(Some(selected)) else { return false };
    if operands.choose_operand(CWD, source, Follow::Yes).is_excluded() {
        return true;
    }
    let Ok(mut within) = operands.enter_operand(source, &from) else { return false };
    let mut directory = from;
    for component in path.components() {
        let Ok(name) = CString::new(component.as_os_str().as_bytes()) else { return false };
        if within.choose(&directory, &name, Some(Kind::Directory), Follow::No).is_excluded() {
            return true;
        }
        let Ok(below) = openat(&directory, &name, OpenHow::DIRECTORY_HANDLE) else { return false };
        let Ok(entered) = within.enter(&name, &below) else { return false };
        (directory, within) = (below, entered);
    }
    false
}
