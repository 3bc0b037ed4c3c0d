//! Incomplete targets: what the run removes of them, and what stays for a later run.

use std::ffi::CStr;
use std::os::fd::AsFd as _;

use haul_io::last_check::{OtherName, Stays};
use haul_sys::Errno;
use haul_sys::fs::{fstat, statat};

use super::existing;
use super::item::{Target, Temporary};
use super::next::Next;
use super::temporary::below;
use crate::copy::entry::Entry;
use crate::copy::run::Run;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::names::by_identity::{Identity, identity};
use crate::names::known_names::SourceState;
use crate::names::path::beside;

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
