//! The operands that cross file systems: collected, copied together beside their targets, and
//! committed together.
//!
//! A common copy keeps all workers busy with many small files and preserves hard links among
//! operands. A common commit needs one wait for the storage instead of one per operand.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::last_check::LastNames;
use haul_sys::Errno;
use haul_sys::fs::{
    CWD, Follow, Kind, OpenHow, Stat, Time, birth_at, fstat, may_write_at, open_directory, openat,
    statat,
};

use super::adapter::{CopyAdapter, OperandState};
use super::approval::Copied;
use super::claim::{CLAIMED_DIRECTORIES, StaleCopy};
use super::durable::{Anchor, Trust};
use super::linked::LinkedFiles;
use super::made_names::MadeNames;
use super::nesting::Nesting;
use super::note::Inode;
use super::run::Run;
use super::target::Place;
use super::{note, stage};
use crate::copy::copied_entries::CopiedEntries;
use crate::copy::{Records, copy_planned};
use crate::data::error::What;
use crate::data::monitor::Outcome;
use crate::data::request::{
    Appearance, Borders, Consent, Dereference, Existing, Force, Keep, Links, Make, ModePolicy,
    Parents, Policy, Preserve, Recursion, Specials, Striping, Sync, TargetLinks,
};
use crate::metadata::owners::{Exchangeable, Owners};
use crate::names::by_identity::{Identity, identity};
use crate::names::path::{beside, join};
use crate::plan::backup;
use crate::plan::{Contents, Plan};
use haul_tree::Operand;
use haul_tree::is_empty;

/// Number of bytes of files that are copied before they are committed. A disk takes half a second
/// or more to write this much, so the wait for its journal is negligible.
const BATCH_BYTES: u64 = 1 << 30;

/// Number of operands that are copied before they are committed. Each takes some 300 bytes of
/// memory, and all of them share the wait for the storage.
const BATCH_OPERANDS: u64 = 16 << 10;

/// An operand whose rename would cross file systems.
pub(super) struct Newcomer<'a> {
    pub(super) source: &'a CStr,
    pub(super) place: &'a Place<'a>,
    pub(super) stat: Stat,
    /// State of the existing target.
    pub(super) there: Option<Stat>,
    pub(super) agreement: Agreement,
    pub(super) backs_up: bool,
}

/// Which existing target may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Any, whatever it becomes in the meantime.
    Any,
    /// The one that the policy compared with the source, or that the user was asked about.
    This,
}

/// An operand that is being moved.
pub(super) struct Moving {
    /// Path of the source as it was given.
    pub(super) source: CString,
    /// State of the source when it was examined.
    pub(super) stat: Stat,
    /// Final name.
    pub(super) name: CString,
    /// Hidden name of the waiting copy.
    pub(super) stage: CString,
    /// Final path for messages.
    pub(super) shown: Vec<u8>,
    /// Birth time of the source, if known.
    pub(super) birth: Option<Time>,
    /// State of the existing target that the operand replaces.
    pub(super) replaced: Option<Stat>,
    /// State of the existing target, if no other one may be replaced.
    pub(super) expected: Option<Stat>,
    pub(super) backs_up: bool,
    /// Lock that keeps other runs from the waiting directory.
    pub(super) claim: Option<OwnedFd>,
}

impl Moving {
    pub(super) fn is_directory(&self) -> bool {
        self.stat.kind() == Kind::Directory
    }

    /// Returns the identity of the source.
    pub(super) fn inode(&self) -> Inode {
        Inode { number: self.stat.ino, birth: self.birth }
    }

    /// Returns whether another operand can be, or contain, a name of the same file. Such operands
    /// are copied in one batch where possible: then no file is copied twice.
    fn may_share(&self) -> bool {
        self.is_directory() || self.stat.nlink > 1
    }
}

/// The directory that operands are copied into.
pub(super) struct Destination {
    /// Descriptor for operations on names.
    pub(super) directory: OwnedFd,
    pub(super) anchor: Anchor,
    /// Common prefix of the paths of all entries in the directory.
    pub(super) shown: CString,
    /// Whether other users may make and exchange entries in the directory.
    pub(super) exchangeable: Exchangeable,
}

impl Destination {
    /// Returns the path of a waiting copy.
    pub(super) fn waiting_path(&self, moving: &Moving) -> Vec<u8> {
        join(&[self.shown.to_bytes(), moving.stage.to_bytes()])
    }
}

