//! The formats of archives: blocks, headers, extended headers, sparse files.

mod extent;
mod failure;
mod header;
mod limits;
mod member;
mod next;
mod number;
mod pax;
mod pax_options;
mod pending;
mod reader;
mod refusal;
mod regions;
mod sparse;
#[cfg(test)]
mod tests;
mod writer;

#[cfg(test)]
pub(crate) use tests::reseal;

pub use header::{BLOCK_BYTES, Layout};
pub use limits::{EXTENDED_MAX_BYTES, EXTENDED_REGIONS_MAX, REGIONS_MAX};
pub use member::{Member, MemberKind, Moment, Region};
pub use next::{At, Ending, Flaw, Next, ReadError, Zeros};
pub use pax_options::PaxOptions;
pub use reader::Reader;
pub use refusal::Refusal;
pub use sparse::SparseVersion;
pub use writer::{
    Boundary, ExtraHeader, OwnerNames, Style, Unwritable, WriteFormat, global_header, headers,
};
