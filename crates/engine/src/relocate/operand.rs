//! Moves one operand: renames it if possible, refuses it if necessary, otherwise adds it to the
//! batch that is copied.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use haul_io::last_check::left_of;
use haul_sys::Errno;
use haul_sys::fs::{
    CWD, Follow, Kind, RenameMode, Stat, is_pinned_at, may_write_at, openat, readlinkat, renameat,
    statat, statat_follow,
};

use super::batch::{Agreement, Batch, Newcomer};
use super::control::Control;
use super::decide::{Action, Pair, before_asking, decide, is_older};
use super::displace::{Displaced, displace};
use super::request::{Across, Mode, Unasked};
use super::run::{Run, Way};
use super::target::{Place, Renamed, rename_new, rename_new_at};
use crate::copy::cut_short::holds_nothing_else;
use crate::copy::existing::is_one_entry;
use crate::data::error::What;
use crate::data::monitor::{Detail, Event, Outcome, PromptReason, Proposal, Question, Report};
use crate::data::request::Existing;
use crate::names::at::{At, DIRECTORY, Sides};
use crate::names::by_identity::Identity;
use crate::names::by_identity::identity;
use crate::names::path::{beside, split};
use crate::names::timestamp_precision;
use crate::plan::backup;

/// An operand of a move, and the place that it moves to.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    pub(super) source: &'a CStr,
    pub(super) place: &'a Place<'a>,
    /// Whether no operand follows, so that the run need not remember this one.
    pub(super) is_last: bool,
}

/// Marks an operand as finished; its reports have been made.
struct Settled;

/// State of a run between its operands.
pub(super) struct Mover<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) batch: Batch<'r>,
    /// Directories that the user asked to move into themselves, with their targets.
    pub(super) into_themselves: HashSet<(CString, Identity)>,
    /// Whether the run has to record the moved operands.
    pub(super) remembers: bool,
}

impl Operand<'_> {
    /// Returns the paths of source and target for messages.
    fn paths(&self) -> (&[u8], &[u8]) {
        (self.source.to_bytes(), &self.place.shown)
    }
}

