//! Removes entries of the target that the source does not have.
//!
//! Only what is certain counts: the source directory was read to its end, the name is still missing there when the
//! entry goes, no other spelling of a name of the source leads to it, and no directory is entered that contains the
//! source or is on another file system.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use haul_io::hidden::is_hidden_name;
use haul_sys::Errno;
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, fstat, mount_id, open_directory, openat, statat, try_lock,
};
use haul_tree::for_each_name;

use crate::data::error::What;
use crate::data::request::Delete;
use crate::data::selected::{Inside, Listing, Protection};
use crate::names::at::At;
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{directory_of, in_lower_case};
use crate::sync::given::is_one_of;
use crate::sync::pruned::has_entries;

/// Action that failed, and why.
pub(crate) type Refusal = (What, Option<Errno>);

/// A directory that is open on both sides, and the selection in it.
#[derive(Clone, Copy)]
pub(crate) struct Directories<'a> {
    pub(crate) source: BorrowedFd<'a>,
    pub(crate) target: BorrowedFd<'a>,
    /// Selection in the source.
    pub(crate) within: &'a Inside,
    /// Selection that protects entries of the target.
    pub(crate) protected: &'a Protection,
    /// Whether links of the source are followed.
    pub(crate) follow: Follow,
    /// Whether the source is an operand.
    pub(crate) is_operand: bool,
    pub(crate) way: TargetWay,
    /// Whether directories of the source count as missing that have nothing but directories.
    pub(crate) prunes: bool,
    /// Directories that stay, because they have backups.
    pub(crate) places: Option<&'a HashSet<Identity>>,
}

/// The way from an operand's directory in the target to one below it. Another mount, or a link, may lead to directories
/// of the source under other names, so nothing is removed behind one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetWay {
    /// All directories are on the mount of the operand's: its device and its number.
    Own(u64, u64),
    /// A mount is between.
    Mounted,
    /// A symbolic link is between.
    Linked,
}

impl TargetWay {
    /// The way where nothing is removed.
    pub(crate) const UNKNOWN: TargetWay = TargetWay::Own(0, 0);

    /// Fails if entries to which this way leads must not be removed.
    pub(crate) fn demand_own(self) -> Result<(), Refusal> {
        match self {
            TargetWay::Own(..) => Ok(()),
            TargetWay::Mounted => Err((What::OtherDevice, None)),
            TargetWay::Linked => Err((What::LinkedTarget, None)),
        }
    }

    /// Returns the way to an open directory, which is an operand's or lies in one to which `above` leads.
    pub(crate) fn to(
        directory: BorrowedFd<'_>,
        above: Option<TargetWay>,
        through_link: bool,
    ) -> TargetWay {
        let dev = fstat(directory).map_or(0, |stat| stat.dev);
        // Without a number, another view of the same file system is not told from this one.
        let Some(mount) = mount_id(directory, c"").ok().flatten() else {
            return TargetWay::Mounted;
        };
        let here = TargetWay::Own(dev, mount);
        match above {
            None | Some(TargetWay::Own(..)) if through_link => TargetWay::Linked,
            None => here,
            Some(above @ TargetWay::Own(..)) if above != here => TargetWay::Mounted,
            Some(above) => above,
        }
    }
}

/// Returns the names of the target's entries that the source does not have, sorted. Fails if one of the directories
/// cannot be read to its end, and if the source is an operand without any entry, unless the rules permit that.
pub(crate) fn extraneous(
    directories: Directories<'_>,
    delete: &Delete,
) -> Result<Vec<CString>, Refusal> {
    let Directories { source, target, .. } = directories;
    let mut theirs = Names::of(source).map_err(|error| (What::ReadDirectory, Some(error.errno)))?;
    // What a rule leaves out of the copy is not there. A rule that is not for the sender alone protects it below.
    let is_excluded = |name: &CStr| {
        let is_out = directories.within.as_deref().is_some_and(|within| {
            within.choose(source, name, None, directories.follow).is_excluded_by_rule()
        });
        is_out || (directories.prunes && is_pruned(directories, name))
    };
    let is_protected = |name: &CStr| directories.protected.protects(target, name);
    let mut found = Vec::new();
    for_each(target, |name| {
        if (!theirs.meet(name) || is_excluded(name)) && !is_protected(name) {
            found.push(name.to_owned());
        }
    })
    .map_err(|error| (What::OpenDirectory, Some(error.errno)))?;
    if found.is_empty() {
        return Ok(found);
    }
    directories.way.demand_own()?;
    if theirs.places.is_empty() && directories.is_operand && !delete.from_empty {
        return Err((What::SourceEmpty, None));
    }
    found.sort_unstable();
    // Where the file system ignores case, a name of the source may lead to an entry that has another spelling. A
    // description may be an older one there, so the names count, too.
    let respelled: Vec<(Identity, String)> = theirs
        .unmet()
        .filter_map(|name| Some((identity(&statat(target, name).ok()?), in_lower_case(name))))
        .collect();
    let (ids, names): (HashSet<Identity>, HashSet<String>) = respelled.into_iter().unzip();
    let mut sure = Vec::new();
    for name in found {
        let is_respelled = !ids.is_empty()
            && (names.contains(&in_lower_case(&name))
                || statat(target, &name).is_ok_and(|stat| ids.contains(&identity(&stat))));
        let is_place = directories.places.is_some_and(|places| is_one_of(places, target, &name));
        if is_place
            || is_respelled
            || is_in_use(target, &name)
            || !is_missing(source, &name, is_excluded)?
        {
            continue;
        }
        sure.push(name);
    }
    Ok(sure)
}

