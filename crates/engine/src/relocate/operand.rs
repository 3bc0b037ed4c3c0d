//! Moves one operand: renames it if possible, refuses it if necessary, otherwise adds it to the
//! batch that is copied.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;

use haul_sys::Errno;
use haul_sys::fs::{
    CWD, Kind, RenameMode, Stat, may_write_at, openat, readlinkat, renameat, statat, statat_follow,
};

use super::batch::{Batch, Newcomer};
use super::control::Control;
use super::decide::{Action, Pair, before_asking, decide};
use super::request::{Across, Mode, Unasked};
use super::run::Run;
use super::target::{Place, Renamed, rename_new};
use crate::apply::backup;
use crate::apply::existing::{DIRECTORY, is_one_entry};
use crate::error::What;
use crate::monitor::{Event, Outcome, PromptReason, Question};
use crate::request::Existing;
use crate::timestamp_precision;
use crate::walk::node::Identity;
use crate::walk::node::identity;
use crate::walk::path::beside;
use crate::walk::path::split;

/// Marks an operand as finished; its reports have been made.
struct Settled;

/// State of a run between its operands.
pub(super) struct Mover<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) batch: Batch<'r>,
    /// Operands moved into the target directory, so that no second source replaces one of them.
    pub(super) made: HashSet<(CString, Identity)>,
    /// Directories that the user asked to move into themselves, with their targets.
    pub(super) into_themselves: HashSet<(CString, Identity)>,
    /// Whether the run has to record the moved operands.
    pub(super) remembers: bool,
}

