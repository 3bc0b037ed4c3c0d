//! State that the workers of a synchronisation share, in a run and in a rehearsal.

use std::collections::{HashMap, HashSet, hash_map};
use std::ffi::{CStr, CString};
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::fs::{CWD, Kind, Stat, statat, statat_follow};
use haul_sys::sync::Mutex;
use haul_sys::{CallError, Errno};

use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::request::{
    Bases, BasisUse, Delete, Dereference, Keep, Policy, Preserve, Synchronize,
};
use crate::data::selected::{Protection, Selected};
use crate::decide::{Taken, follows_links};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::join;
use crate::plan::Plan;
use crate::remove::Mode;
use crate::remove::aside::Aside;
use crate::remove::below::Below;
use crate::remove::limit::{Counts, Limit};
use crate::sync::backups::OpenBackups;
use crate::sync::basis::{Basis, OpenBases, Search, Wanted};
use crate::sync::extraneous::{Holders, Refusal};
use crate::sync::given::{Missing, TargetRoot};
use crate::sync::overlap::{Overlap, is_in};
use crate::sync::wanted::WantedAttributes;
use haul_tree::Operand;

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
    /// Directories that may have what the target does not have.
    pub(crate) bases: Option<OpenBases>,
    /// Those of them that cannot be opened.
    pub(crate) missing_bases: Vec<CString>,
    pub(crate) backups: Option<OpenBackups>,
    /// The target, if it can be opened.
    target: Option<TargetRoot>,
    /// The attributes that targets are to have.
    pub(crate) attributes: WantedAttributes<'r>,
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

impl Removal {
    /// Finds out where nothing may be removed. Fails if the target is in a source.
    fn new(policy: &Policy, plan: &Plan) -> Result<Removal, Refusal> {
        let rules = policy.synchronize.as_ref();
        let follows = policy.dereference != Dereference::Never || follows_links(policy);
        let whole = |part: &CStr, rest: Option<&CStr>| {
            let rest = rest.map_or(&b""[..], CStr::to_bytes);
            CString::new(join(&[part.to_bytes(), rest])).unwrap_or_default()
        };
        let paths = |part: fn(&Operand) -> &CStr| -> Vec<CString> {
            plan.operands.iter().map(|it| whole(part(it), it.rest.as_deref())).collect()
        };
        let sources = paths(|operand| &operand.source);
        let (directories, files): (Vec<&CStr>, Vec<&CStr>) =
            sources.iter().map(|source| &**source).partition(|source| follows || !is_link(source));
        let own_targets = paths(|operand| &operand.target);
        let targets: Vec<&CStr> =
            std::iter::once(&*plan.shown).chain(own_targets.iter().map(|it| &**it)).collect();
        let overlap = Overlap::new(policy);
        if overlap.reaches(&directories, &targets) {
            return Err((What::IntoItself, None));
        }
        let refused = |error: CallError| (What::Stat, Some(error.errno));
        let mut holders = Holders::of(&directories, &files).map_err(refused)?;
        for source in directories {
            holders.add(&overlap.mounts_below(source, &plan.shown));
        }
        let most = rules.and_then(|rules| rules.delete.as_ref()?.most);
        Ok(Removal { holders, limit: most.map(Limit::new), entered: Mutex::default() })
    }
}

/// Opens the directories in which a run looks for entries; also returns those that it cannot open.
fn open_bases(bases: &Bases, root: TargetRoot) -> (Option<OpenBases>, Vec<CString>) {
    let mut missing = Vec::new();
    let mut open = Vec::new();
    for path in &bases.directories {
        match root.open(path, Missing::Fail) {
            Ok(directory) => open.push(directory),
            Err(_) => missing.push(path.clone()),
        }
    }
    let is_any = !open.is_empty();
    (is_any.then(|| OpenBases::new(bases.purpose, root, open)), missing)
}

impl<'r> Synchronized<'r> {
    /// Prepares the state of a run, if its policy synchronises. Fails if something may be removed, and the directories
    /// above a source cannot be examined.
    pub(crate) fn new(
        policy: &'r Policy,
        plan: &Plan,
        missing: Missing,
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
        let removal = removes.then(|| Removal::new(policy, plan)).transpose();
        let mut removal = removal.map_err(|(what, errno)| fail(what, errno))?;
        let refused = |error: CallError| fail(What::Backup, Some(error.errno));
        let root = || TargetRoot::of(plan).map_err(refused);
        let backups = match &rules.backups {
            Some(how) => Some(OpenBackups::open(how, root()?, missing).map_err(refused)?),
            None => None,
        };
        if let (Some(removal), Some(backups)) = (&mut removal, &backups) {
            removal.holders.all.extend(&backups.places);
        }
        let (bases, missing_bases) = match &rules.bases {
            Some(bases) => open_bases(bases, root()?),
            None => (None, Vec::new()),
        };
        let claimed = plan.contents.shares_names.then(Mutex::default);
        let root = statat_follow(&plan.source, &plan.shown).ok().map(|stat| identity(&stat));
        let opened = Synchronized {
            rules,
            timeless,
            removal,
            root,
            claimed,
            bases,
            missing_bases,
            backups,
            target: TargetRoot::of(plan).ok(),
            attributes: WantedAttributes::new(rules, policy.preserve.ownership),
        };
        Ok(Some(opened))
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

    /// Returns what the run does with entries that another directory has, if it looks for any.
    pub(crate) fn purpose(&self) -> Option<BasisUse> {
        self.bases.as_ref().map(|bases| bases.purpose)
    }

    /// Returns what is looked for in other directories.
    pub(crate) fn search(&self, source: &Stat, taken: Option<&Taken>) -> Search {
        let taken = taken.map(|taken| taken.link.kind());
        let search = |purpose| Search::of(source.kind(), taken, purpose);
        self.purpose().map_or(Search::Nothing, search)
    }

    /// Returns whether a source may get a new name of a file of another directory.
    pub(crate) fn gives(&self, basis: &Basis, source: &Stat, policy: &Policy) -> bool {
        self.bases.as_ref().is_some_and(|bases| bases.gives(basis, source, policy))
    }

    /// Finds the entry of another directory that fits best, if the run looks for one.
    pub(crate) fn find_basis(
        &self,
        wanted: Wanted<'_>,
        policy: &Policy,
    ) -> Result<Option<Basis>, (What, Errno)> {
        self.bases
            .as_ref()
            .map_or(Ok(None), |bases| bases.find(wanted, (&self.attributes, self.rules), policy))
    }

    /// Returns the path in the transfer of an entry whose target messages show under this path.
    pub(crate) fn path_of(&self, shown: &[u8]) -> Vec<u8> {
        let below = self.target.as_ref().map_or(shown, |target| target.below(shown));
        below.to_vec()
    }

    /// Returns the directories that stay because they have backups.
    pub(crate) fn places(&self) -> Option<&HashSet<Identity>> {
        self.backups.as_ref().map(|backups| &backups.places)
    }

    /// Returns the warnings about directories that are not searched, because they cannot be opened.
    pub(crate) fn missing_bases(&self) -> impl Iterator<Item = Failure> + '_ {
        self.missing_bases.iter().map(|path| Failure {
            operation: Operation::Copy,
            what: What::BasisMissing,
            source: Vec::new(),
            target: path.to_bytes().to_vec(),
            errno: None,
            severity: Severity::Warning,
        })
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
            aside: self.backups.as_ref().map(|backups| backups as &dyn Aside),
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
