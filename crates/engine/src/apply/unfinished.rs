//! Incomplete targets: what the run removes of them, and what stays for a later run.

use super::item::{Target, Temporary};
use super::{existing, hardlink};
use crate::context::Worker;
use crate::entry::Entry;
use crate::error::What;
use crate::walk::node::identity;
use haul_sys::fs::{Stat, statat, unlinkat};
use std::ffi::CStr;

/// Target whose bytes are incomplete.
pub(super) struct Leftover<'a> {
    pub(super) entry: &'a Entry<'a>,
    pub(super) stat: &'a Stat,
    /// Whether this run made the target.
    pub(super) made: bool,
    pub(super) leads_links: bool,
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

impl<'a> Leftover<'a> {
    pub(super) fn of(entry: &'a Entry<'a>, stat: &'a Stat, target: &'a Target) -> Leftover<'a> {
        Leftover {
            entry,
            stat,
            made: target.mode.is_some(),
            leads_links: target.leads_links,
            backup: target.backup.as_deref(),
            temporary: target.temporary.as_deref(),
            fate: Fate::Gone,
        }
    }

    pub(super) fn meeting(self, fate: Fate) -> Leftover<'a> {
        Leftover { fate, ..self }
    }

    /// Removes an incomplete file that this run made, and every hard link that the run made to it.
    /// If the caller passes a description, the function removes the name only if it still belongs
    /// to that file, because another process may have replaced it.
    pub(super) fn take_away(&self, worker: &mut Worker<'_, '_>, ours: Option<&Stat>) {
        let (run, entry) = (worker.operation, self.entry);
        if self.leads_links {
            for waiting in run.links.abandoned(identity(self.stat)) {
                hardlink::give_up(worker, waiting);
            }
            for other in run.links.failed(identity(self.stat)) {
                hardlink::unmake(run, &other.node, &other.name);
                let other = Entry {
                    node: &other.node,
                    source: &other.source,
                    target: &other.name,
                    rest: None,
                };
                other.fail(run, What::CreateHardLink, None);
            }
        }
        if !self.made && self.temporary.is_none() {
            return;
        }
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
            }
            if let Some(backup) = self.backup {
                existing::restore(run, handles.target(), entry, backup);
            }
            Ok(())
        });
        if let Err(error) = removed
            && error.errno != haul_sys::Errno::NOENT
        {
            entry.fail(run, What::Remove, Some(error.errno));
        }
    }
}
