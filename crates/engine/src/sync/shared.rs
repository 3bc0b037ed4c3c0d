//! State that the workers of a synchronisation share, in a run and in a rehearsal.

use std::collections::{HashMap, HashSet, hash_map};
use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::fs::{CWD, Kind, statat, statat_follow};
use haul_sys::sync::Mutex;
use haul_sys::{CallError, Errno};

use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::request::{Delete, Dereference, Keep, Policy, Preserve, Synchronize};
use crate::data::selected::{Protection, Selected};
use crate::names::by_identity::{Identity, identity};
use crate::plan::Plan;
use crate::remove::Mode;
use crate::remove::below::Below;
use crate::remove::limit::{Counts, Limit};
use crate::sync::extraneous::Holders;
use crate::sync::overlap::{Overlap, is_in};

/// State that the workers of a synchronisation share.
pub(crate) struct Synchronized<'r> {
    pub(crate) rules: &'r Synchronize,
    /// The policy without times, for kinds of entries that do not get them.
    timeless: Policy,
    removal: Option<Removal>,
    /// The target directory, if it exists.
    root: Option<Identity>,
    /// Paths in the target of the entries of several operands, and whether each is a directory.
    claimed: Option<Mutex<HashMap<Vec<u8>, bool>>>,
}

/// Whether an entry gets its name in the target, where several operands have entries of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameClaim {
    /// It does.
    Own,
    /// An earlier operand has an entry of this name, which stays.
    Earlier,
    /// An earlier operand has a directory of this name, too, whose attributes it gets.
    Shared,
    /// An earlier operand has a file where this one has a directory.
    Blocked,
}

/// What removing depends on.
struct Removal {
    /// Directories that contain a source: no removal enters them.
    holders: Holders,
    limit: Option<Limit>,
    /// Directories of the target that the run has entered. One that is met again, under another name, has entries of
    /// another source directory.
    entered: Mutex<HashSet<Identity>>,
}

