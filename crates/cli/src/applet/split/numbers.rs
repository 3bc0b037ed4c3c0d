//! Numbers as split's options have them: `10`, `4K`, `2MB`, `1MiB`; and how GNU complains.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use haul_sys::{Errno, errno_text};

use super::output::Fatal;
use crate::escape::quote_word;

/// Which letters may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Units {
    None,
    /// Multiples of 1024, of 1000 with a final `B`, and `b` for 512.
    Bytes,
}

/// A number as it was read, cut to what the type holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read<'t> {
    Number(i64),
    /// Beyond the type; `true` if below zero.
    Overflow(bool),
    /// A number followed by something else.
    Trailing(i64, &'t [u8]),
    Invalid,
}

/// Reads a number the way C programs do: white space and a sign may come first.
pub(super) fn read(text: &[u8], units: Units) -> Read<'_> {
    let mut rest = text.trim_ascii_start();
    let negative = rest.first() == Some(&b'-');
    if let [b'-' | b'+', behind @ ..] = rest {
        rest = behind;
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at(digits);
    let factor = unit(behind, units);
    if digits.is_empty() && (factor.is_none() || behind.is_empty()) {
        return Read::Invalid;
    }
    let magnitude = digits
        .iter()
        .fold(if digits.is_empty() { 1_u128 } else { 0 }, |number, digit| {
            number.saturating_mul(10).saturating_add(u128::from(digit - b'0'))
        })
        .saturating_mul(factor.unwrap_or(1));
    let number = i64::try_from(magnitude).map(|number| if negative { -number } else { number });
    match (number, factor) {
        (Ok(number), None) => Read::Trailing(number, behind),
        (Ok(number), Some(_)) => Read::Number(number),
        // A suffix after a number that is too large has no effect.
        (Err(_), None) => Read::Trailing(i64::MAX, behind),
        (Err(_), Some(_)) => Read::Overflow(negative),
    }
}

/// Returns what a unit multiplies by, if it is one.
fn unit(text: &[u8], units: Units) -> Option<u128> {
    if text.is_empty() {
        return Some(1);
    }
    if units == Units::None {
        return None;
    }
    let (letter, base) = match text {
        [letter] | [letter, b'i', b'B'] => (*letter, 1024_u128),
        [letter, b'B'] => (*letter, 1000),
        _ => return None,
    };
    let power = match letter {
        b'b' => return (text.len() == 1).then_some(512),
        b'K' | b'k' => 1,
        b'M' | b'm' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        b'E' => 6,
        b'Z' => 7,
        b'Y' => 8,
        b'R' => 9,
        b'Q' => 10,
        _ => return None,
    };
    Some(base.pow(power))
}

fn complaint(what: &str, text: &[u8], errno: Option<Errno>) -> Fatal {
    let why = errno.map(|errno| format!(": {}", errno_text(errno))).unwrap_or_default();
    Fatal::new(format!("{what}: {}{why}", quote_word(text)))
}

/// Reads a positive number; beyond the type means without limit.
pub(super) fn positive(text: &OsStr, units: Units, what: &str) -> Result<u64, Fatal> {
    let bytes = text.as_bytes();
    match read(bytes, units) {
        Read::Number(number) if number > 0 => Ok(number.unsigned_abs()),
        Read::Overflow(false) => Ok(i64::MAX.unsigned_abs()),
        Read::Overflow(true) => Err(complaint(what, bytes, Some(Errno::RANGE))),
        Read::Number(_) | Read::Trailing(..) | Read::Invalid => Err(complaint(what, bytes, None)),
    }
}

/// Reads a number that may be zero and has to fit.
pub(super) fn whole(text: &OsStr, units: Units, what: &str) -> Result<u64, Fatal> {
    let bytes = text.as_bytes();
    match read(bytes, units) {
        Read::Number(number) if number >= 0 => Ok(number.unsigned_abs()),
        Read::Number(_) | Read::Overflow(_) => Err(complaint(what, bytes, Some(Errno::OVERFLOW))),
        Read::Trailing(..) | Read::Invalid => Err(complaint(what, bytes, None)),
    }
}

/// Reads `N` or `K/N`.
pub(super) fn chunks(bytes: &[u8]) -> Result<(Option<u64>, u64), Fatal> {
    const WHAT: &str = "invalid number of chunks";
    match read(bytes, Units::None) {
        Read::Trailing(chunk, [b'/', behind @ ..]) => {
            let count = positive(OsStr::from_bytes(behind), Units::None, WHAT)?;
            match u64::try_from(chunk) {
                Ok(chunk) if (1..=count).contains(&chunk) => Ok((Some(chunk), count)),
                _ => {
                    let shown = &bytes[..bytes.len() - behind.len() - 1];
                    Err(complaint("invalid chunk number", shown, None))
                }
            }
        }
        Read::Trailing(..) => Err(complaint(WHAT, bytes, None)),
        _ => positive(OsStr::from_bytes(bytes), Units::None, WHAT).map(|count| (None, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units_or_not() {
        let of = |text: &'static str| read(text.as_bytes(), Units::Bytes);
        assert_eq!(of("10"), Read::Number(10));
        assert_eq!(of(" +3b"), Read::Number(1536));
        assert_eq!(of("2K"), Read::Number(2048));
        assert_eq!(of("2KB"), Read::Number(2000));
        assert_eq!(of("1MiB"), Read::Number(1 << 20));
        assert_eq!(of("K"), Read::Number(1024));
        assert_eq!(of("1Q"), Read::Overflow(false));
        assert_eq!(of("-5"), Read::Number(-5));
        assert_eq!(of("5x"), Read::Trailing(5, b"x"));
        assert_eq!(of("x"), Read::Invalid);
        assert_eq!(of(""), Read::Invalid);
        assert_eq!(read(b"5K", Units::None), Read::Trailing(5, b"K"));
        assert_eq!(chunks(b"2/3").unwrap(), (Some(2), 3));
        assert_eq!(
            chunks(b"18446744073709551616/18446744073709551616").unwrap().0,
            Some(i64::MAX as u64)
        );
        assert!(chunks(b"0/3").is_err() && chunks(b"4/3").is_err() && chunks(b"3x").is_err());
    }
}
