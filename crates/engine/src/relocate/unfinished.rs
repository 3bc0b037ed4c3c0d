//! Removes waiting copies that do not get their names.
//!
//! Between the copy and its removal another process can rename an entry of its own to the waiting name. A
//! directory is therefore removed only if it is the one that the run has claimed, and a file only if the run has
//! recorded it.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::fd::AsFd;

use haul_io::last_check::Stays;
use haul_sys::Errno;
use haul_sys::fs::{Kind, fstat, statat};

use super::batch::{Batch, Destination, Moving};
use super::control::Control;
use super::{note, stage};
use crate::copy::copied_entries::CopiedEntries;
use crate::data::error::What;
use crate::data::monitor::{self, Report};
use crate::data::request::Recursion;
use crate::names::by_identity::{Identity, identity};
use crate::names::path::beside;
use crate::remove;

impl Moving {
    /// Returns the directory that was claimed, if it still has its waiting name.
    fn claimed_by_name(&self, destination: &Destination) -> Option<Identity> {
        let claimed = fstat(self.claim.as_ref()?).ok()?;
        let named = statat(&destination.directory, &self.stage).ok()?;
        named.same_file(&claimed).then(|| identity(&claimed))
    }
}

impl Batch<'_> {
    /// Removes the file that an interrupted run has left under a waiting name: its source is complete.
    pub(super) fn unlink_waiting(&self, destination: &Destination, moving: &Moving) {
        if let Err(error) = stage::unlink(destination.directory.as_fd(), &moving.stage) {
            self.fail_unfinished(destination, moving, error.errno);
        }
    }

    /// Removes the waiting copy of a file, unless another file has the waiting name by now.
    fn unlink_own(&self, destination: &Destination, moving: &Moving, copied: &CopiedEntries) {
        let directory = destination.directory.as_fd();
        let there = match statat(directory, &moving.stage) {
            Ok(there) => there,
            Err(error) if error.errno == Errno::NOENT => return,
            Err(error) => return self.fail_unfinished(destination, moving, error.errno),
        };
        // Only regular files are recorded. Another one cannot lose bytes.
        let is_ours = match there.kind() {
            Kind::Regular => copied.has_target(&there),
            kind => kind == moving.stat.kind(),
        };
        if !is_ours {
            return;
        }
        match self.last_names.remove_same((directory, &moving.stage), &there) {
            Ok(()) | Err(Stays::Changed) => {}
            Err(Stays::Failed(error)) if error.errno == Errno::NOENT => {}
            Err(Stays::Failed(error)) => self.fail_unfinished(destination, moving, error.errno),
            Err(Stays::Beside(other)) => {
                let waiting = destination.waiting_path(moving);
                let kept = beside(&waiting, &other.name);
                self.run.fail(What::KeptBeside, (&waiting, &kept), Some(other.why.errno));
            }
        }
    }

    fn fail_unfinished(&self, destination: &Destination, moving: &Moving, errno: Errno) {
        let waiting = destination.waiting_path(moving);
        self.run.fail(What::UnfinishedCopy, (moving.source.to_bytes(), &waiting), Some(errno));
    }

    /// Removes unfinished copies that have their waiting names; what another process has put there stays. If a
    /// signal ended the run, unfinished directories stay, because the same command resumes them.
    pub(super) fn take_away(
        &self,
        destination: &Destination,
        unfinished: &[Moving],
        copied: &CopiedEntries,
    ) {
        let (directories, files): (Vec<_>, Vec<_>) =
            unfinished.iter().partition(|moving| moving.is_directory());
        // The copy has already removed the files that it could not complete.
        files.into_iter().for_each(|moving| self.unlink_own(destination, moving, copied));
        let mut ours = Vec::new();
        for moving in directories {
            match moving.claimed_by_name(destination) {
                Some(id) => ours.push((moving, id)),
                // Nothing proves what a directory is that the run could not claim.
                None if moving.claim.is_none()
                    && statat(&destination.directory, &moving.stage).is_ok() =>
                {
                    self.fail_unfinished(destination, moving, Errno::STALE);
                }
                None => {}
            }
        }
        if self.run.control.is_stopped() {
            for (moving, _) in ours {
                let waiting = destination.waiting_path(moving);
                self.run.warn(What::Interrupted, (moving.source.to_bytes(), &waiting));
            }
            return;
        }
        for (moving, _) in &ours {
            if let Err(error) = note::remove(destination.directory.as_fd(), &moving.stage) {
                self.fail(moving, What::Note, Some(error.errno));
            }
        }
        let paths = ours.iter().map(|(moving, _)| destination.waiting_path(moving)).collect();
        let only = ours.iter().map(|(_, id)| *id).collect();
        if self.remove_paths(paths, Some(only)) && !self.run.control.is_stopped() {
            // A path that leads through another directory by now has removed nothing.
            for (moving, _) in ours.iter().filter(|it| it.0.claimed_by_name(destination).is_some())
            {
                self.fail_unfinished(destination, moving, Errno::STALE);
            }
        }
    }

    /// Removes waiting directories and their content. Those that are none of `only` stay.
    pub(super) fn remove_paths(
        &self,
        paths: Vec<Vec<u8>>,
        only: Option<HashSet<Identity>>,
    ) -> bool {
        if paths.is_empty() {
            return true;
        }
        let run = self.run;
        let request = remove::Request {
            operands: paths.into_iter().filter_map(|path| CString::new(path).ok()).collect(),
            policy: remove::Policy {
                recursion: Recursion::Yes,
                missing: remove::Missing::Ignore,
                privileged: run.request.policy.privileged,
                ..remove::Policy::PLAIN
            },
            resources: run.request.removing,
            selection: None,
            only,
        };
        // These removals are not part of the move, so they are counted separately.
        let control = monitor::Control::new(run.control.stop);
        let pass_failures_on = |report: Report<'_>| {
            if matches!(report, Report::Failed(_)) {
                Control::one(&run.control.failures);
                run.monitor.report(report);
            }
        };
        remove::remove(&request, &pass_failures_on, &control).failures == 0
    }
}
