//! The hidden names under which copies wait beside their place, and how a rerun knows its own.
//!
//! The name is made from what the source is (inode and moment of birth, or device where births are
//! not kept) and from the name that the copy is to get. So the same command finds what an interrupted
//! one has left, two names of one file do not meet, and nobody else's leftovers fit.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;

use haul_sys::fs::{Stat, Time};

/// What all of them begin with.
pub(super) const PREFIX: &str = ".haul-mv-";

/// Returns the name under which the copy of a source waits to become `name`.
pub(super) fn name_for(source: &Stat, birth: Option<Time>, name: &CStr) -> CString {
    let mut text = format!("{PREFIX}{:x}-", source.ino);
    // Writing to a string cannot fail.
    let _written = match birth {
        Some(birth) => write!(text, "{:x}.{:x}", birth.seconds, birth.nanoseconds),
        None => write!(text, "d{:x}", source.dev),
    };
    let _written = write!(text, "-{:x}", hash(name.to_bytes()));
    CString::new(text).unwrap_or_default()
}

/// FNV-1a, <https://www.rfc-editor.org/rfc/rfc9923>: it only has to keep apart the names that one
/// file gets in one directory.
fn hash(bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_is_as_published() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
