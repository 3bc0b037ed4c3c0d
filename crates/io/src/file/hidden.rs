//! Hidden names: `.haul-`, twelve letters and a checksum of nine digits, for files on their way where
//! a file cannot be without a name, and for the instant before one takes another's place.
//!
//! `haul clean` removes what has such a name, so no name that a person gives may pass for one: no word
//! has nine digits behind it, and of names that have, one in 1,000,000,000 has the right ones.
//!
//! A file that is about to be removed has its own name behind the digits, for the instant of a last look at it.
//!
//! One form for all commands, so that `haul clean` knows what a killed run has left, and one
//! lock, so that it leaves alone what a run is at work on.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;

use haul_sys::fs::try_lock;
use haul_sys::{Call, CallError, Errno, Result};

/// What all hidden names begin with.
const PREFIX: &str = ".haul-";

/// Random letters behind it. With 60 bits two runs never meet by accident, and an attacker cannot plant
/// the name before it is used.
pub const LETTERS: usize = 12;

/// Letters of hidden names: 32, and none that differ only by case.
const ALPHABET: [u8; 32] = *b"0123456789abcdefghijklmnopqrstuv";

/// Digits of a checksum.
const CHECK_DIGITS: usize = 9;

/// One more than the largest checksum.
const CHECKS: u64 = 1_000_000_000;

/// How many random names are tried. Even the second is never needed, unless another process fills the
/// directory with all of them.
const ATTEMPTS: u32 = 8;

/// Makes something under a hidden name that is free; returns it, and the name.
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

/// Makes a file under a hidden name, and locks it: the lock tells `haul clean` that a run is at work
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
    let Some((letters, rest)) =
        name.strip_prefix(PREFIX.as_bytes()).and_then(|rest| rest.split_at_checked(LETTERS))
    else {
        return false;
    };
    letters.iter().all(|letter| ALPHABET.contains(letter))
        && rest.strip_prefix(b"-") == Some(checksum(letters).as_bytes())
}

/// Returns the checksum of a name that haul gives: it tells that name from all others.
#[must_use]
pub fn checksum(name: &[u8]) -> String {
    /// Part of the form of the names: with another one, what earlier runs have left is not known.
    const SEED: u64 = 0x6861_756c;
    let check = xxhash_rust::xxh3::xxh3_64_with_seed(name, SEED) % CHECKS;
    format!("{check:0CHECK_DIGITS$}")
}

fn hidden_name() -> Result<CString> {
    name_of(haul_sys::process::random()?)
}

/// Returns the hidden name of these letters, of which five bits count, so that it can be found again.
pub fn name_of(letters: [u8; LETTERS]) -> Result<CString> {
    let letters = letters.map(|byte| ALPHABET[usize::from(byte % 32)]);
    let name = [PREFIX.as_bytes(), &letters, b"-", checksum(&letters).as_bytes()].concat();
    CString::new(name).map_err(|_| CallError::new(Call::Getrandom, Errno::INVAL))
}