/// Returns whether a name of the source is that of a directory that is left out.
fn is_pruned(directories: Directories<'_>, name: &CStr) -> bool {
    let Directories { source, within, follow, .. } = directories;
    let is_directory = statat(source, name).is_ok_and(|stat| stat.kind() == Kind::Directory);
    is_directory
        && !has_entries(At { directory: source, name }, (within, Listing::Directory), follow)
}

/// Returns whether the source still does not have a name, or leaves it out.
fn is_missing(
    source: BorrowedFd<'_>,
    name: &CStr,
    is_excluded: impl Fn(&CStr) -> bool,
) -> Result<bool, Refusal> {
    match statat(source, name) {
        Ok(_) => Ok(is_excluded(name)),
        Err(error) if error.errno == Errno::NOENT => Ok(true),
        Err(error) => Err((What::Stat, Some(error.errno))),
    }
}

/// Calls a function for each name in a directory, from the first one on, through a descriptor of its own.
fn for_each(directory: BorrowedFd<'_>, mut see: impl FnMut(&CStr)) -> haul_sys::Result<()> {
    let own = open_directory(directory, c".", Follow::No)?;
    for_each_name(own, |entry| {
        see(entry.name);
        ControlFlow::Continue(())
    })
}

/// The names in a directory, and which of them the other directory has. A million names of ten bytes take 16 MB.
#[derive(Default)]
struct Names {
    /// All names, each with its NUL.
    bytes: Vec<u8>,
    /// Where each name begins, in the order of the names.
    places: Vec<usize>,
    is_met: Vec<bool>,
}

impl Names {
    /// Reads a directory to its end.
    fn of(directory: BorrowedFd<'_>) -> haul_sys::Result<Names> {
        let mut names = Names::default();
        for_each(directory, |name| {
            names.places.push(names.bytes.len());
            names.bytes.extend_from_slice(name.to_bytes_with_nul());
        })?;
        let Names { bytes, places, is_met } = &mut names;
        places.sort_unstable_by(|one, other| at(bytes, *one).cmp(at(bytes, *other)));
        is_met.resize(places.len(), false);
        Ok(names)
    }

    /// Returns whether a name is one of these, and remembers that.
    fn meet(&mut self, name: &CStr) -> bool {
        let Names { bytes, places, is_met } = self;
        let found = places.binary_search_by(|place| at(bytes, *place).cmp(name));
        found.is_ok_and(|index| {
            is_met[index] = true;
            true
        })
    }

    /// Returns the names that were not met.
    fn unmet(&self) -> impl Iterator<Item = &CStr> {
        self.places
            .iter()
            .zip(&self.is_met)
            .filter(|(_, is_met)| !**is_met)
            .map(|(place, _)| at(&self.bytes, *place))
    }
}

/// Returns the name that begins at a place.
fn at(bytes: &[u8], place: usize) -> &CStr {
    CStr::from_bytes_until_nul(&bytes[place..]).unwrap_or_default()
}

/// Returns whether a name is hidden, and another run is at work on its file.
fn is_in_use(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    is_hidden_name(name.to_bytes())
        && openat(directory, name, OpenHow::READ).is_ok_and(|file| try_lock(file.as_fd()).is_err())
}

/// Directories that no removal may enter, by identity.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    /// The sources that are directories.
    pub(crate) sources: HashSet<Identity>,
    /// These, and all directories that contain a source.
    pub(crate) all: HashSet<Identity>,
}

impl Holders {
    /// Finds the directories that contain sources: the ones that may be directories, and the others. Each source is a
    /// path from the current directory. Fails if one of them cannot be opened although its source exists.
    pub(crate) fn of(directories: &[&CStr], files: &[&CStr]) -> haul_sys::Result<Holders> {
        let mut holders = Holders::default();
        for source in directories {
            match openat(CWD, source, OpenHow::DIRECTORY_HANDLE.following(Follow::Yes)) {
                Ok(own) => {
                    holders.sources.insert(identity(&fstat(&own)?));
                    holders.climb(own)?;
                    // A link is followed, and leads elsewhere than to its own directory.
                    if let Ok(parent) = parent_of(source) {
                        holders.climb(parent)?;
                    }
                }
                Err(_) => holders.add_parent(source)?,
            }
        }
        files.iter().try_for_each(|source| holders.add_parent(source))?;
        Ok(holders)
    }

    /// Adds the directory of a source that is no directory itself: in it the source may seem to be extraneous.
    fn add_parent(&mut self, source: &CStr) -> haul_sys::Result<()> {
        match parent_of(source) {
            Ok(parent) => {
                self.sources.insert(identity(&fstat(&parent)?));
                self.climb(parent)
            }
            // What does not exist is reported when it is copied.
            Err(error) if error.errno == Errno::NOENT => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Adds directories that are seen in a source.
    pub(crate) fn add(&mut self, paths: &[PathBuf]) {
        for path in paths {
            let path = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
            if let Ok(stat) = statat(CWD, &path) {
                self.sources.insert(identity(&stat));
                self.all.insert(identity(&stat));
            }
        }
    }

    /// Adds a directory and those above it, up to the root, or to one that the user may not search: no removal of this
    /// user goes through that one.
    fn climb(&mut self, mut directory: OwnedFd) -> haul_sys::Result<()> {
        // The root directory is its own parent.
        while self.all.insert(identity(&fstat(&directory)?)) {
            directory = match openat(&directory, c"..", OpenHow::DIRECTORY_HANDLE) {
                Err(error) if error.errno == Errno::ACCESS => return Ok(()),
                parent => parent?,
            };
        }
        Ok(())
    }
}

/// Opens the directory that contains a source.
fn parent_of(source: &CStr) -> haul_sys::Result<OwnedFd> {
    openat(CWD, &directory_of(source.to_bytes()), OpenHow::DIRECTORY_HANDLE.following(Follow::Yes))
}