impl<'r> Synchronized<'r> {
    /// Prepares the state of a run, if its policy synchronises. Fails if something may be removed, and the directories
    /// above a source cannot be examined.
    pub(crate) fn new(
        policy: &'r Policy,
        plan: &Plan,
    ) -> Result<Option<Synchronized<'r>>, Failure> {
        let Some(rules) = &policy.synchronize else { return Ok(None) };
        let preserve = Preserve { times: Keep::No, ..policy.preserve };
        let timeless = Policy { preserve, ..policy.clone() };
        let fail = |what, errno| Failure {
            operation: Operation::Copy,
            what,
            source: plan.operands.first().map_or(Vec::new(), |it| it.source.to_bytes().to_vec()),
            target: plan.shown.to_bytes().to_vec(),
            errno,
            severity: Severity::Failure,
        };
        let removes = rules.delete.is_some() || rules.clears_directories;
        let removal = if removes {
            let follows = policy.dereference != Dereference::Never;
            let (directories, files): (Vec<&CStr>, Vec<&CStr>) = plan
                .operands
                .iter()
                .map(|operand| &*operand.source)
                .partition(|source| follows || !is_link(source));
            let targets: Vec<&CStr> = std::iter::once(&*plan.shown)
                .chain(plan.operands.iter().map(|operand| &*operand.target))
                .collect();
            let overlap = Overlap::new(policy);
            if overlap.reaches(&directories, &targets) {
                return Err(fail(What::IntoItself, None));
            }
            let refused = |error: CallError| fail(What::Stat, Some(error.errno));
            let mut holders = Holders::of(&directories, &files).map_err(refused)?;
            for source in directories {
                holders.add(&overlap.mounts_below(source, &plan.shown));
            }
            Some(Removal {
                holders,
                limit: rules.delete.as_ref().and_then(|delete| delete.most).map(Limit::new),
                entered: Mutex::default(),
            })
        } else {
            None
        };
        let claimed = plan.contents.shares_names.then(Mutex::default);
        let root = statat_follow(&plan.source, &plan.shown).ok().map(|stat| identity(&stat));
        Ok(Some(Synchronized { rules, timeless, removal, root, claimed }))
    }

    /// Claims a name in the target for an entry. Of several operands, the first one with an entry of that name has it.
    pub(crate) fn claim(&self, path: impl FnOnce() -> Vec<u8>, kind: Kind) -> NameClaim {
        let Some(claimed) = &self.claimed else { return NameClaim::Own };
        let is_directory = kind == Kind::Directory;
        match claimed.lock().entry(path()) {
            hash_map::Entry::Vacant(entry) => {
                entry.insert(is_directory);
                NameClaim::Own
            }
            hash_map::Entry::Occupied(entry) => match (*entry.get(), is_directory) {
                (true, true) => NameClaim::Shared,
                (_, false) => NameClaim::Earlier,
                (false, true) => NameClaim::Blocked,
            },
        }
    }

    /// Returns the rules about removing, if the run removes what the source does not have.
    pub(crate) fn delete(&self) -> Option<&'r Delete> {
        self.rules.delete.as_ref()
    }

    /// Records a directory of the target that is entered. Fails with the reason if it must not be, in a run that removes:
    /// it is a source itself, or the run has been there already.
    pub(crate) fn enter(&self, target: Identity) -> Result<(), What> {
        let Some(removal) = self.removal.as_ref().filter(|_| self.rules.delete.is_some()) else {
            return Ok(());
        };
        if removal.holders.sources.contains(&target) {
            return Err(What::HoldsSource);
        }
        if removal.entered.lock().insert(target) { Ok(()) } else { Err(What::SharedTarget) }
    }

    /// Returns whether the run may remove anything but single files.
    pub(crate) fn removes(&self) -> bool {
        self.removal.is_some()
    }

    /// Fails with ELOOP if a directory to which a link of the target leads is not below the target: rsync(1) does not
    /// write there either.
    pub(crate) fn demand_below(&self, directory: &OwnedFd) -> Result<(), Errno> {
        let is_below = self.root.is_some_and(|root| is_in(directory, root) == Some(true));
        if is_below { Ok(()) } else { Err(Errno::LOOP) }
    }

    /// Returns the selection that protects entries from every removal.
    pub(crate) fn protected(&self) -> Option<&'r Selected> {
        self.removal.as_ref().and(self.rules.protected.as_ref())
    }

    /// Returns the removal of entries of a directory of the target, if the run may remove any.
    pub(crate) fn below<'a>(&'a self, doomed: Doomed<'a>, mode: Mode) -> Option<Below<'a>> {
        let removal = self.removal.as_ref()?;
        Some(Below {
            directory: doomed.directory,
            path: doomed.path,
            names: doomed.names,
            selection: self.protected(),
            within: doomed.within,
            kept: &removal.holders.all,
            limit: removal.limit.as_ref(),
            counts: doomed.counts,
            mode,
        })
    }

    /// Returns the policy for the attributes of entries of a kind, if they do not get the times of their sources.
    pub(crate) fn policy_without_times(&self, kind: Kind) -> Option<&Policy> {
        (!self.rules.keeps_times(kind)).then_some(&self.timeless)
    }

    /// Returns the number of entries that stay because of the limit on removals.
    pub(crate) fn not_deleted(&self) -> u64 {
        let limit = self.removal.as_ref().and_then(|removal| removal.limit.as_ref());
        limit.map_or(0, Limit::refused)
    }
}

/// Returns whether a path is a symbolic link itself. With a slash behind it, it is what it leads to.
fn is_link(path: &CStr) -> bool {
    statat(CWD, path).is_ok_and(|stat| stat.kind() == Kind::Symlink)
}

/// Entries of an open directory of the target that are to be removed.
#[derive(Clone, Copy)]
pub(crate) struct Doomed<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    /// Path of the directory for messages.
    pub(crate) path: &'a [u8],
    pub(crate) names: &'a [CString],
    /// Selection that protects entries of the directory.
    pub(crate) within: &'a Protection,
    pub(crate) counts: Counts,
}
