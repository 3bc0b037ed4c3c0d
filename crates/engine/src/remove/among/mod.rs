//! Removing by several processes: what of a removal can move, and how it becomes a unit.

mod adopt;
mod divide;
pub(super) mod kept;
#[cfg(test)]
mod tests;
mod unit;

pub(crate) use unit::summary;
