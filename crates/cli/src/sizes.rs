//! Amounts for people: bytes, rates, durations, counts.

use std::time::Duration;

/// Formats bytes in binary units: `1.5 MiB`.
#[must_use]
pub fn bytes(amount: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut shown = amount as f64;
    let mut unit = 0;
    while shown >= 1024.0 && unit + 1 < UNITS.len() {
        shown /= 1024.0;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or("B");
    if unit == 0 { format!("{amount} B") } else { format!("{shown:.1} {name}") }
}

/// Formats a part of an amount, with its unit once if it is the same: `3.1 of 8.0 GiB`.
pub(crate) fn bytes_of(part: u64, whole: u64) -> String {
    let (part, whole) = (bytes(part), bytes(whole));
    match (part.split_once(' '), whole.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
}

/// Formats a duration: `0.25 s`, `3 min 4 s`, `2 h 5 min`.
#[must_use]
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.2} s", time.as_secs_f64())
    } else if seconds < 3600 {
        format!("{} min {} s", seconds / 60, seconds % 60)
    } else {
        format!("{} h {} min", seconds / 3600, seconds / 60 % 60)
    }
}

/// Formats a rate of bytes per second; nothing for a time that is too short to tell.
pub(crate) fn rate(amount: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1e-6 {
        return "-".to_owned();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive quotient; saturation is what is wanted at the end of the range"
    )]
    let per_second = (amount as f64 / seconds) as u64;
    format!("{}/s", bytes(per_second))
}

/// Formats the time that is left: `12 s`, and longer times as [`duration`] does.
pub(crate) fn time_left(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 { format!("{seconds} s") } else { duration(time) }
}

/// Formats a number with commas between thousands: `1,024`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun, as a command line takes it: `1024 bytes`.
pub(crate) fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Formats a count with its noun, for a summary: `1,024 files`.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Formats a count per second.
pub(crate) fn per_second(count: u64, time: Duration) -> String {
    let each_second = u128::from(count) * 1_000_000 / time.as_micros().max(1);
    grouped(u64::try_from(each_second).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_that_fits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(duration(Duration::from_millis(250)), "0.25 s");
        assert_eq!(duration(Duration::from_secs(7500)), "2 h 5 min");
        assert_eq!(time_left(Duration::from_millis(59_900)), "59 s");
        assert_eq!(time_left(Duration::from_secs(7500)), "2 h 5 min");
        assert_eq!(bytes_of(3 << 30, 8 << 30), "3.0 of 8.0 GiB");
        assert_eq!(bytes_of(1 << 20, 8 << 30), "1.0 MiB of 8.0 GiB");
        assert_eq!(rate(1 << 20, Duration::from_secs(2)), "512.0 KiB/s");
    }

    #[test]
    fn counts_have_commas_between_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "file", "files"), "1 file");
        assert_eq!(counted(50_000, "file", "files"), "50,000 files");
        assert_eq!(plural(50_000, "byte", "bytes"), "50000 bytes");
        assert_eq!(per_second(5000, Duration::from_secs(2)), "2,500");
    }
}
