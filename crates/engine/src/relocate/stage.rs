//! Hidden names under which copies wait beside their targets, and how a rerun recognises them.
//!
//! A hidden name is made from the identity of the source (inode and birth time, or inode and
//! device if the file system stores no birth time) and from the final name of the copy. So the
//! same command finds the copy of an interrupted run, two names of one file get different hidden
//! names, and the copies of other commands do not match. A checksum at the end distinguishes it
//! from names that users choose.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::os::fd::BorrowedFd;

use haul_io::hidden::checksum;
use haul_sys::Errno;
use haul_sys::fs::{Stat, Time, statat, unlinkat};

/// Common prefix of the hidden names.
pub(crate) const PREFIX: &str = ".haul-mv-";

/// What the random number of a name begins with, in the place of the birth time.
const RANDOM: &str = "r";

/// Returns the hidden name of the copy of a source that becomes `name`. A copy of what another selection
/// selects has another one; the number of a selection of everything is 0.
pub(crate) fn name_for(source: &Stat, birth: Option<Time>, name: &CStr, selection: u64) -> CString {
    let mut text = format!("{PREFIX}{:x}-", source.ino);
    // Writing to a string cannot fail.
    let _written = match birth {
        Some(birth) => write!(text, "{:x}.{:x}", birth.seconds, birth.nanoseconds),
        None => write!(text, "d{:x}", source.dev),
    };
    let _written = write!(text, "-{:x}", hash(name.to_bytes()) ^ selection);
    checked(text)
}

/// Returns a hidden name that no other move computes: for a copy whose name another user has taken, and
/// for one that is about to be removed.
pub(crate) fn random(copy: &Stat) -> haul_sys::Result<CString> {
    let random: [u8; 8] = haul_sys::process::random()?;
    let random = u64::from_ne_bytes(random);
    Ok(checked(format!("{PREFIX}{:x}-{RANDOM}{random:x}-0", copy.ino)))
}

/// Returns whether a hidden name is one of [`random`], which no rerun computes.
pub(crate) fn is_random(name: &[u8]) -> bool {
    let second = name
        .strip_prefix(PREFIX.as_bytes())
        .and_then(|rest| rest.split(|byte| *byte == b'-').nth(1));
    is_name(name) && second.is_some_and(|part| part.starts_with(RANDOM.as_bytes()))
}

/// Returns a name with its checksum.
fn checked(mut text: String) -> CString {
    let check = checksum(text.as_bytes());
    text.push('-');
    text.push_str(&check);
    CString::new(text).unwrap_or_default()
}

/// Removes a hidden name if it exists.
pub(crate) fn unlink(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<()> {
    match unlinkat(directory, name) {
        // A read-only file system fails before it looks up the name.
        Err(error) if matches!(error.errno, Errno::NOENT | Errno::ROFS) => {
            match statat(directory, name) {
                Err(looked) if looked.errno == Errno::NOENT => Ok(()),
                _ => Err(error),
            }
        }
        answer => answer,
    }
}

/// Returns whether a name has the form of a hidden name of `mv`.
pub(crate) fn is_name(name: &[u8]) -> bool {
    let is_hex = |text: &[u8]| {
        !text.is_empty() && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let Some(rest) = name.strip_prefix(PREFIX.as_bytes()) else { return false };
    let parts: Vec<&[u8]> = rest.split(|byte| *byte == b'-').collect();
    let [ino, birth, hash, check] = parts[..] else { return false };
    let checked = name.len().checked_sub(check.len() + 1).and_then(|end| name.get(..end));
    if checked.is_none_or(|text| checksum(text).as_bytes() != check) {
        return false;
    }
    let is_birth = match birth {
        // `d` is also a digit of these numbers.
        [b'd', dev @ ..] if !birth.contains(&b'.') => is_hex(dev),
        [b'r', random @ ..] => is_hex(random),
        _ => birth.split(|byte| *byte == b'.').map(is_hex).eq([true, true]),
    };
    is_hex(ino) && is_birth && is_hex(hash)
}

/// FNV-1a, <https://www.rfc-editor.org/rfc/rfc9923>: it distinguishes the names of one file in one
/// directory, and needs no other property.
fn hash(bytes: &[u8]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(START, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_names_are_known_and_no_others() {
        let stat = haul_sys::fs::statat(haul_sys::fs::CWD, c"/").expect("a root");
        for birth in [None, Some(Time { seconds: 0x6b02_701c, nanoseconds: 0xd })] {
            let name = name_for(&stat, birth, c"name", 0);
            assert!(is_name(name.to_bytes()), "{name:?}");
        }
        let name = random(&stat).expect("a name");
        assert!(is_name(name.to_bytes()) && is_random(name.to_bytes()), "{name:?}");
        let computed = name_for(&stat, None, c"name", 7);
        assert!(!is_random(computed.to_bytes()), "{computed:?}");
        let checked = |text: &str| format!("{text}-{}", checksum(text.as_bytes()));
        for name in [".haul-mv-1-d2-3", ".haul-mv-1-d2.3-3"] {
            assert!(is_name(checked(name).as_bytes()), "{name}");
            assert!(!is_name(name.as_bytes()), "{name}");
            assert!(!is_name(format!("{name}-000000000").as_bytes()), "{name}");
        }
        for name in [".haul-mv-", ".haul-mv-1-2-3", ".haul-mv-1-d-3", ".haul-mv-1-2.3-4-5", "x"] {
            assert!(!is_name(name.as_bytes()) && !is_name(checked(name).as_bytes()), "{name}");
        }
    }

    #[test]
    fn fnv_is_as_published() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
