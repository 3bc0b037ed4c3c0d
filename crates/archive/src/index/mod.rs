//! The member index: which member begins where in an archive of several Zstandard frames, so that
//! single members are read without the rest.
//!
//! It lies in a skippable frame before the seek table, which all other programs skip. A reader uses it
//! only to choose what it reads: every name and every size still comes from the headers that it finds
//! there. An index that is wrong can hide members, or show data of a member as members, and nothing in an
//! archive can prove that it is not: the one who made the archive made the index, too. So it is used only if the user
//! asks for it (`--trust-index`).

mod read;
mod selected;
mod write;

pub use selected::select;
pub use write::IndexWriter;

/// The first bytes of an index; the last one is its version.
const MAGIC: [u8; 8] = *b"haultar\x01";
