//! Numbers of header fields: octal text, and GNU's base 256 for what does not fit it.
//!
//! Readers differ in what they accept beyond these two, so nothing else is accepted.

use super::refusal::Refusal;

/// Reads a field. Octal digits may have spaces before and behind them. A NUL ends the text, and what is behind it has
/// no meaning for any reader; a field of NULs alone is 0. A first byte of 0x80 or 0xff begins a two's complement number in
/// base 256.
pub(super) fn parse(field: &[u8]) -> Result<i64, Refusal> {
    match field.first() {
        Some(0x80 | 0xff) => base_256(field),
        _ => octal(field),
    }
}

/// Reads a field that cannot be negative.
pub(super) fn parse_unsigned(field: &[u8]) -> Result<u64, Refusal> {
    u64::try_from(parse(field)?).map_err(|_| Refusal::NegativeNumber)
}

fn octal(field: &[u8]) -> Result<i64, Refusal> {
    // GNU tar reads what is behind a leading NUL, other readers 0.
    if let [0, second, ..] = field
        && *second != 0
    {
        return Err(Refusal::MalformedNumber);
    }
    let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
    let start = text.iter().position(|byte| *byte != b' ').unwrap_or(text.len());
    let rest = text.get(start..).unwrap_or_default();
    // GNU tar refuses a field of spaces, other readers take 0.
    if rest.is_empty() && text.len() == field.len() {
        return Err(Refusal::MalformedNumber);
    }
    // Some readers take it for a number below 0, others for none.
    if rest.first() == Some(&b'-') {
        return Err(Refusal::NegativeNumber);
    }
    let digits = rest.iter().take_while(|byte| (b'0'..=b'7').contains(*byte)).count();
    let (digits, behind) = rest.split_at(digits);
    if behind.iter().any(|byte| *byte != b' ') {
        return Err(Refusal::MalformedNumber);
    }
    let mut value: i64 = 0;
    for digit in digits {
        value = value
            .checked_mul(8)
            .and_then(|value| value.checked_add(i64::from(digit - b'0')))
            .ok_or(Refusal::NumberTooLarge)?;
    }
    Ok(value)
}

fn base_256(field: &[u8]) -> Result<i64, Refusal> {
    let (first, rest) = field.split_first().ok_or(Refusal::MalformedNumber)?;
    let mut value: i128 = if *first == 0xff { -1 } else { 0 };
    for byte in rest {
        value = (value << 8) | i128::from(*byte);
        if i64::try_from(value).is_err() {
            return Err(Refusal::NumberTooLarge);
        }
    }
    i64::try_from(value).map_err(|_| Refusal::NumberTooLarge)
}

/// The largest number that a field of this many bytes holds in octal, with a NUL at its end.
pub(super) const fn octal_max(bytes: usize) -> i64 {
    (1 << (3 * (bytes - 1))) - 1
}

/// Writes a number into a field as octal digits and a NUL. Returns `false` if it does not fit.
pub(super) fn write_octal(field: &mut [u8], value: i64) -> bool {
    if value < 0 || value > octal_max(field.len()) {
        return false;
    }
    let mut rest = value;
    if let Some((last, digits)) = field.split_last_mut() {
        *last = 0;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + u8::try_from(rest & 7).unwrap_or(0);
            rest >>= 3;
        }
    }
    true
}

/// Writes a number into a field in base 256.
pub(super) fn write_base_256(field: &mut [u8], value: i64) {
    let mut rest = value;
    for byte in field.iter_mut().skip(1).rev() {
        *byte = rest.to_le_bytes()[0];
        rest >>= 8;
    }
    if let Some(first) = field.first_mut() {
        *first = if value < 0 { 0xff } else { 0x80 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_as_written() {
        for value in [0, 1, 7, 0o7777, octal_max(8), octal_max(12)] {
            let mut field = [0; 12];
            assert!(write_octal(&mut field, value));
            assert_eq!(parse(&field), Ok(value));
        }
        for value in [0, -1, 1, i64::MAX, i64::MIN, -2_000_000_000, 1 << 40] {
            let mut field = [0; 12];
            write_base_256(&mut field, value);
            assert_eq!(parse(&field), Ok(value), "{field:?}");
        }
        assert!(!write_octal(&mut [0; 8], 1 << 21));
        assert!(!write_octal(&mut [0; 8], -1));
    }

    #[test]
    fn what_readers_read_differently_is_refused() {
        assert_eq!(parse(b"  644 \0 "), Ok(0o644));
        assert_eq!(parse(b"\0\0\0"), Ok(0));
        assert_eq!(parse(b"  \0x"), Ok(0));
        assert_eq!(parse(b"0000644\0x"), Ok(0o644));
        assert_eq!(parse(b"644 \0x"), Ok(0o644));
        assert_eq!(parse(b"644 x"), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"        "), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"\x000644\0"), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"644x"), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"12 34"), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"-1"), Err(Refusal::NegativeNumber));
        assert_eq!(parse(b"\x81\0\0\0"), Err(Refusal::MalformedNumber));
        assert_eq!(parse(b"7777777777777777777777777"), Err(Refusal::NumberTooLarge));
        assert_eq!(parse(&[&[0x80][..], &[0xff; 11]].concat()), Err(Refusal::NumberTooLarge));
        assert_eq!(parse_unsigned(&[0xff; 12]), Err(Refusal::NegativeNumber));
    }
}
