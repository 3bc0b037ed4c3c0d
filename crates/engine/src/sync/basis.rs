//! Directories in which a synchronisation looks for what the target does not have: earlier snapshots, for example.
//!
//! A link to an entry there costs no bytes, so a snapshot of a tree that has hardly changed is made of names alone.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat, statat};
use haul_sys::sync::Mutex;

use crate::data::error::What;
use crate::data::request::{BasisUse, Changes, Links, Policy, Synchronize};
use crate::names::at::{At, Sides};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::split;
use crate::names::timestamp_precision::step_ns;
use crate::sync::compare::{Twins, compare};
use crate::sync::given::{TargetRoot, open_below};
use crate::sync::wanted::WantedAttributes;

/// Number of directories of the target whose counterparts stay open, all workers together, and of the descriptors that
/// these may take.
const OPEN: usize = 8;
const DESCRIPTORS: usize = 32;

/// How far an entry of another directory is what the target should get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// It has the same kind.
    Kind,
    /// It has the same content.
    Content,
    /// It has the same content and the same attributes.
    Exact,
}

/// An entry of another directory.
#[derive(Clone)]
pub(crate) struct Basis {
    pub(crate) directory: Arc<OwnedFd>,
    pub(crate) name: CString,
    pub(crate) stat: Stat,
    pub(crate) fit: Fit,
    /// In what the new entry differs from this one.
    pub(crate) changes: Changes,
}

/// An entry of the source that is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The path of its target, as messages show it.
    pub(crate) shown: &'a [u8],
    pub(crate) source: At<'a>,
    pub(crate) stat: &'a Stat,
    /// Whether the source's name is followed if it is a symbolic link.
    pub(crate) follow: Follow,
}

/// What is looked for in other directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// Nothing: what the target has is what the new entry is compared with.
    Nothing,
    /// A file that is the same as the source in everything, and replaces the one of the target.
    Exact,
    /// The entry that fits best.
    Best,
}

impl Search {
    /// Returns what is looked for, by rsync's rules, for an entry of this kind whose target name has an entry of another
    /// kind, or none.
    pub(crate) fn of(source: Kind, taken: Option<Kind>, purpose: BasisUse) -> Search {
        match (source, taken) {
            (_, None) => Search::Best,
            (Kind::Regular, Some(Kind::Regular)) if purpose == BasisUse::Copy => Search::Nothing,
            (Kind::Regular, Some(Kind::Regular)) => Search::Exact,
            (Kind::Directory, Some(Kind::Directory)) => Search::Nothing,
            (Kind::Regular | Kind::Directory, Some(_)) => Search::Best,
            _ => Search::Nothing,
        }
    }
}

/// The counterparts of a directory of the target, if they exist.
struct Counterparts {
    path: Vec<u8>,
    directories: Vec<Option<Arc<OwnedFd>>>,
}

/// Directories that are searched, and what is open of them.
pub(crate) struct OpenBases {
    pub(crate) purpose: BasisUse,
    root: TargetRoot,
    roots: Vec<OwnedFd>,
    open: Vec<Mutex<Option<Counterparts>>>,
    /// Which source has got a new name of a file, of files that have several names there.
    given: Mutex<HashMap<Identity, Identity>>,
}

impl OpenBases {
    /// Creates the search in open directories.
    pub(crate) fn new(purpose: BasisUse, root: TargetRoot, roots: Vec<OwnedFd>) -> OpenBases {
        let count = (DESCRIPTORS / roots.len().max(1)).clamp(1, OPEN);
        let open = std::iter::repeat_with(Mutex::default).take(count).collect();
        OpenBases { purpose, root, roots, open, given: Mutex::default() }
    }

    /// Returns the entry that fits best, the first one of several. Blocks while it reads files, if the rules compare
    /// contents. Fails with the action that failed.
    pub(crate) fn find(
        &self,
        wanted: Wanted<'_>,
        (attributes, rules): (&WantedAttributes<'_>, &Synchronize),
        policy: &Policy,
    ) -> Result<Option<Basis>, (What, Errno)> {
        let (parent, name) = split(self.root.below(wanted.shown));
        let name = CString::new(if name.is_empty() { b"." } else { name }).unwrap_or_default();
        let mut best: Option<Basis> = None;
        for directory in self.counterparts(parent).into_iter().flatten() {
            let Some(found) = self.look(wanted, &directory, &name, (attributes, rules), policy)?
            else {
                continue;
            };
            let is_better = best.as_ref().is_none_or(|best| best.fit < found.fit);
            let is_exact = found.fit == Fit::Exact;
            if is_better {
                best = Some(found);
            }
            if is_exact {
                break;
            }
        }
        Ok(best)
    }

    /// Describes the entry of one directory, if it has the kind of the source.
    fn look(
        &self,
        wanted: Wanted<'_>,
        directory: &Arc<OwnedFd>,
        name: &CStr,
        (attributes, rules): (&WantedAttributes<'_>, &Synchronize),
        policy: &Policy,
    ) -> Result<Option<Basis>, (What, Errno)> {
        let Ok(stat) = statat(&**directory, name) else { return Ok(None) };
        if stat.kind() != wanted.stat.kind() {
            return Ok(None);
        }
        let target = At { directory: directory.as_fd(), name };
        let source = &attributes.of(wanted.stat, Some((stat.uid, stat.gid)));
        let twins = Twins {
            sides: Sides { source: wanted.source, target },
            source,
            follow: wanted.follow,
            target: &stat,
            step_ns: step_ns(&stat, directory.as_fd()),
        };
        let compared = compare(twins, rules, policy)?;
        let fit = match (compared.is_same, compared.changes.are_of_attributes()) {
            (false, _) => Fit::Kind,
            (true, true) => Fit::Content,
            (true, false) => Fit::Exact,
        };
        let is_based = fit != Fit::Kind;
        let changes = Changes { is_based, ..compared.changes };
        Ok(Some(Basis {
            directory: Arc::clone(directory),
            name: name.to_owned(),
            stat,
            fit,
            changes,
        }))
    }

    /// Opens the counterparts of a directory of the target, unless they are open.
    fn counterparts(&self, path: &[u8]) -> Vec<Option<Arc<OwnedFd>>> {
        // Each directory has one of the places; two that want the same one take it in turn.
        let hash = path
            .iter()
            .fold(0_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        let mut open = self.open[hash % self.open.len()].lock();
        if let Some(known) = open.as_ref().filter(|known| known.path == path) {
            return known.directories.clone();
        }
        let directories: Vec<_> =
            self.roots.iter().map(|root| open_below(root, path).ok().map(Arc::new)).collect();
        *open = Some(Counterparts { path: path.to_vec(), directories: directories.clone() });
        directories
    }

    /// Returns whether a source may get a new name of a file. Where hard links are kept, the names of one file in the
    /// target are those of one file in the source.
    pub(crate) fn gives(&self, basis: &Basis, source: &Stat, policy: &Policy) -> bool {
        let is_single = policy.preserve.links != Links::Keep
            || basis.stat.nlink < 2
            || basis.stat.kind() == Kind::Directory;
        is_single
            || *self.given.lock().entry(identity(&basis.stat)).or_insert_with(|| identity(source))
                == identity(source)
    }
}
