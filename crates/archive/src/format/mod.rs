//! The formats of archives: blocks, headers, extended headers, sparse files.

mod header;
mod member;
mod number;
mod pax;
mod reader;
mod refusal;
#[cfg(test)]
mod tests;
mod writer;

pub use header::{BLOCK_BYTES, Layout};
pub use member::{Member, MemberKind, Moment, Region};
pub use reader::{At, EXTENDED_MAX_BYTES, Next, REGIONS_MAX, ReadError, Reader, Zeros};
pub use refusal::Refusal;
pub use writer::{OwnerNames, Style, Unwritable, WriteFormat, headers};
