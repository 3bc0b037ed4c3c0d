//! Journal of a resumable run (`--resume`): the finished entries, and the written pieces of large
//! files.
//!
//! A record that an entry is finished is evidence that a reader verifies, never an instruction: it
//! identifies the source and the target by their `stat` values, and a later run describes both again
//! before it relies on the record. The time at which such a record reaches stable storage therefore does
//! not matter, except that the bytes that it covers must be there before the record is written. A lost
//! record costs another copy, and no record can make a copy wrong.
//!
//! Two kinds of record permit a later run something, and precede what they are about: that the run makes
//! a directory with another mode than its final one, and that it publishes files. The later run may
//! change such a directory's mode, and replace such a file although the user may not write to it.

mod beginning;
mod codes;
mod header;
mod index;
mod lacking;
mod open;
mod others;
mod own_file;
mod record;
mod scan;
mod shared;
mod sums;
mod volumes;
mod write;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

pub(crate) use beginning::OTHERS_WRITE;
pub(crate) use index::Begun;
pub(crate) use open::{join, open};
pub(crate) use record::source as spell_source;
pub(crate) use record::{FinishedEntry, Names, Place, Position};
pub(crate) use shared::Shared;
pub(crate) use sums::{Sum, algorithm as piece_algorithm};
pub(crate) use volumes::is_of_running_copy;
pub use write::Conclusion;
pub(crate) use write::{Ended, Journal, Publishing, Secure};