impl Mover<'_> {
    /// Moves an operand to its place, or adds it to the batch. `first` is the result of a rename
    /// that was tried before.
    pub(super) fn one(&mut self, operand: &Operand<'_>, first: Option<Renamed>) {
        let Operand { source, place, .. } = *operand;
        // A waiting operand has neither its old nor its new name in a reliable state. So an
        // operand that is related to one waits for the batch.
        if self.batch.is_met(source, place) {
            self.batch.commit();
        }
        let way = self.run.request.way(source);
        if way == Way::Stay {
            return;
        }
        let exchanges = self.run.request.policy.mode == Mode::Exchange;
        let tried = match first {
            Some(tried) => Some(tried),
            None if exchanges => None,
            None if way == Way::Copy => Some(Err(Errno::XDEV)),
            None => Some(rename_new(source, place.directory, &place.name)),
        };
        if tried == Some(Ok(())) {
            return self.renamed(operand, None, Outcome::Renamed);
        }
        let errno = tried.and_then(Result::err);
        // The reports of a finished operand have been made.
        let _settled = self.take(operand, errno);
    }

    /// Handles a place that is occupied, or that a rename does not reach.
    fn take(&mut self, operand: &Operand<'_>, errno: Option<Errno>) -> Result<(), Settled> {
        let Operand { source, place, .. } = *operand;
        let policy = &self.run.request.policy;
        let is_taken = errno == Some(Errno::EXIST);
        if is_taken && policy.keeps_existing() {
            return Err(self.keep(operand));
        }
        let stat = statat(CWD, source)
            .map_err(|error| self.fail(operand, What::Stat, Some(error.errno)))?;
        let mut there = match place.stat() {
            Ok(there) => Some(there),
            Err(error) if error.errno == Errno::NOENT => None,
            Err(error) => {
                return Err(self.fail(operand, What::StatTarget, Some(error.errno)));
            }
        };
        let (action, agreement) = match &there {
            Some(there) => self.judge(operand, &stat, there)?,
            None => (Action::Take, Agreement::Any),
        };
        if action == Action::BackUp
            && let Some(backup) = self.just_made_backup(operand)
        {
            self.run.fail(What::JustCreated, (source.to_bytes(), &backup), None);
            return Err(Settled);
        }
        let backs_up = match action {
            Action::Refuse(what) => return Err(self.fail(operand, what, None)),
            Action::BackUp => true,
            Action::Take => false,
        };
        let errno = if there.is_some() || is_taken || policy.mode == Mode::Exchange {
            // Across file systems the existing target stays until its replacement is complete.
            if errno == Some(Errno::XDEV) {
                errno
            } else {
                match self.replace(operand, backs_up)? {
                    Ok(backup) => {
                        let outcome = match policy.mode {
                            Mode::Move => Outcome::Renamed,
                            Mode::Exchange => Outcome::Exchanged,
                        };
                        self.renamed(operand, backup, outcome);
                        return Ok(());
                    }
                    Err(errno) => {
                        there = there.map(|there| Self::again(place, there));
                        Some(errno)
                    }
                }
            }
        } else {
            errno
        };
        let across = policy.across == Across::Copy && policy.mode == Mode::Move;
        if errno != Some(Errno::XDEV) || !across {
            return Err(self.refused(operand, errno, &stat));
        }
        if is_dots(source) {
            // The kernel reports this itself if it gets as far as the lookup of the name.
            return Err(self.fail(operand, What::Move, Some(Errno::BUSY)));
        }
        // Where statx(2) cannot be had, the copy finds out.
        if is_pinned_at(CWD, source) == Ok(true) {
            return Err(self.fail(operand, What::Pinned, Some(Errno::PERM)));
        }
        self.batch.add(&Newcomer { source, place, stat, there, agreement, backs_up });
        Ok(())
    }

    /// Describes a target again whose name was changed and given back: that sets its ctime. Returns the
    /// earlier description if it is another file by now, or has other bytes.
    fn again(place: &Place<'_>, there: Stat) -> Stat {
        let is_same = |now: &Stat| {
            now.same_file(&there) && (now.size, now.mtime) == (there.size, there.mtime)
        };
        place.stat().ok().filter(is_same).unwrap_or(there)
    }

    /// Applies GNU's rules to an occupied place, and asks the user if required.
    fn judge(
        &self,
        operand: &Operand<'_>,
        stat: &Stat,
        there: &Stat,
    ) -> Result<(Action, Agreement), Settled> {
        let place = operand.place;
        let policy = &self.run.request.policy;
        let pair = self.pair(operand, stat, there);
        match before_asking(&pair, policy) {
            None => {}
            Some(Ok(())) => return Err(self.keep(operand)),
            Some(Err(What::NotReplacing)) => return Err(self.keep(operand)),
            Some(Err(what)) => return Err(self.fail(operand, what, None)),
        }
        let protected = there.kind() != Kind::Symlink
            && !policy.privileged
            && policy.unasked != Unasked::All
            && may_write_at(place.directory, &place.name).is_err();
        let asks = policy.unasked == Unasked::Nothing || protected;
        if asks {
            let unwritable_mode = protected.then_some(there.permissions());
            let reason = PromptReason::Overwrite { unwritable_mode };
            let question = Question { path: place.shown.clone(), reason };
            if !self.run.monitor.agrees(Proposal::Ask(&question)) {
                // GNU mv exits with 1 and prints no message.
                Control::one(&self.run.control.failures);
                self.skipped(operand);
                return Err(Settled);
            }
        }
        let is_conditional = asks || policy.existing == Existing::Older;
        let agreement = if is_conditional { Agreement::This } else { Agreement::Any };
        Ok((decide(&pair, policy), agreement))
    }

    /// Returns the path of the backup that an operand's target would get, if this run has moved another
    /// source to that name.
    fn just_made_backup(&self, operand: &Operand<'_>) -> Option<Vec<u8>> {
        let place = operand.place;
        let how = self.run.request.policy.backup.as_ref().filter(|_| self.remembers)?;
        let backup = self.batch.made.backup_over(place.directory, &place.name, how)?;
        Some(beside(&place.shown, &backup))
    }

    fn pair(&self, operand: &Operand<'_>, stat: &Stat, there: &Stat) -> Pair {
        let Operand { source, place, .. } = *operand;
        let is_link = stat.kind() == Kind::Symlink;
        let followed = is_link.then(|| statat_follow(CWD, source).ok()).flatten();
        let same = |one: Option<Stat>| one.is_some_and(|one| one.same_file(there));
        let same_name = same(Some(*stat)) && is_entry(source.to_bytes(), place);
        let leads_to_target = same(followed) && there.nlink > 1 && leads_to(source, place);
        let mut pair = Pair {
            source: *stat,
            target: *there,
            followed,
            same_name,
            leads_to_target,
            just_made: self.remembers && self.batch.made.has(place.directory, &place.name, there),
            step_ns: timestamp_precision::step_ns(there, place.directory),
            is_cut_short: false,
            is_dots: is_dots(source),
        };
        let is_update = self.run.request.policy.existing == Existing::Older;
        if is_update && !is_older(&pair) {
            let source = At { directory: CWD, name: source };
            let target = At { directory: place.directory, name: &place.name };
            let sides = Sides { source, target };
            pair.is_cut_short = holds_nothing_else(sides, (stat, Follow::No), there);
        }
        pair
    }

    /// Renames over an existing target. If the policy asks for a backup, the target gets its backup
    /// name first.
    fn replace(
        &self,
        operand: &Operand<'_>,
        backs_up: bool,
    ) -> Result<Result<Option<Vec<u8>>, Errno>, Settled> {
        let Operand { source, place, .. } = *operand;
        let policy = &self.run.request.policy;
        let mut displaced = None;
        if let (true, Some(how)) = (backs_up, &policy.backup) {
            let stat = statat(CWD, source)
                .map_err(|error| self.fail(operand, What::Stat, Some(error.errno)))?;
            if backup::would_destroy((source, &stat), place.directory, &place.name, how) {
                return self.swap_with_backup(operand, &stat);
            }
            displaced = displace(place.directory, &place.name, how)
                .map_err(|error| self.fail(operand, What::Backup, Some(error.errno)))?;
        }
        let rename = |mode| {
            renameat(CWD, source, place.directory, &place.name, mode).map_err(|error| error.errno)
        };
        let renamed = match policy.mode {
            // The name was freed. What another process has put there since has no backup.
            Mode::Move if displaced.is_some() => {
                rename_new_at(CWD, source, place.directory, &place.name)
            }
            Mode::Move => rename(RenameMode::Replace),
            Mode::Exchange => rename(RenameMode::Exchange),
        };
        match renamed {
            Ok(()) => {
                Ok(Ok(displaced.map(|displaced| beside(&place.shown, &displaced.complete()))))
            }
            Err(errno) => {
                if let Some(Err(error)) = displaced.map(Displaced::undo) {
                    let _reported = self.fail(operand, What::RestoreBackup, Some(error.errno));
                }
                Ok(Err(errno))
            }
        }
    }

    /// Moves a symbolic link whose name is the backup name: link and target are exchanged, so that
    /// neither is lost. GNU mv loses the link. As in GNU mv, a source of any other kind is
    /// refused.
    fn swap_with_backup(
        &self,
        operand: &Operand<'_>,
        stat: &Stat,
    ) -> Result<Result<Option<Vec<u8>>, Errno>, Settled> {
        let Operand { source, place, .. } = *operand;
        let refused = |errno| self.fail(operand, What::BackupDestroysSource, errno);
        if stat.kind() != Kind::Symlink || self.run.request.policy.mode != Mode::Move {
            return Err(refused(None));
        }
        renameat(CWD, source, place.directory, &place.name, RenameMode::Exchange)
            .map_err(|error| refused(Some(error.errno)))?;
        Ok(Ok(Some(source.to_bytes().to_vec())))
    }

    fn renamed(&mut self, operand: &Operand<'_>, backup: Option<Vec<u8>>, outcome: Outcome) {
        let place = operand.place;
        Control::one(match outcome {
            Outcome::Exchanged => &self.run.control.exchanged,
            _ => &self.run.control.renamed,
        });
        if self.remembers && !operand.is_last {
            match place.stat() {
                Ok(stat) => {
                    self.batch.made.insert(place.name.clone(), &stat);
                }
                Err(error) => {
                    let shown: &[u8] = &place.shown;
                    self.run.fail(What::Stat, (shown, shown), Some(error.errno));
                }
            }
        }
        self.tell(operand, outcome, backup);
    }

    /// Leaves the target unchanged.
    fn keep(&self, operand: &Operand<'_>) -> Settled {
        if self.run.request.policy.existing == Existing::KeepAndFail {
            return self.fail(operand, What::NotReplacing, None);
        }
        self.skipped(operand);
        Settled
    }

    fn skipped(&self, operand: &Operand<'_>) {
        Control::one(&self.run.control.skipped);
        self.tell(operand, Outcome::Skipped, None);
    }

    fn tell(&self, operand: &Operand<'_>, outcome: Outcome, backup: Option<Vec<u8>>) {
        if self.run.monitor.wants(Detail::Entries) {
            let event = Event {
                outcome,
                kind: Kind::Unknown,
                source: operand.source.to_bytes().to_vec(),
                target: operand.place.shown.clone(),
                backup,
                changes: None,
                linked_to: None,
            };
            self.run.monitor.report(Report::Entry(&event));
        }
    }

    fn fail(&self, operand: &Operand<'_>, what: What, errno: Option<Errno>) -> Settled {
        self.run.fail_unmoved(what, operand.paths(), errno);
        if (what, errno) == (What::Stat, Some(Errno::NOENT)) {
            self.tell_set_aside(operand);
        }
        Settled
    }

    /// Tells where a source is that a killed run was about to remove: the run had given it a hidden name.
    fn tell_set_aside(&self, operand: &Operand<'_>) {
        let path = operand.source.to_bytes();
        // What cannot be read has been reported as a source that is not there.
        for hidden in left_of(CWD, operand.source).unwrap_or_default() {
            self.run.warn(What::SetAside, (path, &beside(path, &hidden)));
        }
    }

    /// Reports the errno of a failed rename.
    fn refused(&mut self, operand: &Operand<'_>, errno: Option<Errno>, stat: &Stat) -> Settled {
        let place = operand.place;
        let mode = self.run.request.policy.mode;
        let what = match errno {
            Some(Errno::INVAL) if mode == Mode::Move => {
                if self.into_themselves.insert((place.name.clone(), identity(stat))) {
                    return self.fail(operand, What::IntoItself, None);
                }
                self.run.warn(What::GivenTwice, operand.paths());
                return Settled;
            }
            _ if mode == Mode::Exchange => What::Exchange,
            // The target is the cause of these errors. A message that also names the source would
            // mislead.
            Some(
                Errno::DQUOT
                | Errno::EXIST
                | Errno::ISDIR
                | Errno::MLINK
                | Errno::NOSPC
                | Errno::TXTBSY
                | Errno::NOTEMPTY,
            ) => What::Overwrite,
            _ => What::Move,
        };
        self.fail(operand, what, Some(errno.unwrap_or(Errno::NOENT)))
    }
}

/// Returns whether the last component of a path is `.` or `..`, or the path has none, as in `/`.
fn is_dots(path: &CStr) -> bool {
    matches!(split(path.to_bytes()).1, b"" | b"." | b"..")
}

/// Returns whether a path denotes the directory entry of a place: the same name in the same
/// directory, however the two paths are spelled.
fn is_entry(path: &[u8], place: &Place<'_>) -> bool {
    is_one_entry((CWD, path), (place.directory, place.name.to_bytes()))
}

/// Returns whether a symbolic link leads, directly or through other links, to the directory entry
/// of a place. Returns true if that cannot be determined.
fn leads_to(source: &CStr, place: &Place<'_>) -> bool {
    let Ok(reached) = openat(CWD, source, DIRECTORY) else { return true };
    let link = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reached.as_fd()));
    let Ok(link) = std::ffi::CString::new(link) else { return true };
    match readlinkat(CWD, &link) {
        Ok(path) => is_entry(path.to_bytes(), place),
        Err(_) => true,
    }
}
