//! The applets: a folder each (options, help, run), and a row each in `table.rs`.

#[cfg(feature = "bench")]
mod bench;
mod cache;
mod cat;
mod clean;
mod compare;
mod completions;
mod cp;
mod dd;
mod dispatch;
mod doctor;
mod entry;
#[cfg(test)]
mod fuzz;
mod gzip;
mod install_links;
mod manual;
mod mv;
mod read;
mod rm;
mod spare;
mod split;
mod sums;
mod sync;
mod table;
mod tar;
mod tee;
#[cfg(feature = "trace")]
mod trace;
#[cfg(feature = "bench")]
mod tune;
mod verify;
mod write;

pub use compare::{Comparison, compare_among, unit_of_comparison};
pub use cp::copy_among;
pub(crate) use dispatch::dispatch;
pub use rm::remove_among;
