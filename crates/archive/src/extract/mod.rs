//! Extraction: members become files below a target directory.
//!
//! One thread reads headers and makes directories and links, in the order of the archive. Regular files
//! are made by workers: from an archive that is an uncompressed file they move the bytes themselves,
//! else they get them in memory. A file whose name exists comes back to the first thread, which waits
//! for all workers before it removes anything, so the result does not depend on timing.

mod attributes;
mod crew;
mod event;
mod extracted;
mod extractor;
mod file;
mod files;
mod held;
mod in_flight;
mod kept;
mod kept_link;
mod links;
mod names;
mod node;
pub(crate) mod place;
mod policy;
mod queue;
mod rehearsal;
mod remove_tree;
mod shared;
#[cfg(test)]
mod tests;

use haul_sys::{CallError, Errno};

pub use event::{Action, Event};
pub use extractor::Extractor;
pub use policy::{
    Appearance, Devices, Existing, Monitor, Names, Owners, Permissions, Policy, Times,
};
pub use rehearsal::{Intent, Rehearsal};

/// Returns whether this process, or the system, has no more descriptors.
fn lacks_descriptors(error: CallError) -> bool {
    matches!(error.errno, Errno::MFILE | Errno::NFILE)
}
