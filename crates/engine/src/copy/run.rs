//! State that all workers of a copy share.

use haul_sys::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::block_digests::{BlockDigests, Remember};
use haul_io::last_check::LastNames;
use haul_io::space::Space;
use haul_sys::Errno;
use haul_sys::fs::{Follow, Kind, Stat, open_directory};

use crate::copy::among_ranks::last_part::LastPart;
use crate::copy::among_ranks::routes::Routes;
use crate::copy::copied_entries::CopiedEntries;
use crate::copy::entry::Entry;
use crate::copy::group::CommitGroup;
use crate::copy::links::{LinkMap, Name};
use crate::copy::made_entries::{MadeEntries, Newcomer};
use crate::copy::node::OpenDirectories;
use crate::copy::node::{Node, Origin};
use crate::copy::node::{Side, of_entry, of_node};
use crate::copy::pairs::Pairs;
use crate::copy::pin_later::PinLater;
use crate::copy::turn::Turns;
use crate::data::budget::Budget;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::monitor::{Control, Event, Monitor, Outcome, Report};
use crate::data::request::{Changes, Make, Policy, TargetLinks, Verify};
use crate::data::selected;
use crate::journal::{Journal, Position, Secure};
use crate::metadata::owners::Owners;
use crate::metadata::{Kept, Lost};
use crate::names::by_identity::{Identity, Locks, identity};
use crate::names::file_systems::FileSystems;
use crate::names::path::{directory_of, split};
use crate::peers::state::PeerState;
use crate::sync::shared::Synchronized;

/// What a report about an entry has besides its kind.
#[derive(Default)]
pub(crate) struct Told<'a> {
    /// Name of the backup of the file that was replaced.
    pub(crate) backup: Option<&'a CStr>,
    pub(crate) changes: Option<Changes>,
    /// Path of the file of which the entry becomes another name.
    pub(crate) linked_to: Option<Vec<u8>>,
}

/// Number of locks on directories in which names are created. Directories share them; with 64 workers, one in sixteen
/// waits for a worker of another one.
pub(crate) const CREATE_LOCKS: usize = 1024;

/// State that all workers of a run share.
pub(crate) struct Run<'r> {
    pub(crate) policy: &'r Policy,
    /// Target as it was given.
    pub(crate) target: &'r CStr,
    pub(crate) monitor: &'r dyn Monitor,
    pub(crate) control: &'r Control<'r>,
    pub(crate) budget: Budget,
    pub(crate) cache: OpenDirectories,
    pub(crate) pairs: Pairs,
    /// Identities of the file systems, for records that a later run reads.
    pub(crate) file_systems: FileSystems,
    /// Flushes that make room for new files and names.
    pub(crate) space: Space,
    /// Rate limit that all workers share.
    pub(crate) pace: Option<haul_io::Pace>,
    pub(crate) links: LinkMap,
    /// Files and directories that become immutable or append-only at the end.
    pub(crate) pin_later: PinLater,
    /// Directories of the target that operands were copied to: none of them is copied again.
    pub(crate) made_roots: Mutex<Vec<Identity>>,
    /// Target names that operands were copied to, and the identity of the file or link under each, so that
    /// no second operand overwrites one of them.
    pub(crate) operand_names: Mutex<HashSet<(CString, Identity)>>,
    /// Entries of the target that the run has made or written to.
    pub(crate) made: MadeEntries,
    /// Locks that a worker holds while it creates names in a directory of the target. The kernel admits one at a
    /// time, and waiting here costs less than spinning there. A directory that a link or a mount makes a second
    /// one of the target has one lock, so that no other worker gives a name away between the decision about it and
    /// the call that makes it.
    pub(crate) creating: Locks,
    /// Identities of the operands, so that none is copied twice.
    pub(crate) operand_sources: Mutex<HashSet<(CString, Identity)>>,
    /// Whether there are several operands. With one operand, the records above are not needed.
    pub(crate) several_operands: bool,
    /// Hidden names for unfinished files that are about to be removed.
    pub(crate) last_names: LastNames,
    /// Turns of the files that several entries may lead to.
    pub(crate) turns: Arc<Turns>,
    /// Files that wait for a common flush.
    pub(crate) group: CommitGroup,
    /// Whether files without names can be created; true until an attempt fails.
    pub(crate) unnamed_files: AtomicBool,
    /// Whether a warning was already printed that a comparison used the page cache.
    pub(crate) warned_of_cache: AtomicBool,
    /// Journal that a later run resumes from, if requested.
    pub(crate) journal: Option<&'r Journal>,
    /// Whether the run has made the target directory.
    pub(crate) has_made_target: bool,
    /// State of a synchronisation, if the run is one.
    pub(crate) synchronized: Option<Synchronized<'r>>,
    /// Record of the complete entries, if a removal of the source follows.
    pub(crate) copied: Option<&'r CopiedEntries>,
    /// Directories that were made before under the target names of operands.
    pub(crate) claimed: Option<&'r HashMap<CString, Identity>>,
    /// State that the run shares with other processes, if several carry out the copy.
    pub(crate) peers: Option<PeerState>,
    /// The part of another process's file that was opened last.
    pub(crate) last_part: LastPart,
    /// Names of files with several names that other processes make.
    pub(crate) routes: Routes,
    /// User and group of the process.
    pub(crate) me: (u32, u32),
    /// Owners that file systems give to the files of the process.
    pub(crate) owners: Owners,
    /// Whether the monitor receives entries.
    pub(crate) tells_entries: bool,
    /// Whether the monitor receives copy methods.
    pub(crate) tells_moves: bool,
}

