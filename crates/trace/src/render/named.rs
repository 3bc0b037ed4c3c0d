//! The calls and io_uring operations of some figures in one list, with the names and remarks that every form of a
//! report uses.

use super::quantity::count;
use crate::calls::{Size, operation_shape, shape_of};
use crate::errno_name;
use crate::report::{Tallies, Tally};

/// Prefix of io_uring operations.
pub(super) const OPERATION: &str = "io_uring ";

/// Returns calls and operations with their names, those with most time first.
pub(super) fn by_time(tallies: &Tallies) -> Vec<(String, &Tally)> {
    let calls = tallies.calls.iter().map(|(name, tally)| (name.to_string(), tally));
    let operations =
        tallies.operations.iter().map(|(name, tally)| (format!("{OPERATION}{name}"), tally));
    let mut sorted: Vec<_> = calls.chain(operations).collect();
    sorted.sort_by_key(|(name, tally)| (std::cmp::Reverse(tally.total_ns), name.clone()));
    sorted
}

/// Returns whether the sizes of a call are bytes that it moved, not lengths that were requested, such
/// as that of a mapping.
pub(super) fn moves_bytes(name: &str) -> bool {
    let shape = name.strip_prefix(OPERATION).map_or_else(|| shape_of(name), operation_shape);
    shape.size == Size::Returned
}

/// Returns the name of a call with remarks on failures and on calls that did not return.
pub(super) fn label(name: &str, tally: &Tally) -> String {
    let mut label = name.to_owned();
    if tally.unfinished > 0 {
        label = format!("{label}  ({} unfinished)", count(tally.unfinished));
    }
    if !tally.errors.is_empty() {
        label = format!("{label}  ({})", errors(tally));
    }
    label
}

/// Lists the errnos of a call, the most frequent first.
fn errors(tally: &Tally) -> String {
    let mut sorted: Vec<(&i32, &u64)> = tally.errors.iter().collect();
    sorted.sort_by_key(|(errno, count)| (std::cmp::Reverse(**count), **errno));
    let names: Vec<String> = sorted
        .into_iter()
        .map(|(errno, times)| match errno {
            0 => format!("{} failed", count(*times)),
            _ => format!("{} {}", count(*times), errno_name(*errno)),
        })
        .collect();
    names.join(", ")
}
