//! Result of the steps that make a name, and the attributes of entries that the run does not open.

use std::ffi::CStr;

use haul_sys::fs::{Stat, statat};

use super::existing::Done;
use crate::copy::entry::OpenEntry;
use crate::copy::run::Run;
use crate::metadata::{Kept, by_name};

/// Whether the entry has its name in the target now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Created {
    Yes,
    /// The name existed before the run, and stands for the copy.
    Before,
    No,
}

impl Created {
    pub(super) const fn settled(done: Done) -> Created {
        match done {
            Done::UpToDate => Created::Before,
            Done::Skipped | Done::Failed => Created::No,
        }
    }
}

/// Applies the attributes of a source that the run does not open to a name that it has just made.
pub(super) fn keep_by_name(run: &Run<'_>, entry: &OpenEntry<'_>, stat: &Stat, name: &CStr) -> Kept {
    let source = by_name::Place { directory: entry.handles.source(), name: entry.source };
    let target = by_name::Place { directory: entry.handles.target(), name };
    let now = run.synchronized.as_ref().and_then(|_| statat(target.directory, name).ok());
    let wanted = run.wanted(stat, now.map(|now| (now.uid, now.gid)));
    entry.lost(run, stat, by_name::keep(source, &wanted, target, run.policy_for(stat.kind())))
}
