//! Creation: names become members of an archive.
//!
//! One thread walks the trees and decides the order, workers describe entries and read small files, and
//! the caller's thread writes members in the order of the walk. So the bytes of an archive do not depend
//! on the number of workers or on timing.

mod creator;
mod entry;
mod line;
mod mode;
mod plan;
mod sink;
mod walk;

pub use creator::create;
pub use mode::ModeChange;
pub use plan::{Event, Monitor, Operand, Owner, Plan, Severity};
pub use sink::Sink;
pub use walk::Sort;