impl Mover<'_> {
    /// Moves a source to its place, or adds it to the batch.
    pub(super) fn one(
        &mut self,
        source: &CStr,
        place: &Place<'_>,
        (first, is_last): (Option<Renamed>, bool),
    ) {
        // A waiting operand has neither its old nor its new name in a reliable state. So an
        // operand that is related to one waits for the batch.
        if self.batch.is_met(source, place) {
            self.batch.commit();
        }
        let exchanges = self.run.request.policy.mode == Mode::Exchange;
        let tried = match first {
            Some(tried) => Some(tried),
            None if exchanges => None,
            None => Some(rename_new(source, place.directory, &place.name)),
        };
        if tried == Some(Ok(())) {
            return self.renamed(source, place, (None, is_last), Outcome::Renamed);
        }
        let errno = tried.and_then(Result::err);
        // The reports of a finished operand have been made.
        let _settled = self.take(source, place, errno, is_last);
    }

    /// Handles a place that is occupied, or that a rename does not reach.
    fn take(
        &mut self,
        source: &CStr,
        place: &Place<'_>,
        errno: Option<Errno>,
        is_last: bool,
    ) -> Result<(), Settled> {
        let policy = &self.run.request.policy;
        let is_taken = errno == Some(Errno::EXIST);
        if is_taken && policy.keeps_existing() {
            return Err(self.keep(source, place));
        }
        let stat = statat(CWD, source)
            .map_err(|error| self.fail(source, place, What::Stat, Some(error.errno)))?;
        let there = match place.stat() {
            Ok(there) => Some(there),
            Err(error) if error.errno == Errno::NOENT => None,
            Err(error) => {
                return Err(self.fail(source, place, What::StatTarget, Some(error.errno)));
            }
        };
        let action = match &there {
            Some(there) => self.judge(source, place, (&stat, there))?,
            None => Action::Take,
        };
        let backs_up = match action {
            Action::Refuse(what) => return Err(self.fail(source, place, what, None)),
            Action::BackUp => true,
            Action::Take => false,
        };
        let errno = if there.is_some() || is_taken || policy.mode == Mode::Exchange {
            // Across file systems the existing target stays until its replacement is complete.
            if errno == Some(Errno::XDEV) {
                errno
            } else {
                match self.replace(source, place, backs_up)? {
                    Ok(backup) => {
                        let outcome = match policy.mode {
                            Mode::Move => Outcome::Renamed,
                            Mode::Exchange => Outcome::Exchanged,
                        };
                        self.renamed(source, place, (backup, is_last), outcome);
                        return Ok(());
                    }
                    Err(errno) => Some(errno),
                }
            }
        } else {
            errno
        };
        let across = policy.across == Across::Copy && policy.mode == Mode::Move;
        if errno != Some(Errno::XDEV) || !across {
            return Err(self.refused(source, place, (errno, &stat)));
        }
        if is_dots(source) {
            // The kernel reports this itself if it gets as far as the lookup of the name.
            return Err(self.fail(source, place, What::Move, Some(Errno::BUSY)));
        }
        self.batch.add(&Newcomer { source, place, stat, there, backs_up });
        Ok(())
    }

    /// Applies GNU's rules to an occupied place, and asks the user if required.
    fn judge(
        &self,
        source: &CStr,
        place: &Place<'_>,
        (stat, there): (&Stat, &Stat),
    ) -> Result<Action, Settled> {
        let policy = &self.run.request.policy;
        let pair = self.pair(source, place, (stat, there));
        match before_asking(&pair, policy) {
            None => {}
            Some(Ok(())) => return Err(self.keep(source, place)),
            Some(Err(What::NotReplacing)) => return Err(self.keep(source, place)),
            Some(Err(what)) => return Err(self.fail(source, place, what, None)),
        }
        let protected = there.kind() != Kind::Symlink
            && !policy.privileged
            && policy.unasked != Unasked::All
            && may_write_at(place.directory, &place.name).is_err();
        let asks = policy.unasked == Unasked::Nothing || protected;
        if asks {
            let unwritable_mode = protected.then_some(there.permissions());
            let agreed = self.run.monitor.ask(&Question {
                path: place.shown.clone(),
                reason: PromptReason::Overwrite { unwritable_mode },
            });
            if !agreed {
                // GNU mv exits with 1 and prints no message.
                Control::one(&self.run.control.failures);
                self.skipped(source, place);
                return Err(Settled);
            }
        }
        Ok(decide(&pair, policy))
    }

    fn pair(&self, source: &CStr, place: &Place<'_>, (stat, there): (&Stat, &Stat)) -> Pair {
        let is_link = stat.kind() == Kind::Symlink;
        let followed = is_link.then(|| statat_follow(CWD, source).ok()).flatten();
        let same = |one: Option<Stat>| one.is_some_and(|one| one.same_file(there));
        let same_name = same(Some(*stat)) && is_entry(source.to_bytes(), place);
        let leads_to_target = same(followed) && there.nlink > 1 && leads_to(source, place);
        let key = (place.name.clone(), identity(there));
        Pair {
            source: *stat,
            target: *there,
            followed,
            same_name,
            leads_to_target,
            just_made: self.remembers && (self.made.contains(&key) || self.batch.has_made(&key.0)),
            step_ns: timestamp_precision::step_ns(there, place.directory),
            is_dots: is_dots(source),
        }
    }

    /// Renames over an existing target. If the policy asks for a backup, renames the target to its
    /// backup name first.
    fn replace(
        &self,
        source: &CStr,
        place: &Place<'_>,
        backs_up: bool,
    ) -> Result<Result<Option<Vec<u8>>, Errno>, Settled> {
        let policy = &self.run.request.policy;
        let mut backup_name = None;
        if let (true, Some(how)) = (backs_up, &policy.backup) {
            let stat = statat(CWD, source)
                .map_err(|error| self.fail(source, place, What::Stat, Some(error.errno)))?;
            if backup::would_destroy((source, &stat), place.directory, &place.name, how) {
                return self.swap_with_backup(source, place, &stat);
            }
            match backup::make(place.directory, &place.name, how) {
                Ok(name) => backup_name = Some(name),
                Err(error) if error.errno == Errno::NOENT => {}
                Err(error) => {
                    return Err(self.fail(source, place, What::Backup, Some(error.errno)));
                }
            }
        }
        let mode = match policy.mode {
            Mode::Move => RenameMode::Replace,
            Mode::Exchange => RenameMode::Exchange,
        };
        match renameat(CWD, source, place.directory, &place.name, mode) {
            Ok(()) => Ok(Ok(backup_name.map(|name| beside(&place.shown, &name)))),
            Err(error) => {
                if let Some(name) = backup_name {
                    // The rename failed, so the previous file gets its name back, unless another
                    // process has taken the name in the meantime.
                    let _restored = super::target::rename_new_at(
                        place.directory,
                        &name,
                        place.directory,
                        &place.name,
                    );
                }
                Ok(Err(error.errno))
            }
        }
    }

    /// Moves a symbolic link whose name is the backup name: link and target are exchanged, so that
    /// neither is lost. GNU mv loses the link. As in GNU mv, a source of any other kind is
    /// refused.
    fn swap_with_backup(
        &self,
        source: &CStr,
        place: &Place<'_>,
        stat: &Stat,
    ) -> Result<Result<Option<Vec<u8>>, Errno>, Settled> {
        let refused = |errno| self.fail(source, place, What::BackupDestroysSource, errno);
        if stat.kind() != Kind::Symlink || self.run.request.policy.mode != Mode::Move {
            return Err(refused(None));
        }
        renameat(CWD, source, place.directory, &place.name, RenameMode::Exchange)
            .map_err(|error| refused(Some(error.errno)))?;
        Ok(Ok(Some(source.to_bytes().to_vec())))
    }

    fn renamed(
        &mut self,
        source: &CStr,
        place: &Place<'_>,
        (backup, is_last): (Option<Vec<u8>>, bool),
        outcome: Outcome,
    ) {
        Control::one(match outcome {
            Outcome::Exchanged => &self.run.control.exchanged,
            _ => &self.run.control.renamed,
        });
        if self.remembers && !is_last {
            match place.stat() {
                Ok(stat) => {
                    self.made.insert((place.name.clone(), identity(&stat)));
                }
                Err(error) => {
                    let shown: &[u8] = &place.shown;
                    self.run.fail(What::Stat, (shown, shown), Some(error.errno));
                }
            }
        }
        self.tell(source, place, outcome, backup);
    }

    /// Leaves the target unchanged.
    fn keep(&self, source: &CStr, place: &Place<'_>) -> Settled {
        if self.run.request.policy.existing == Existing::KeepAndFail {
            return self.fail(source, place, What::NotReplacing, None);
        }
        self.skipped(source, place);
        Settled
    }

    fn skipped(&self, source: &CStr, place: &Place<'_>) {
        Control::one(&self.run.control.skipped);
        self.tell(source, place, Outcome::Skipped, None);
    }

    fn tell(&self, source: &CStr, place: &Place<'_>, outcome: Outcome, backup: Option<Vec<u8>>) {
        if self.run.monitor.wants_entries() {
            self.run.monitor.entry(&Event {
                outcome,
                kind: Kind::Unknown,
                source: source.to_bytes().to_vec(),
                target: place.shown.clone(),
                backup,
            });
        }
    }

    fn fail(&self, source: &CStr, place: &Place<'_>, what: What, errno: Option<Errno>) -> Settled {
        self.run.fail(what, (source.to_bytes(), &place.shown), errno);
        Settled
    }

    /// Reports the errno of a failed rename.
    fn refused(
        &mut self,
        source: &CStr,
        place: &Place<'_>,
        (errno, stat): (Option<Errno>, &Stat),
    ) -> Settled {
        let mode = self.run.request.policy.mode;
        let what = match errno {
            Some(Errno::INVAL) if mode == Mode::Move => {
                if self.into_themselves.insert((place.name.clone(), identity(stat))) {
                    return self.fail(source, place, What::IntoItself, None);
                }
                self.run.warn(What::GivenTwice, (source.to_bytes(), &place.shown));
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
        self.fail(source, place, what, Some(errno.unwrap_or(Errno::NOENT)))
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
