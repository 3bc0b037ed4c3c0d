//! The journal of a run that can be gone on with (`--resume`): what was finished, and what was
//! written of large files.
//!
//! A record is a verification to be held against the world, never an order: it names the source and the
//! target by what `stat` said of them, and whoever reads it looks at both again. So nothing depends
//! on when a record reaches stable storage, except that the bytes it tells of were there before it
//! was written; a record that is lost costs a copy, and none can make one wrong.

mod aspect;
mod beginning;
mod codes;
mod header;
mod index;
mod open;
mod others;
mod record;
mod scan;
mod sums;
mod write;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

pub use aspect::{Aspect, Differences};
pub(crate) use beginning::OTHERS_WRITE;
pub(crate) use open::open;
pub(crate) use record::source as spell_source;
pub(crate) use record::{Names, Place, Position};
pub(crate) use sums::{Sum, algorithm as piece_algorithm};
pub(crate) use write::{Ended, Journal, Secure};
