//! Incomplete targets: what the run removes of them, and what stays for a later run.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};

use haul_io::last_check::{OtherName, Stays};
use haul_io::publish;
use haul_sys::Errno;
use haul_sys::fs::{Time, TimePair, fstat, futimens, statat};

use super::existing;
use super::item::{Onto, Target, Temporary};
use super::next::Next;
use super::temporary::below;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::request::Parts;
use crate::names::at::At;
use crate::names::by_identity::{Identity, identity};
use crate::names::known_names::SourceState;
use crate::names::path::beside;
use crate::sync::parts;

/// Target whose bytes are incomplete.
pub(super) struct Unfinished<'a> {
    pub(super) entry: &'a Entry<'a>,
    /// Whether this run made the target.
    pub(super) made: bool,
    /// State of the source by which its other names find this one, if it has others.
    pub(super) leads_links: Option<SourceState>,
    pub(super) backup: Option<&'a CStr>,
    pub(super) temporary: Option<&'a Temporary>,
    /// What the run does with a file that has no final name yet.
    pub(super) fate: Fate,
    /// The file, if that is known. Names are removed only if they still belong to it, because another process may have
    /// replaced it; without this by name alone: an incomplete file must not stay.
    pub(super) ours: Option<Identity>,
    /// The open file.
    pub(super) file: Option<BorrowedFd<'a>>,
}

/// What the run does with the incomplete file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Remove the file.
    Gone,
    /// Keep the file under its hidden name, so that a later run can resume.
    Kept,
}

impl<'a> Unfinished<'a> {
    /// Describes an open target. Makes one call.
    pub(super) fn of(entry: &'a Entry<'a>, target: &'a Target) -> Unfinished<'a> {
        Unfinished {
            entry,
            made: target.mode.is_some(),
            leads_links: target.leads_links,
            backup: target.backup.as_deref(),
            temporary: target.temporary.as_deref(),
            fate: Fate::Gone,
            ours: fstat(&target.fd).map(|now| identity(&now)).ok(),
            file: Some(target.fd.as_fd()),
        }
    }

    pub(super) fn meeting(self, fate: Fate) -> Unfinished<'a> {
        Unfinished { fate, ..self }
    }

    /// Removes an incomplete file that this run made, and every hard link that the run made to it.
    /// Returns the entries that wait for the file.
    pub(super) fn take_away<'n>(&self, run: &Run<'_>) -> Next<'n> {
        let mut next = Next::Done;
        if let Some(source) = self.leads_links {
            next = Next::GiveUp(run.links.abandoned(source));
            for other in run.links.failed(source) {
                let other = Entry {
                    node: &other.node,
                    source: &other.source,
                    target: &other.name,
                    rest: None,
                };
                unmake(run, &other, self.ours);
                other.fail(run, What::CreateHardLink, None);
            }
        }
        if self.made || self.temporary.is_some() {
            self.remove(run);
        }
        next
    }

    fn remove(&self, run: &Run<'_>) {
        let entry = self.entry;
        if let Some(temporary) = self.temporary {
            let removed = run.cache.of(entry.node).and_then(|handles| {
                if let Some(backup) = self.backup {
                    existing::restore(run, handles.target(), entry, backup);
                }
                match self.fate {
                    Fate::Gone if self.keeps_part(run, temporary, handles.target()) => Ok(()),
                    Fate::Gone => temporary.discard(handles.target()),
                    Fate::Kept => Ok(()),
                }
            });
            if let Err(error) = removed {
                fail(run, entry, error.errno);
            }
            return;
        }
        unmake(run, entry, self.ours);
        if let Some(backup) = self.backup
            && let Ok(handles) = run.cache.of(entry.node)
        {
            existing::restore(run, handles.target(), entry, backup);
        }
    }
}

impl Unfinished<'_> {
    /// Keeps the part of a file where the rules say so, if there is one. Its time is the oldest one, so that no run takes
    /// it for the newer file. Returns whether it has a name.
    fn keeps_part(&self, run: &Run<'_>, temporary: &Temporary, own: BorrowedFd<'_>) -> bool {
        let parts = run.synchronized.as_ref().and_then(|of| of.rules.parts.as_ref());
        let (Some(file), Some(parts)) = (self.file, parts) else { return false };
        let zero = Time { seconds: 0, nanoseconds: 0 };
        let has_bytes = fstat(file).is_ok_and(|now| now.size > 0)
            && futimens(file, TimePair { atime: zero, mtime: zero }).is_ok();
        if !has_bytes {
            return false;
        }
        let (directory, name) = temporary.place(own, self.entry.target);
        let unpublished = &temporary.unpublished;
        match parts {
            Parts::Named => {
                let free = publish::Onto::Free;
                let publish =
                    || unpublished.publish(file, directory, name, free, &run.space).is_ok();
                temporary.onto == Onto::Free && publish()
            }
            Parts::Directory(path) => {
                parts::keep(file, At { directory, name }, path, unpublished.hidden()).is_ok()
            }
        }
    }
}

/// Removes a name that this run made and that must not stay, unless another file has it by now.
fn unmake(run: &Run<'_>, entry: &Entry<'_>, ours: Option<Identity>) {
    let removed = run.cache.of(entry.node).and_then(|handles| {
        let own = handles.target();
        let elsewhere = below(own, entry.target)?;
        let place = match &elsewhere {
            Some(place) => (place.directory.as_fd(), place.name.as_c_str()),
            None => (own, entry.target),
        };
        let now = statat(place.0, place.1)?;
        if ours.is_some_and(|ours| ours != identity(&now)) {
            return Ok(());
        }
        match run.last_names.remove_same(place, &now) {
            Ok(()) => run.made.forget(identity(&now)),
            Err(Stays::Changed) => {}
            Err(Stays::Failed(error)) => return Err(error),
            Err(Stays::Beside(other)) => tell_kept(run, entry, &other),
        }
        Ok(())
    });
    if let Err(error) = removed {
        fail(run, entry, error.errno);
    }
}

/// Reports the file of another process that could not get its name back.
fn tell_kept(run: &Run<'_>, entry: &Entry<'_>, other: &OtherName) {
    let source = entry.target_path();
    run.report(&Failure {
        operation: Operation::Copy,
        what: What::KeptBeside,
        target: beside(&source, &other.name),
        source,
        errno: Some(other.why.errno),
        severity: Severity::Failure,
    });
}

fn fail(run: &Run<'_>, entry: &Entry<'_>, errno: Errno) {
    if errno != Errno::NOENT {
        entry.fail(run, What::Remove, Some(errno));
    }
}
