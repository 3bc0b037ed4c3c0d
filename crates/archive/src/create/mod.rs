//! Creation: names become members of an archive.
//!
//! One thread walks the trees and decides the order, workers describe entries and read small files, and
//! the caller's thread writes members in the order of the walk. So the bytes of an archive do not depend
//! on the number of workers or on timing.

mod creator;
mod entry;
mod holes;
mod line;
mod mode;
mod plan;
mod removal;
mod sink;
mod tag;
mod walk;

pub use creator::create;
pub use mode::ModeChange;
pub use plan::{Atime, Event, Holes, Monitor, Newer, Operand, Owner, Plan, Severity};
pub use removal::{Archived, Stays, remove_archived};
pub use sink::Sink;
pub use tag::{Tag, TagScope};
pub use walk::Sort;