impl Run<'_> {
    /// Returns whether the run has to end.
    pub(crate) fn stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Returns whether complete files that wait for a flush are abandoned, because the user waits for
    /// the end of the run.
    pub(crate) fn abandons(&self) -> bool {
        self.stopped() && !self.completes_what_waits()
    }

    /// Returns whether a stopped run completes the files that wait for a flush. A job with a journal
    /// that ends before its allocation does has time for one flush, and the job that resumes it need
    /// not copy these files again.
    pub(crate) const fn completes_what_waits(&self) -> bool {
        self.peers.is_some() && self.journal.is_some()
    }

    /// Records that an entry of the source is complete in the target.
    pub(crate) fn note_copied(&self, stat: &Stat) {
        if let Some(copied) = self.copied {
            copied.insert(stat);
        }
    }

    /// Records the target file of an operand, or of a file with several names, when it is
    /// complete.
    pub(crate) fn note_target(
        &self,
        entry: &Entry<'_>,
        source: &Stat,
        describe: impl FnOnce() -> haul_sys::Result<Stat>,
    ) {
        if let Some(copied) = self.copied
            && (entry.is_operand() || source.nlink > 1)
            && let Ok(stat) = describe()
        {
            copied.insert_target(&stat);
        }
    }

    /// Makes a call that needs a descriptor. If none is free, closes the waiting directories and
    /// makes the call once more.
    pub(crate) fn with_descriptors<T>(
        &self,
        call: impl FnMut() -> haul_sys::Result<T>,
    ) -> haul_sys::Result<T> {
        self.cache.with_descriptors(call)
    }

    /// Makes a call that creates a file under a name, which may be a path, or without one (`c""`). If no
    /// descriptor or no space is free, closes waiting directories or flushes the file system, and makes the
    /// call again.
    pub(crate) fn creating<T>(
        &self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        mut call: impl FnMut() -> haul_sys::Result<T>,
    ) -> haul_sys::Result<T> {
        let call = || self.with_descriptors(&mut call);
        let name = name.to_bytes();
        if split(name).0.is_empty() {
            return self.space.retry(directory, || self.stopped(), call);
        }
        // A directory on the way of a path may be on another file system.
        let open = || open_directory(directory, &directory_of(name), Follow::Yes);
        self.space.retry_where(open, || self.stopped(), call)
    }

    /// Returns the directory that was made before under the target name of an operand, if one was.
    pub(crate) fn claimed(&self, parent: &Node, name: &CStr) -> Option<Identity> {
        self.claimed.filter(|_| parent.lists_operands)?.get(name).copied()
    }

    /// Records the file or link that an operand has created under a target name; a link itself.
    pub(crate) fn note_operand_name(&self, name: &CStr, described: haul_sys::Result<Stat>) {
        // `statat` of a new entry works. If it fails nevertheless, the exclusive creation remains
        // the only protection.
        if let (true, Ok(stat)) = (self.several_operands, described) {
            self.operand_names.lock().insert((name.to_owned(), identity(&stat)));
        }
    }

    /// Returns whether an operand was copied to this name and the name still belongs to the same
    /// file or link.
    pub(crate) fn is_operand_name(&self, name: &CStr, id: Identity) -> bool {
        self.several_operands && self.operand_names.lock().contains(&(name.to_owned(), id))
    }

    /// Records the identity of an operand. Returns `true` if an earlier operand has the same one.
    pub(crate) fn is_given_twice(&self, name: &CStr, id: Identity) -> bool {
        if !self.several_operands {
            return false;
        }
        let mut seen = self.operand_sources.lock();
        !seen.insert((name.to_owned(), id))
    }

    /// Returns whether the permission bits allow the user to write, as far as they alone decide.
    pub(crate) fn may_write(&self, stat: &Stat) -> bool {
        if self.policy.privileged || stat.kind() == Kind::Symlink {
            return true;
        }
        let bit = if stat.uid == self.me.0 {
            0o200
        } else if stat.gid == self.me.1 {
            0o020
        } else {
            0o002
        };
        stat.mode & bit != 0
    }

    /// Reports a failure, once.
    pub(crate) fn report(&self, failure: &Failure) {
        // The signal that stops a run also interrupts calls; that is not a failure.
        if failure.errno == Some(Errno::INTR) && self.stopped() {
            return;
        }
        let count = match failure.severity {
            Severity::Failure => &self.control.failures,
            Severity::Warning => &self.control.warnings,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.monitor.report(Report::Failed(failure));
    }

    /// Writes the pending records to the journal. If that fails, warns once and continues without
    /// a journal.
    pub(crate) fn write_journal(&self, secure: Secure) {
        let Some(journal) = self.journal else { return };
        if let Err(error) = journal.write_out(secure) {
            self.tell_of_journal(journal, What::JournalWrite, Some(error.errno));
        }
    }

    /// Reports a warning about the journal.
    pub(crate) fn tell_of_journal(&self, journal: &Journal, what: What, errno: Option<Errno>) {
        let (source, target) = (Vec::new(), journal.shown().to_vec());
        let severity = Severity::Warning;
        self.report(&Failure { operation: Operation::Copy, what, source, target, errno, severity });
    }

    /// Returns the position of a directory with this name in the tree.
    pub(crate) fn position_below(&self, parent: &Node, name: &CStr) -> Position {
        self.journal.map_or(0, |journal| journal.below(parent.position, name))
    }

    /// Returns whether targets are read again after they are written.
    pub(crate) fn reads_targets(&self) -> bool {
        self.policy.verify() != Verify::No
    }

    /// Returns whether other processes carry out the run, too.
    pub(crate) fn has_others(&self) -> bool {
        self.peers.as_ref().is_some_and(|peers| peers.count() > 1)
    }

    /// Creates the block digests of a file, if the policy requires them.
    pub(crate) fn digests(&self) -> Option<Arc<BlockDigests>> {
        let hashing = self.policy.hashing.filter(|_| self.policy.make == Make::Copy)?;
        let remember =
            if hashing.verify == Verify::No { Remember::Whole } else { Remember::Pieces };
        Some(Arc::new(BlockDigests::new(hashing.algorithm, remember)))
    }

    /// Reports a failure of the target as a whole.
    pub(crate) fn fail_root(&self, what: What, errno: Errno) {
        let (errno, severity) = (Some(errno), Severity::Failure);
        let target = self.target.to_bytes().to_vec();
        self.report(&Failure {
            operation: Operation::Copy,
            what,
            source: Vec::new(),
            target,
            errno,
            severity,
        });
    }

    /// Reports a failure of a directory whose entries are not all known.
    pub(crate) fn fail_unread(&self, node: &Node, what: What, errno: Errno) {
        selected::meet_all(&node.within);
        self.fail_node(node, what, Some(errno));
    }

    /// Reports a failure that concerns a directory itself.
    pub(crate) fn fail_node(&self, node: &Node, what: What, errno: Option<Errno>) {
        node.is_lacking.store(true, Ordering::Relaxed);
        self.report(&Failure {
            operation: Operation::Copy,
            what,
            source: of_node(node, Side::Source),
            target: of_node(node, Side::Target),
            errno,
            severity: Severity::Failure,
        });
    }
}

