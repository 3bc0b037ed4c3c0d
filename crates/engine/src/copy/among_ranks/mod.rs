//! Copying by several processes: what of a copy can move, and how it becomes a unit.

mod adopt;
pub(crate) mod answer;
mod divide;
pub(crate) mod last_part;
pub(crate) mod routes;
mod unit;

use crate::peers::Summary;

impl Summary {
    /// Returns what a unit of a copy is; `None` if a process of another version made it.
    #[must_use]
    pub fn of_copy(bytes: &[u8]) -> Option<Summary> {
        unit::summary(bytes)
    }
}
