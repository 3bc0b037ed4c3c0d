//! The sums: one engine, and a command line for each program that people know.
//!
//! The GNU family (`md5sum`, `sha*sum`, `b2sum`, `cksum`) shares options, formats and messages;
//! `haul sum` is the same with every algorithm; `b3sum` and `xxhsum` have their own ways.

mod b3sum;
mod base64;
mod check;
mod format;
mod gnu;
mod hash;
mod lines;
mod options;
mod settings;
mod xxhsum;

pub(crate) use b3sum::run as b3sum;
pub(crate) use gnu::{
    b2sum, cksum, md5sum, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum, sum,
};
pub(crate) use xxhsum::run as xxhsum;