impl Entry<'_> {
    /// Returns whether only entries of one directory of the source come to the entry's directory: the run has
    /// made it, and no link of the target leads into it.
    pub(crate) fn is_alone(&self, run: &Run<'_>) -> bool {
        self.node.origin == Origin::Made && run.policy.target_links != TargetLinks::KeepDirectory
    }

    /// Returns whether another entry of the run may come to the same file of the target: in a directory that
    /// was there before, or among the operands.
    pub(crate) fn may_be_met(&self, run: &Run<'_>) -> bool {
        let may_be_met = if self.is_operand() { run.several_operands } else { !self.is_alone(run) };
        may_be_met && self.rest.is_none()
    }

    /// Returns the entry as one that comes to a file of the target with the bytes of a source.
    pub(crate) fn newcomer<'s>(&'s self, source: &'s Stat) -> Newcomer<'s> {
        Newcomer {
            directory: self.node.target_id,
            name: self.target,
            route: self.node.route,
            source,
        }
    }

    /// Records the file, link or directory that the entry has got as its target, so that no other entry gets
    /// it. `describe` is called only if that matters.
    pub(crate) fn note_made(
        &self,
        run: &Run<'_>,
        source: &Stat,
        describe: impl FnOnce() -> haul_sys::Result<Stat>,
    ) {
        if !self.may_be_met(run) {
            return;
        }
        let described = describe();
        if let Ok(stat) = &described {
            run.made.insert(identity(stat), self.newcomer(source));
        }
        if self.is_operand() {
            run.note_operand_name(self.target, described);
        }
    }

    /// Records a directory that the entry has found as its target: entries on other routes may share it.
    pub(crate) fn note_merged(&self, run: &Run<'_>, source: &Stat, target: &Stat) {
        if !self.may_be_met(run) {
            return;
        }
        run.made.insert_shared(identity(target), self.newcomer(source));
        if self.is_operand() {
            run.note_operand_name(self.target, Ok(*target));
        }
    }

    /// Gives an existing file of the target to the entry. Returns `false` if it belongs to another entry of
    /// the run, whose bytes would be lost. Devices and FIFOs belong to no entry.
    pub(crate) fn claims(&self, run: &Run<'_>, source: &Stat, file: &Stat) -> bool {
        let is_shared = file.kind() != Kind::Regular || !self.may_be_met(run);
        is_shared || !run.made.claim(identity(file), self.newcomer(source)).is_another()
    }

    pub(crate) fn fail(&self, run: &Run<'_>, what: What, errno: Option<Errno>) {
        self.report(run, what, errno, Severity::Failure);
    }

    /// Reports a failure of an entry that the run does not enter, if it is a directory.
    pub(crate) fn fail_unentered(&self, run: &Run<'_>, what: What, errno: Option<Errno>) {
        selected::meet_below(&self.node.within, self.source);
        self.fail(run, what, errno);
    }

    pub(crate) fn report(
        &self,
        run: &Run<'_>,
        what: What,
        errno: Option<Errno>,
        severity: Severity,
    ) {
        run.report(&Failure {
            operation: Operation::Copy,
            what,
            source: self.source_path(),
            target: self.target_path(),
            errno,
            severity,
        });
    }

    /// Reports attributes that the copy of a source lacks.
    pub(crate) fn lost(&self, run: &Run<'_>, source: &Stat, lost: Vec<Lost>) -> Kept {
        let mut kept = Kept::All;
        for lost in lost {
            if lost.severity == Severity::Failure {
                self.fail_lacking(run, source, lost.what, lost.errno);
                kept = Kept::NotAll;
            } else {
                self.report(run, lost.what, Some(lost.errno), lost.severity);
            }
        }
        kept
    }

    /// Reports a failure that leaves a copy without something of its source, and does not end it.
    pub(crate) fn fail_lacking(&self, run: &Run<'_>, source: &Stat, what: What, errno: Errno) {
        // Directories have no record: every run applies their attributes.
        if let Some(journal) = run.journal
            && source.kind() != Kind::Directory
        {
            journal.note_lacking(source);
        }
        self.fail(run, what, Some(errno));
    }

    pub(crate) fn tell(&self, run: &Run<'_>, outcome: Outcome, kind: Kind) {
        self.tell_backed_up(run, outcome, kind, None);
    }

    /// Reports an entry that is complete. One that lacks an attribute has been reported as a failure.
    pub(crate) fn tell_copied(
        &self,
        run: &Run<'_>,
        (kind, kept): (Kind, Kept),
        backup: Option<&CStr>,
    ) {
        if kept == Kept::All {
            self.tell_backed_up(run, Outcome::Copied, kind, backup);
        }
    }

    /// Reports an entry that replaces one that was renamed to a backup.
    pub(crate) fn tell_backed_up(
        &self,
        run: &Run<'_>,
        outcome: Outcome,
        kind: Kind,
        backup: Option<&CStr>,
    ) {
        self.tell_changed(run, outcome, kind, Told { backup, ..Told::default() });
    }

    /// Reports an entry, with what a synchronisation changes of it.
    pub(crate) fn tell_changed(&self, run: &Run<'_>, outcome: Outcome, kind: Kind, told: Told<'_>) {
        if run.tells_entries {
            let Told { backup, changes, linked_to } = told;
            let event = Event {
                outcome,
                kind,
                source: self.source_path(),
                target: self.target_path(),
                backup: backup.map(|name| of_entry(self.node, name, Side::Target)),
                changes,
                linked_to,
            };
            run.monitor.report(Report::Entry(&event));
        }
    }

    /// Reports that this entry could not become a hard link to one that was copied before.
    pub(crate) fn fail_link(&self, run: &Run<'_>, errno: Errno, first: &Name) {
        run.report(&Failure {
            operation: Operation::Copy,
            what: What::CreateHardLink,
            source: of_entry(&first.node, &first.name, Side::Target),
            target: self.target_path(),
            errno: Some(errno),
            severity: Severity::Failure,
        });
    }
}