/// Returns the waiting names of directories, and which directory has been claimed under each.
fn claimed(gathered: &[Moving]) -> HashMap<CString, Identity> {
    let claims = gathered.iter().filter_map(|moving| {
        let claimed = fstat(moving.claim.as_ref()?).ok()?;
        Some((moving.stage.clone(), identity(&claimed)))
    });
    claims.collect()
}

/// Operands that are being moved.
pub(super) struct Batch<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) destination: Option<Destination>,
    /// Operands that wait to be copied.
    gathered: Vec<Moving>,
    /// Operands that an interrupted run has copied and named, with sources that still exist.
    returned: Vec<Moving>,
    /// Number of the collected directories: each takes a descriptor when it is copied.
    directories: u64,
    /// Number and total size of the collected operands that are files with one name: these can be
    /// committed before the others.
    separable: u64,
    bytes: u64,
    /// Names that the collected operands get, and those of their backups.
    names: HashSet<CString>,
    nesting: Nesting,
    /// Files with several names that were moved in part.
    pub(super) linked: LinkedFiles,
    /// Final names of the operands that were moved, by a rename or a copy.
    pub(super) made: MadeNames,
    pub(super) owners: Owners,
    /// Names of waiting copies that are about to be removed.
    pub(super) last_names: LastNames,
}

