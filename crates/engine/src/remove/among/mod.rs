//! Removing by several processes: what of a removal can move, and how it becomes a unit.

mod adopt;
mod divide;
pub(super) mod kept;
#[cfg(test)]
mod tests;
mod unit;

use super::{Approval, Ask, Request};
use crate::data::request::Order;
use crate::peers::{Summary, Unsupported};

impl Summary {
    /// Returns what a unit of a removal is; `None` if a process of another version made it.
    #[must_use]
    pub fn of_removal(bytes: &[u8]) -> Option<Summary> {
        unit::summary(bytes)
    }
}

/// Returns the first part of a removal that several processes cannot carry out together.
pub(crate) fn unsupported(request: &Request) -> Option<Unsupported> {
    let policy = &request.policy;
    let parts = [
        (request.selection.is_some(), Unsupported::Selection),
        (policy.ask != Ask::Never, Unsupported::Questions),
        (policy.order == Order::Listed, Unsupported::Order),
        (policy.approval == Approval::Each, Unsupported::Approval),
    ];
    parts.into_iter().find_map(|(is_wanted, part)| is_wanted.then_some(part))
}
