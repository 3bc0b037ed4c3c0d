//! The messages for failures: GNU's own where GNU's tools have one, so that scripts that read them
//! continue to work.

mod copy;
mod journal;
mod relocate;
mod remove;
mod shortage;

use haul_engine::error::{Failure, Operation};

pub(super) use shortage::of_shortage;

/// Returns the lines for a failure, without the program's name.
pub(super) fn of(failure: &Failure) -> Vec<String> {
    match failure.operation {
        Operation::Copy => vec![copy::of_copy(failure)],
        Operation::Move => vec![relocate::of_move(failure)],
        Operation::Remove => remove::of_removal(failure),
    }
}