impl<'r> Batch<'r> {
    pub(super) fn new(run: &'r Run<'r>) -> Batch<'r> {
        Batch {
            run,
            destination: None,
            gathered: Vec::new(),
            returned: Vec::new(),
            directories: 0,
            separable: 0,
            bytes: 0,
            names: HashSet::new(),
            nesting: Nesting::default(),
            linked: LinkedFiles::default(),
            made: MadeNames::default(),
            owners: Owners::of(&haul_sys::process::identity()),
            last_names: LastNames::default(),
        }
    }

    /// Returns whether a source or its target is related to an operand that is being moved.
    pub(super) fn is_met(&mut self, source: &CStr, place: &Place<'_>) -> bool {
        if self.gathered.is_empty() {
            return false;
        }
        let how = self.run.request.policy.backup.as_ref();
        let backup = how.and_then(|how| backup::simple_name(&place.name, how));
        if backup.iter().chain([&place.name]).any(|name| self.names.contains(name)) {
            return true;
        }
        // A collected operand may give its target this name, with any number.
        let numbered = how.and_then(|how| backup::numbered_from(&place.name, how));
        if numbered.is_some_and(|base| self.names.contains(&base)) {
            return true;
        }
        // A path that does not exist is related to no operand.
        statat(CWD, source).is_ok_and(|stat| self.nesting.is_nested(source, &stat))
    }

    /// Adds an operand, or refuses one that is certain to fail later.
    pub(super) fn add(&mut self, newcomer: &Newcomer<'_>) {
        let Newcomer { source, place, stat, there, agreement, backs_up } = newcomer;
        let selection = self.run.request.selection_number();
        let paths: (&[u8], &[u8]) = (source.to_bytes(), &place.shown);
        let fail = |what, errno| self.run.fail_unmoved(what, paths, errno);
        let (directory, name, shown) = match place.parent() {
            Ok(parent) => parent,
            Err(error) => return fail(What::Move, Some(error.errno)),
        };
        if stat.kind() != Kind::Directory && place.name.to_bytes().ends_with(b"/") {
            return fail(What::CreateFile, Some(Errno::NOTDIR));
        }
        let mut is_there = false;
        if let Some(there) = there
            && let Err(errno) = self.may_replace(directory.as_fd(), &name, there, *backs_up)
        {
            is_there = errno == Errno::NOTEMPTY
                && stat.kind() == Kind::Directory
                && note::tells_of(directory.as_fd(), &name, source, selection);
            if !is_there {
                return fail(What::RemoveTarget, Some(errno));
            }
        }
        if let (true, Some(how)) = (*backs_up, &self.run.request.policy.backup)
            && backup::would_destroy((source, stat), directory.as_fd(), &name, how)
        {
            return fail(What::BackupDestroysSource, None);
        }
        if self.destination.is_none() {
            let anchor = Anchor::new(directory.as_fd());
            match anchor.and_then(|anchor| Ok((anchor, fstat(&directory)?))) {
                Ok((anchor, stat)) => {
                    let exchangeable = self.owners.exchangeable(&stat);
                    self.destination = Some(Destination { directory, anchor, shown, exchangeable });
                }
                // An operand cannot be moved safely if the run cannot wait for its data to be
                // stable.
                Err(error) => return fail(What::Sync, Some(error.errno)),
            }
        }
        let birth = birth_at(CWD, source).ok().flatten();
        let moving = Moving {
            source: (*source).to_owned(),
            stat: *stat,
            stage: stage::name_for(stat, birth, &name, selection),
            name,
            birth,
            shown: place.shown.clone(),
            replaced: *there,
            expected: there.filter(|_| *agreement == Agreement::This),
            backs_up: *backs_up,
            claim: None,
        };
        if is_there {
            self.returned.push(moving);
            return;
        }
        self.names.insert(place.name.clone());
        if let (true, Some(how)) = (*backs_up, &self.run.request.policy.backup) {
            self.names.extend(backup::simple_name(&place.name, how));
        }
        self.gather(moving);
        if self.directories >= self.most_claims() {
            self.commit();
        } else if self.bytes >= BATCH_BYTES || self.separable >= BATCH_OPERANDS {
            self.cut();
        }
    }

    /// Returns how many directories, which take a descriptor each, may be copied at once.
    fn most_claims(&self) -> u64 {
        (self.run.request.resources.descriptors / 4).clamp(1, CLAIMED_DIRECTORIES)
    }

    fn gather(&mut self, moving: Moving) {
        self.nesting.add(&moving.source, &moving.stat, moving.is_directory());
        self.directories += u64::from(moving.is_directory());
        if !moving.may_share() {
            self.separable += 1;
            self.bytes = self.bytes.saturating_add(moving.stat.size);
        }
        self.gathered.push(moving);
    }

    /// Commits the files with one name only, because the batch has become large. All other
    /// operands wait for the last commit, so that the names of one file stay hard links.
    fn cut(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        let (waiting, separable): (Vec<_>, Vec<_>) =
            gathered.into_iter().partition(Moving::may_share);
        self.gathered = separable;
        let names = std::mem::take(&mut self.names);
        self.commit();
        self.names = names;
        waiting.into_iter().for_each(|moving| self.gather(moving));
    }

    /// Checks in advance for conditions that would keep a copy from its final name.
    fn may_replace(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        there: &Stat,
        backs_up: bool,
    ) -> Result<(), Errno> {
        if !self.run.request.policy.privileged {
            may_write_at(directory, c".").map_err(|error| error.errno)?;
        }
        if there.kind() == Kind::Directory
            && !backs_up
            && !is_empty(directory, name).map_err(|error| error.errno)?
        {
            return Err(Errno::NOTEMPTY);
        }
        Ok(())
    }

    /// Copies and commits the remaining operands.
    pub(super) fn finish(&mut self) {
        self.linked.is_last_batch = true;
        self.commit();
    }

    /// Copies the collected operands, waits until they are on stable storage, gives them their
    /// names, and removes the sources.
    pub(super) fn commit(&mut self) {
        let gathered = std::mem::take(&mut self.gathered);
        (self.directories, self.separable, self.bytes) = (0, 0, 0);
        self.names.clear();
        self.nesting = Nesting::default();
        let Some(destination) = self.destination.take() else { return };
        if !gathered.is_empty() {
            let mut copied = Copied::new();
            let operands = gathered.len();
            let complete = self.copy(&destination, gathered, &copied.entries);
            copied.has_failed_operands = complete.len() < operands;
            self.settle(&destination, complete, copied);
        }
        let returned = std::mem::take(&mut self.returned);
        if !returned.is_empty() {
            self.resume(&destination, &returned);
        }
        self.destination = Some(destination);
    }

    /// Copies operands to their waiting names and returns those that are complete.
    fn copy(
        &self,
        destination: &Destination,
        gathered: Vec<Moving>,
        copied: &CopiedEntries,
    ) -> Vec<Moving> {
        let run = self.run;
        let mut existing = Existing::Overwrite;
        let gathered: Vec<Moving> = gathered
            .into_iter()
            .filter_map(|mut moving| match self.find_stale(destination, &mut moving, copied) {
                StaleCopy::None => Some(moving),
                StaleCopy::Adopted => {
                    existing = Existing::Keep;
                    Some(moving)
                }
                StaleCopy::InTheWay => None,
            })
            .collect();
        if existing == Existing::Keep {
            // Directories may keep their verified content. Files may not, because adoption does
            // not examine them.
            let files = gathered.iter().filter(|moving| !moving.is_directory());
            files.for_each(|moving| self.unlink_waiting(destination, moving));
        }
        let operand_states: Vec<OperandState> = gathered
            .iter()
            .map(|moving| OperandState {
                waiting: destination.waiting_path(moving),
                shown: moving.shown.clone(),
                backup: self.backup_of(destination, moving),
                has_failed: AtomicBool::new(false),
            })
            .collect();
        let planned = open_directory(CWD, c".", Follow::No).and_then(|source| {
            let target = openat(&destination.directory, c".", OpenHow::HANDLE)?;
            let operands = gathered
                .iter()
                .map(|moving| Operand::whole(moving.source.clone(), moving.stage.clone()));
            Ok(Plan {
                operands: operands.collect(),
                source,
                target,
                target_name: destination.shown.clone(),
                shown: destination.shown.clone(),
                order: run.request.policy.order,
                contents: Contents::default(),
                backs_itself_up: false,
            })
        });
        match planned {
            Ok(plan) => {
                let adapter = CopyAdapter::new(run.monitor, run.control, &operand_states);
                let policy = Policy { existing, ..self.policy(destination.anchor.trust) };
                let control = &run.control.copying;
                let claimed = claimed(&gathered);
                let records =
                    Records { copied: Some(copied), claimed: Some(&claimed), ..Records::default() };
                copy_planned(
                    (&policy, run.request.resources),
                    plan,
                    records,
                    None,
                    &adapter,
                    control,
                );
            }
            Err(error) => {
                for moving in &gathered {
                    let paths = (moving.source.to_bytes(), moving.shown.as_slice());
                    run.fail(What::Move, paths, Some(error.errno));
                }
                return Vec::new();
            }
        }
        let (failed, complete): (Vec<_>, Vec<_>) = gathered
            .into_iter()
            .zip(&operand_states)
            .partition(|(_, state)| state.has_failed.load(Ordering::Relaxed));
        let failed: Vec<Moving> = failed.into_iter().map(|(moving, _)| moving).collect();
        self.take_away(destination, &failed, copied);
        let complete: Vec<Moving> = complete.into_iter().map(|(moving, _)| moving).collect();
        // A run that was stopped has left directories unfinished.
        if !run.control.is_stopped() {
            for moving in complete.iter().filter(|moving| moving.is_directory()) {
                self.tell_directory(destination, moving, Outcome::Copied);
            }
        }
        complete
    }

    /// Returns the path of the backup that the existing target becomes.
    pub(super) fn backup_of(&self, destination: &Destination, moving: &Moving) -> Option<Vec<u8>> {
        let how = self.run.request.policy.backup.as_ref().filter(|_| moving.backs_up)?;
        let (name, _) = backup::name_for(destination.directory.as_fd(), &moving.name, how).ok()?;
        Some(beside(&moving.shown, &name))
    }

    /// Returns a copy policy that keeps every attribute and reports those that cannot be kept.
    fn policy(&self, trust: Trust) -> Policy {
        let policy = &self.run.request.policy;
        Policy {
            recursion: Recursion::Yes,
            dereference: Dereference::Never,
            make: Make::Copy,
            specials: Specials::Recreate,
            preserve: Preserve {
                mode: ModePolicy::Keep,
                ownership: Keep::Warn,
                times: Keep::Warn,
                links: Links::Keep,
                xattr: Keep::Warn,
                context: Keep::Try,
                flags: Keep::Warn,
            },
            existing: Existing::Overwrite,
            consent: Consent::NotNeeded,
            backup: None,
            parents: Parents::Cut,
            // A taken waiting name belongs to an interrupted run or to an attacker: the copy never
            // writes to it.
            force: Force::First,
            target_links: TargetLinks::Strict,
            // The stage has a hidden name, and nothing in it has its final path until the stage is
            // complete.
            appearance: Appearance::Gradual,
            striping: Striping::Inherit,
            borders: Borders::Cross,
            selection: policy.selection.clone(),
            synchronize: None,
            data: policy.data.clone(),
            hashing: None,
            changed_retries: 0,
            sync: if trust == Trust::Each { Sync::Files } else { Sync::Groups },
            bytes_per_second: policy.bytes_per_second,
            order: policy.order,
            umask: policy.umask,
            privileged: policy.privileged,
        }
    }
}
