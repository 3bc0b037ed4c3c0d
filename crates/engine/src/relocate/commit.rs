//! Commits waiting copies: first the data reaches stable storage, then the names do, and only then
//! the sources are removed.

use std::os::fd::AsFd;

use haul_io::quirk;
use haul_sys::Errno;
use haul_sys::fs::{Kind, RenameMode, Stat, fstat, renameat, statat};

use super::adapter::RemoveAdapter;
use super::approval::{Approval, Copied};
use super::batch::{Batch, Destination, Moving};
use super::control::Control;
use super::displace::displace;
use super::target::rename_new_at;
use super::{mark, note};
use crate::copy::copied_entries::CopiedEntries;
use crate::data::error::What;
use crate::data::request::{BackupKind, Recursion};
use crate::metadata::owners::Exchangeable;
use crate::names::path::trimmed;
use crate::remove;

/// Reason why a copy did not get its name.
type Refusal = (What, Option<Errno>);

impl Batch<'_> {
    /// Flushes copies to stable storage, gives them their names, and removes their sources.
    pub(super) fn settle(
        &mut self,
        destination: &Destination,
        complete: Vec<Moving>,
        copied: Copied,
    ) {
        if complete.is_empty() {
            return;
        }
        if self.run.control.is_stopped() {
            return self.take_away(destination, &complete, &copied.entries);
        }
        let operands = complete.len();
        let complete = self.take_notes(destination, complete, &copied.entries);
        Control::one(&self.run.control.batches);
        // Each file was flushed with its attributes before it counted as complete, and a rename makes its
        // name anew. Links, and directories with the attributes that they got last, were not.
        let is_flushed = complete.iter().all(|moving| moving.stat.kind() == Kind::Regular);
        let flushed = if is_flushed { Ok(()) } else { destination.anchor.copies() };
        if let Err(error) = flushed {
            for moving in &complete {
                self.fail(moving, What::Sync, Some(error.errno));
            }
            return self.take_away(destination, &complete, &copied.entries);
        }
        let (mut named, mut nameless) = (Vec::new(), Vec::new());
        for moving in complete {
            let answer = self
                .refuse_just_made(destination, &moving)
                .and_then(|()| self.name(destination, &moving, &copied.entries));
            match answer {
                Ok(named_file) => {
                    self.made.insert(moving.name.clone(), &named_file);
                    if let Some(replaced) = &moving.replaced {
                        self.made.insert_replaced(moving.name.clone(), replaced);
                    }
                    named.push(moving);
                }
                Err((what, errno)) => {
                    self.fail(&moving, what, errno);
                    nameless.push(moving);
                }
            }
        }
        self.take_away(destination, &nameless, &copied.entries);
        if named.is_empty() {
            return;
        }
        if let Err(error) = destination.anchor.names() {
            for moving in &named {
                self.fail(moving, What::Sync, Some(error.errno));
            }
            // A rerun must not conclude that only the removal remains.
            return self.discard_notes(destination, &named);
        }
        let has_failed_operands = copied.has_failed_operands || named.len() < operands;
        let copied = Copied { has_failed_operands, ..copied };
        self.remove(destination, &named, Some(&copied));
        let is_ours = |stat: &Stat| copied.entries.has_target(stat);
        self.linked.end_batch(destination.directory.as_fd(), is_ours);
    }

    /// Writes a note for each complete directory.
    fn take_notes(
        &self,
        destination: &Destination,
        complete: Vec<Moving>,
        copied: &CopiedEntries,
    ) -> Vec<Moving> {
        let (mut noted, mut lost) = (Vec::with_capacity(complete.len()), Vec::new());
        for moving in complete {
            let note = || {
                let directory = destination.directory.as_fd();
                note::write(directory, &moving.stage, &moving.source, moving.inode())
            };
            match if moving.is_directory() { note() } else { Ok(()) } {
                Ok(()) => noted.push(moving),
                Err(error) => {
                    self.fail(&moving, What::Note, Some(error.errno));
                    lost.push(moving);
                }
            }
        }
        self.take_away(destination, &lost, copied);
        noted
    }

    /// Resumes operands that an interrupted run has copied and named: removes the remaining
    /// entries of their sources that equal their copies.
    pub(super) fn resume(&self, destination: &Destination, returned: &[Moving]) {
        let lasts = destination.anchor.copies().and_then(|()| destination.anchor.names());
        match lasts {
            Ok(()) => self.remove(destination, returned, None),
            Err(error) => {
                for moving in returned {
                    self.fail(moving, What::Sync, Some(error.errno));
                }
            }
        }
    }

    /// Refuses a copy that would replace what the run has moved to the name or to the name of its backup
    /// since the operand was examined: on a file system that ignores case, names that differ are one.
    fn refuse_just_made(&self, destination: &Destination, moving: &Moving) -> Result<(), Refusal> {
        let directory = destination.directory.as_fd();
        let how = self.run.request.policy.backup.as_ref().filter(|_| moving.backs_up);
        let keeps_both = how.is_some_and(|how| how.kind == BackupKind::Numbered);
        let is_just_made = moving.replaced.is_some()
            && !keeps_both
            && statat(directory, &moving.name)
                .is_ok_and(|there| self.made.has(directory, &moving.name, &there));
        let backup = how.and_then(|how| self.made.backup_over(directory, &moving.name, how));
        if is_just_made || backup.is_some() { Err((What::JustCreated, None)) } else { Ok(()) }
    }

    /// Gives a copy its final name, and describes it. The rename replaces an existing target atomically, or a
    /// rename immediately before it gives the target its backup name.
    fn name(
        &self,
        destination: &Destination,
        moving: &Moving,
        copied: &CopiedEntries,
    ) -> Result<Stat, Refusal> {
        let directory = destination.directory.as_fd();
        let waiting =
            statat(directory, &moving.stage).map_err(|error| (What::Move, Some(error.errno)))?;
        // A second run of the same command uses the same waiting name.
        let is_ours = match (&moving.claim, waiting.kind()) {
            (Some(claim), _) => fstat(claim).is_ok_and(|claimed| claimed.same_file(&waiting)),
            (None, Kind::Regular) => copied.has_target(&waiting),
            (None, _) => true,
        };
        if !is_ours {
            return Err((What::Move, Some(Errno::STALE)));
        }
        if let Some(expected) = &moving.expected
            && statat(directory, &moving.name).is_ok_and(|now| has_changed(expected, &now))
        {
            return Err((What::TargetChanged, None));
        }
        if let (Some(claim), Exchangeable::Yes) = (&moving.claim, destination.exchangeable) {
            mark::remove(claim).map_err(|error| (What::Move, Some(error.errno)))?;
        }
        self.give_name(destination, moving)?;
        match statat(directory, &moving.name) {
            Ok(named) if named.same_file(&waiting) => Ok(named),
            Ok(_) => Err((What::Move, Some(Errno::STALE))),
            Err(error) => Err((What::Move, Some(error.errno))),
        }
    }

    fn give_name(&self, destination: &Destination, moving: &Moving) -> Result<(), Refusal> {
        let directory = destination.directory.as_fd();
        let displaced = match &self.run.request.policy.backup {
            Some(how) if moving.backs_up => displace(directory, &moving.name, how)
                .map_err(|error| (What::Backup, Some(error.errno)))?,
            _ => None,
        };
        let Some(displaced) = displaced else {
            if moving.replaced.is_none() {
                return rename_new_at(directory, &moving.stage, directory, &moving.name)
                    .map_err(|errno| (What::Move, Some(errno)));
            }
            let mode = RenameMode::Replace;
            return renameat(directory, &moving.stage, directory, &moving.name, mode)
                .map_err(|error| (What::RemoveTarget, Some(error.errno)));
        };
        match rename_new_at(directory, &moving.stage, directory, &moving.name) {
            Ok(()) => {
                displaced.complete();
                Ok(())
            }
            Err(errno) => {
                if let Err(error) = displaced.undo() {
                    self.fail(moving, What::RestoreBackup, Some(error.errno));
                }
                Err((What::Move, Some(errno)))
            }
        }
    }

    /// Removes the sources of operands that have their final names: each entry only if it still is
    /// in the state that was copied.
    fn remove(&self, destination: &Destination, named: &[Moving], copied: Option<&Copied>) {
        let run = self.run;
        let copy = |moving: &Moving| {
            let source = trimmed(moving.source.to_bytes()).to_vec();
            (source, trimmed(moving.name.to_bytes()).to_vec())
        };
        let request = remove::Request {
            operands: named.iter().map(|moving| moving.source.clone()).collect(),
            policy: remove::Policy {
                recursion: Recursion::Yes,
                order: run.request.policy.order,
                approval: remove::Approval::Each,
                privileged: run.request.policy.privileged,
                ..remove::Policy::PLAIN
            },
            resources: run.request.removing,
            selection: run.request.policy.selection.clone(),
            only: None,
        };
        let copies = named.iter().map(copy).collect();
        let directory = destination.directory.as_fd();
        let evidence = quirk::of(directory).evidence;
        let approval = Approval { copied, directory, copies, linked: &self.linked, evidence };
        let shown = destination.shown.to_bytes();
        let adapter = RemoveAdapter { monitor: run.monitor, control: run.control, approval, shown };
        remove::remove(&request, &adapter, &run.control.removing);
        // After an interruption a rerun needs the notes. A refused removal was reported, and needs
        // no note.
        if run.control.is_stopped() {
            return;
        }
        self.discard_notes(destination, named);
    }

    fn discard_notes(&self, destination: &Destination, named: &[Moving]) {
        for moving in named.iter().filter(|moving| moving.is_directory()) {
            if let Err(error) = note::remove(destination.directory.as_fd(), &moving.stage) {
                self.fail(moving, What::Note, Some(error.errno));
            }
        }
    }

    pub(super) fn fail(&self, moving: &Moving, what: What, errno: Option<Errno>) {
        self.run.fail(what, (moving.source.to_bytes(), &moving.shown), errno);
    }
}

/// Returns whether a target is another file than it was, or has other bytes. The entries of a
/// directory do not matter: only an empty one can be replaced.
fn has_changed(before: &Stat, now: &Stat) -> bool {
    if !now.same_file(before) {
        return true;
    }
    // This run changes the ctime of a file with several names if it replaces or renames another one.
    let is_same_ctime = now.ctime == before.ctime || before.nlink > 1 || now.nlink > 1;
    let is_same = (now.size, now.mtime) == (before.size, before.mtime) && is_same_ctime;
    now.kind() != Kind::Directory && !is_same
}
