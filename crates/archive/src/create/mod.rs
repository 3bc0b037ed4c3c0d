//! Creation: names become members of an archive.
//!
//! One thread walks the trees and decides the order, workers describe entries and read small files, and
//! the caller's thread writes members in the order of the walk. Into an uncompressed regular file other
//! workers move large files, each to the offset that is known once it is described. So the bytes of an
//! archive do not depend on the number of workers or on timing.

mod archive_file;
mod creator;
mod entry;
mod holes;
mod line;
mod mode;
mod pipeline;
mod placing;
mod plan;
mod removal;
mod sink;
mod tag;
mod walk;
mod work;

pub use archive_file::{ArchiveFile, Output, Place};
pub use mode::ModeChange;
pub use pipeline::create;
pub use plan::{Atime, Event, Holes, Monitor, Newer, Operand, Owner, Plan, Severity};
pub use removal::{Archived, Stays, remove_archived};
pub use sink::Sink;
pub use tag::{Tag, TagScope};
pub use walk::Sort;
