//! Steps that a rehearsal reports: what the copy would do.

use haul_sys::fs::Kind;

use crate::data::error::Failure;
use crate::data::synchronize::Changes;
use crate::decide::Reason;

/// Action that the copy would take for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Make the entry, because the target name is free.
    Create,
    /// Write the contents of the entry to the existing file.
    Overwrite,
    /// Remove the existing file, and make the entry.
    Replace,
    /// Rename the existing file to its backup name, and make the entry.
    BackUp,
    /// Copy the entries into the existing directory.
    Merge,
    /// Make the entry another name of a file that the copy has made before.
    Link,
    /// Ask the user whether to overwrite the existing file.
    Ask,
    /// Set attributes of the existing entry, whose content is the source's: in a synchronisation.
    Adjust,
    /// Remove the entry of the target, because the source does not have it: in a synchronisation.
    Remove,
    /// Keep the existing file.
    Skip(Reason),
}

/// Entry, and the action that the copy would take for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Action that the copy would take.
    pub intent: Intent,
    /// Kind of the entry.
    pub kind: Kind,
    /// Size of the entry in bytes; 0 unless the entry is a regular file.
    pub bytes: u64,
    /// Path of the source for display.
    pub source: Vec<u8>,
    /// Path of the target for display.
    pub target: Vec<u8>,
    /// The rule, or the reason, by which the entry was selected or not; `None` if no rule applies.
    pub decided_by: Option<Vec<u8>>,
    /// What a synchronisation would change.
    pub changes: Option<Changes>,
    /// Path in the target of the file of which a synchronisation would make the entry another name.
    pub linked_to: Option<Vec<u8>>,
}

/// Receiver of the steps and failures of a rehearsal.
pub trait Audience {
    /// Receives the step of an entry.
    fn step(&mut self, step: &Step);

    /// Receives a failure that the copy would meet.
    fn failed(&mut self, failure: &Failure);
}
