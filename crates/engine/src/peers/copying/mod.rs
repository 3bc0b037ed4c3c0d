//! Copying by several processes: what of a copy can move, and how it becomes a unit.

mod adopt;
pub(crate) mod answer;
mod divide;
pub(crate) mod last_part;
pub(crate) mod routes;
mod unit;

pub(crate) use unit::summary;
