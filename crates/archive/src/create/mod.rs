//! Creation: names become members of an archive.
//!
//! Threads take turns: one at a time walks the trees and decides the order, any number of them describe
//! entries and read small files, and one at a time writes members in the order of the walk. Into an
//! uncompressed regular file other threads move large files, each to the offset that is known once it is
//! described. So the bytes of an archive do not depend on the number of threads or on timing.

mod archive_file;
mod creator;
mod entry;
mod found;
mod frame_ends;
mod holes;
mod line;
mod mode;
mod packed;
mod pipeline;
mod placing;
mod plan;
mod removal;
mod sink;
mod tag;
mod turns;
mod walk;
mod work;

pub use archive_file::{ArchiveFile, Output, Place};
pub use frame_ends::{Extent, FrameEnds};
pub use mode::ModeChange;
pub use packed::{Borders, Packed};
pub use pipeline::create;
pub use plan::{Atime, Event, Holes, Monitor, Newer, Operand, Owner, Plan, Report, Severity};
pub use removal::{Archived, Stays, remove_archived};
pub use sink::Sink;
pub use tag::{Tag, TagScope};
pub use walk::Sort;
