//! Sizes on the command line, with the suffixes of rsync.

/// Reads a size as `--max-size` of rsync(1) does: a number, perhaps with a fraction, then `B`, `K`, `M`, `G`,
/// `T` or `P` for powers of 1024, with `B` behind it for powers of 1000, and at last `+1` or `-1`.
#[must_use]
pub fn parse_size(text: &[u8]) -> Option<u64> {
    let (text, change) = match text {
        [number @ .., b'+', b'1'] if !number.is_empty() => (number, 1),
        [number @ .., b'-', b'1'] if !number.is_empty() => (number, -1),
        _ => (text, 0),
    };
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let whole = text.iter().take_while(|byte| is_digit(byte)).count();
    let mut digits = whole;
    if text.get(whole) == Some(&b'.') {
        digits += 1 + text[whole + 1..].iter().take_while(|byte| is_digit(byte)).count();
    }
    let (number, suffix) = text.split_at_checked(digits)?;
    let (letter, base) = match suffix.split_first() {
        None => (b'B', &b""[..]),
        Some((letter, base)) => (letter.to_ascii_uppercase(), base),
    };
    let power = match letter {
        b'B' => 0,
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        b'P' => 5,
        _ => return None,
    };
    let base: u64 = match base.to_ascii_lowercase().as_slice() {
        b"" | b"ib" => 1024,
        b"b" => 1000,
        _ => return None,
    };
    let unit = base.pow(power);
    let number = std::str::from_utf8(number).ok()?;
    let size = match number.parse::<u64>() {
        Ok(whole) => whole.checked_mul(unit)?,
        Err(_) => {
            let size = number.parse::<f64>().ok()? * unit as f64;
            // A fraction has a suffix, so the precision of a float is enough.
            (size < i64::MAX as f64).then_some(size as u64)?
        }
    };
    size.checked_add_signed(change).filter(|size| i64::try_from(*size).is_ok())
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes_have_the_suffixes_of_rsync() {
        let size = |text: &str| parse_size(text.as_bytes());
        assert_eq!(size("0"), Some(0));
        assert_eq!(size("1500"), Some(1500));
        assert_eq!(size("12b"), Some(12));
        assert_eq!(size("1.5mb-1"), Some(1_499_999));
        assert_eq!(size("2g+1"), Some((2 << 30) + 1));
        assert_eq!(size("1KiB"), Some(1024));
        assert_eq!(size("1K"), Some(1024));
        assert_eq!(size("1kB"), Some(1000));
        assert_eq!(size("1P"), Some(1 << 50));
        for wrong in ["", "K", "x", "1X", "-1", "1K-2", "1 K", "9000P", "1KB1", ".", "+1"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
