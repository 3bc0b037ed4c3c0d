//! Peers: processes that carry out one copy, removal or comparison together, each with a pool of workers of its
//! own.
//!
//! One process, the first rank, resolves the operands; the others start without work. Work moves
//! between them as [units](Sent): a directory that was found, names of one directory, or a part of a large file. A unit is
//! plain data: the chain of directories from the operand down, with inode numbers, and names. The
//! process that receives it opens that chain, verifies the inode numbers, and continues with the
//! same steps that it takes alone. The process that sent it still owes the unit to the directory, so
//! it applies that directory's attributes, or removes the directory, when the unit is done.
//!
//! An operation whose work can move is [`Divided`](divided::Divided); the exchange is the same for
//! all. This module sends no messages. The caller implements [`Peers`] and decides which process
//! gets what.

pub(crate) mod divided;
mod exchange;
pub(crate) mod state;
pub(crate) mod summary;
pub(crate) mod unit;
mod unsupported;

pub use crate::journal::Conclusion;
pub(crate) use exchange::Units;
pub use exchange::{Exchange, Occupies, Peers, Sent};
pub use state::{Answer, ROOT, Ranks, Token};
pub use summary::{Extent, Summary};
pub use unsupported::Unsupported;
pub(crate) use unsupported::unsupported;
