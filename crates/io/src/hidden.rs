//! Hidden names: `.haul-` and twelve letters, for files on their way where a file cannot be without
//! a name, and for the instant before one takes another's place.
//!
//! One form for everybody, so that `haul clean` knows what a run that was killed has left, and one
//! lock, so that it leaves alone what a run is at work on.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use haul_sys::fs::try_lock;
use haul_sys::{Call, CallError, Errno, Result};

/// What all hidden names begin with.
const PREFIX: &str = ".haul-";

/// Random letters behind it. With 60 bits two runs never meet by accident, and nobody plants a
/// name before we come to use it.
pub const LETTERS: usize = 12;

/// Letters of hidden names: 32, and none that differ only by case.
const ALPHABET: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";

/// How many random names are tried. Even the second is never needed, unless somebody fills the
/// directory with all of them.
const ATTEMPTS: u32 = 8;

/// Makes something under a hidden name that nobody has; returns it, and the name.
pub fn under_hidden_name<T>(mut make: impl FnMut(&CStr) -> Result<T>) -> Result<(T, CString)> {
    let mut last = CallError::new(Call::Openat, Errno::EXIST);
    for _ in 0..ATTEMPTS {
        let name = hidden_name()?;
        match make(&name) {
            Ok(made) => return Ok((made, name)),
            Err(error) if error.errno == Errno::EXIST => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Makes a file under a hidden name, and locks it: that tells `haul clean` that somebody is at work
/// on it. A file system without locks has to do with the file's age.
pub fn make_hidden(open: impl FnMut(&CStr) -> Result<OwnedFd>) -> Result<(OwnedFd, CString)> {
    let (file, name) = under_hidden_name(open)?;
    let _locked = try_lock(&file);
    Ok((file, name))
}

/// Tells whether this answer to [`haul_sys::fs::open_unnamed`] means that there are no files without
/// names here.
///
/// See open(2): `EOPNOTSUPP` from the file system; `EISDIR` and `EINVAL` from kernels, and from
/// drivers, that do not know the flag.
#[must_use]
pub fn has_no_unnamed(errno: Errno) -> bool {
    matches!(errno, Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL)
}

/// Tells whether a name is one that [`under_hidden_name`] gives.
#[must_use]
pub fn is_hidden_name(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes()).is_some_and(|letters| {
        letters.len() == LETTERS && letters.iter().all(|letter| ALPHABET.contains(letter))
    })
}

fn hidden_name() -> Result<CString> {
    name_of(haul_sys::process::random()?)
}

/// Spells the hidden name of these letters, of which five bits count: for who has to find it again.
pub fn name_of(letters: [u8; LETTERS]) -> Result<CString> {
    let mut name = PREFIX.as_bytes().to_vec();
    name.extend(letters.iter().map(|byte| ALPHABET[usize::from(byte % 32)]));
    CString::new(name).map_err(|_| CallError::new(Call::Getrandom, Errno::INVAL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_are_recognised_and_others_are_not() {
        let name = hidden_name().expect("a name");
        assert!(is_hidden_name(name.to_bytes()), "{name:?}");
        assert_ne!(name, hidden_name().expect("another"));
        for other in [".haul-", ".haul-notes", ".haul-0123456789AB", "x.haul-0123456789ab"] {
            assert!(!is_hidden_name(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_name_that_is_taken_is_not_used_and_not_tried_for_ever() {
        let mut tried = Vec::new();
        let taken = CallError::new(Call::Linkat, Errno::EXIST);
        let answer = under_hidden_name(|name| {
            tried.push(name.to_owned());
            if tried.len() < 3 { Err(taken) } else { Ok(7) }
        });
        assert_eq!(answer.ok(), Some((7, tried[2].clone())));
        assert_ne!(tried[0], tried[1]);
        let answer = under_hidden_name(|_| Err::<(), _>(taken));
        assert_eq!(answer.err(), Some(taken));
    }
}
