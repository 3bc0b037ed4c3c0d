//! The messages for failures: GNU's own where GNU's tools have one, so that scripts that read them
//! continue to work.

mod copy;
mod journal;
mod relocate;
mod remove;
mod shortage;

pub(super) use copy::of_copy;
pub(super) use relocate::of_move;
pub(super) use remove::of_removal;
pub(super) use shortage::of_shortage;
