//! Zstandard, RFC 8878: independent frames, which can be compressed and decompressed at the same time.

mod decode;
mod encode;
mod frame;
mod seek;

pub use seek::{SeekTable, SeekableFrame};

pub(crate) use decode::Decode;
pub(crate) use encode::{Frames, OneFrame};
