//! Incomplete targets: what the run removes of them, and what stays for a later run.

use std::ffi::CStr;
use std::sync::Arc;

use haul_sys::Errno;
use haul_sys::fs::{Stat, statat, unlinkat};

use super::existing;
use super::item::{Target, Temporary};
use super::next::Next;
use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::names::by_identity::identity;
use crate::names::known_names::SourceState;

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
    pub(super) fn of(entry: &'a Entry<'a>, target: &'a Target) -> Unfinished<'a> {
        Unfinished {
            entry,
            made: target.mode.is_some(),
            leads_links: target.leads_links,
            backup: target.backup.as_deref(),
            temporary: target.temporary.as_deref(),
            fate: Fate::Gone,
        }
    }

    pub(super) fn meeting(self, fate: Fate) -> Unfinished<'a> {
        Unfinished { fate, ..self }
    }

    /// Removes an incomplete file that this run made, and every hard link that the run made to it.
    /// Returns the entries that wait for the file.
    /// If the caller passes a description, the function removes the name only if it still belongs
    /// to that file, because another process may have replaced it.
    pub(super) fn take_away<'n>(&self, run: &Run<'_>, ours: Option<&Stat>) -> Next<'n> {
        let mut next = Next::Done;
        if let Some(source) = self.leads_links {
            next = Next::GiveUp(run.links.abandoned(source));
            for other in run.links.failed(source) {
                unmake(run, &other.node, &other.name);
                let other = Entry {
                    node: &other.node,
                    source: &other.source,
                    target: &other.name,
                    rest: None,
                };
                other.fail(run, What::CreateHardLink, None);
            }
        }
        if self.made || self.temporary.is_some() {
            self.remove(run, ours);
        }
        next
    }

    fn remove(&self, run: &Run<'_>, ours: Option<&Stat>) {
        let entry = self.entry;
        let removed = run.cache.of(entry.node).and_then(|handles| {
            if let Some(temporary) = self.temporary {
                if let Some(backup) = self.backup {
                    existing::restore(run, handles.target(), entry, backup);
                }
                return match self.fate {
                    Fate::Gone => temporary.discard(handles.target()),
                    Fate::Kept => Ok(()),
                };
            }
            let now = statat(handles.target(), entry.target)?;
            if ours.is_none_or(|ours| now.same_file(ours)) {
                unlinkat(handles.target(), entry.target)?;
                run.made.forget(identity(&now));
            }
            if let Some(backup) = self.backup {
                existing::restore(run, handles.target(), entry, backup);
            }
            Ok(())
        });
        if let Err(error) = removed
            && error.errno != Errno::NOENT
        {
            entry.fail(run, What::Remove, Some(error.errno));
        }
    }
}

/// Removes a name that this run made and that must not stay.
fn unmake(run: &Run<'_>, node: &Arc<Node>, name: &CStr) {
    let removed = run.cache.of(node).and_then(|handles| unlinkat(handles.target(), name));
    if let Err(error) = removed
        && error.errno != Errno::NOENT
    {
        let entry = Entry { node, source: name, target: name, rest: None };
        entry.fail(run, What::Remove, Some(error.errno));
    }
}