/// Returns a hidden name, made of these letters, that contains another name, or as much of it as fits in a name of `most`
/// bytes.
pub(crate) fn name_above(letters: [u8; LETTERS], name: &[u8], most: usize) -> Result<CString> {
    let hidden = name_of(letters)?.into_bytes();
    let mut end = name.len().min(most.saturating_sub(hidden.len() + 1));
    // Some file systems want characters of UTF-8 to be complete.
    while end < name.len() && name[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    CString::new([&hidden, &b"-"[..], &name[..end]].concat())
        .map_err(|_| CallError::new(Call::Getrandom, Errno::INVAL))
}

/// Returns whether a hidden name is one that a file with this name has for the instant of a last look at it.
#[must_use]
pub fn is_above(hidden: &[u8], name: &[u8]) -> bool {
    /// Shorter names contain the whole name.
    const CUT_BYTES: usize = 60;
    name_below(hidden).is_some_and(|below| {
        below == name || (hidden.len() >= CUT_BYTES && name.starts_with(below))
    })
}

/// Returns the name that a hidden name contains, if it is one of [`name_above`].
#[must_use]
pub fn name_below(name: &[u8]) -> Option<&[u8]> {
    let (hidden, below) = name.split_at_checked(PREFIX.len() + LETTERS + 1 + CHECK_DIGITS)?;
    let below = below.strip_prefix(b"-").filter(|below| !below.is_empty())?;
    is_hidden_name(hidden).then_some(below)
}

/// Returns whether the letters of a hidden name begin with these, of which five bits count.
pub(crate) fn has_letters(name: &[u8], first: &[u8]) -> bool {
    let Some(letters) = name.strip_prefix(PREFIX.as_bytes()) else { return false };
    let is_first = |(byte, letter): (&u8, &u8)| ALPHABET[usize::from(byte % 32)] == *letter;
    letters.len() >= first.len() && first.iter().zip(letters).all(is_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_are_recognised_and_others_are_not() {
        let name = hidden_name().expect("a name");
        assert!(is_hidden_name(name.to_bytes()), "{name:?}");
        assert_ne!(name, hidden_name().expect("another"));
        let mut long = name.to_bytes().to_vec();
        long.push(b'0');
        assert!(!is_hidden_name(&long));
        for other in [
            ".haul-",
            ".haul-notes",
            ".haul-0123456789ab",
            ".haul-0123456789ab-",
            ".haul-0123456789AB-000000000",
            "x.haul-0123456789ab-000000000",
        ] {
            assert!(!is_hidden_name(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn the_form_of_the_names_stays() {
        // What a run has left, a later version has to know.
        let name = name_of(*b"abcdefghijkl").expect("a name");
        assert_eq!(name.as_bytes(), b".haul-123456789abc-415481728");
    }

    #[test]
    fn a_hidden_name_contains_another_one() {
        let long = "ä".repeat(120);
        for (name, most, expected) in [
            ("g", 255, "g"),
            ("g-h.~1~", 255, "g-h.~1~"),
            (&long, 255, &long[..226]),
            (&long, 254, &long[..224]),
            ("abcdef", 32, "abc"),
        ] {
            let hidden = name_above(*b"abcdefghijkl", name.as_bytes(), most).expect("a name");
            assert!(hidden.as_bytes().len() <= most && !is_hidden_name(hidden.as_bytes()));
            assert_eq!(name_below(hidden.as_bytes()), Some(expected.as_bytes()));
            assert!(has_letters(hidden.as_bytes(), b"abcdefgh"));
            assert!(!has_letters(hidden.as_bytes(), b"abcdefgi"));
        }
        let bare = name_of(*b"abcdefghijkl").expect("a name");
        for other in [".haul-123456789abc-415481728-", ".haul-123456789abc-415481729-g", "g"] {
            assert_eq!(name_below(other.as_bytes()), None, "{other}");
        }
        assert_eq!(name_below(bare.as_bytes()), None);
    }

    /// Makes words as of a language: syllables, twelve letters in all.
    fn words() -> impl Iterator<Item = String> {
        const SYLLABLES: [&str; 16] = [
            "ar", "chi", "tec", "ture", "in", "sta", "la", "tion", "con", "ver", "men", "ting",
            "re", "pro", "gra", "mer",
        ];
        let mut state = 1_usize;
        std::iter::repeat_with(move || {
            let mut word = String::new();
            while word.len() < LETTERS {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                word.push_str(SYLLABLES[state >> 60]);
            }
            word.truncate(LETTERS);
            word
        })
    }

    #[test]
    fn no_name_that_a_person_gives_passes_for_one_of_ours() {
        let known = ["architecture", "installation", "20240131noon", "constructive"];
        let all = known.into_iter().map(str::to_owned).chain(words().take(200_000));
        for (number, word) in all.enumerate() {
            for other in [
                format!(".haul-{word}"),
                format!(".haul-{word}-{number}"),
                format!(".haul-{word}-{number:09}"),
                format!(".haul-{word}-20240131{}", number % 10),
                format!(".haul-{word}-{}", &word[..9]),
            ] {
                assert!(!is_hidden_name(other.as_bytes()), "{other}");
            }
        }
    }

    #[test]
    fn a_checksum_depends_on_every_letter() {
        let letters = *b"0123456789ab";
        let check = checksum(&letters);
        for at in 0..LETTERS {
            let mut other = letters;
            other[at] = b'v';
            assert_ne!(checksum(&other), check, "{at}");
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
