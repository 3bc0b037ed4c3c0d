//! tar archives as a source and a sink of entries.
//!
//! [`format`] reads and writes headers, [`source`] and [`filter`] give the bytes, [`extract`] makes
//! files of members, [`create`](mod@create) makes members of files, [`compare`] tells
//! how they differ. Nothing here prints, reads the environment or ends the process.
//!
//! ```
//! use haul_archive::format::{Next, Reader, Zeros};
//! use haul_archive::source::StreamSource;
//!
//! let nothing = [0_u8; 1024]; // two blocks of zeros: an empty archive
//! let mut reader = Reader::new(StreamSource::new(&nothing[..]), Zeros::End);
//! assert_eq!(reader.advance(), Ok(Next::End));
//! ```

mod accounts;
mod acl;
pub mod attributes;
pub mod compare;
pub mod create;
mod descriptors;
mod device;
pub mod extract;
pub mod filter;
pub mod format;
pub mod index;
pub mod pattern;
mod room;
pub mod safe_name;
mod sharing;
pub mod source;
mod threads;
pub mod trailed;
pub mod transform;
