//! Lines for people.

mod entry;
mod explain;
mod offload;
mod rehearse;
mod reporter;
mod summary;

pub(super) use reporter::Text;
pub(super) use summary::{all_there, stats, stopped};
