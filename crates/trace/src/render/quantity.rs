//! Formats of figures: three digits and a unit.

use crate::report::to_float;

/// Formats a count with separators of thousands.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number of bytes in binary units.
pub(super) fn bytes(value: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (value.max(1).ilog2() / 10) as usize;
    let unit = UNITS.get(power).copied().unwrap_or("B");
    if power == 0 {
        return format!("{value} {unit}");
    }
    let scaled = to_float(value) / to_float(1 << (10 * power));
    format!("{} {unit}", three_digits(scaled))
}

/// Formats a part of a whole in per cent; empty if the whole is zero.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return String::new();
    }
    let percent = 100.0 * to_float(part) / to_float(whole);
    if part > 0 && percent < 0.5 { "<1 %".to_owned() } else { format!("{percent:.0} %") }
}

/// Formats nanoseconds in a suitable unit.
pub(super) fn time(ns: u64) -> String {
    let scaled = to_float(ns);
    if ns < 1_000 {
        format!("{ns} ns")
    } else if ns < 1_000_000 {
        format!("{} µs", three_digits(scaled / 1e3))
    } else if ns < 1_000_000_000 {
        format!("{} ms", three_digits(scaled / 1e6))
    } else {
        format!("{} s", three_digits(scaled / 1e9))
    }
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// Formats the lower edge of a bucket of sizes: exact, since it is 0 or a power of two.
pub(super) fn size_edge(from: u64) -> String {
    let mut value = from;
    for unit in ["", " Ki", " Mi", " Gi", " Ti", " Pi", " Ei"] {
        if value < 1024 {
            return format!("{value}{unit}");
        }
        value /= 1024;
    }
    from.to_string()
}

/// Formats the lower edge of a bucket of latencies.
pub(super) fn time_edge(from: u64) -> String {
    time(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1_536), "1.50 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(1_500), "1.50 µs");
        assert_eq!(time(12_345_678), "12.3 ms");
        assert_eq!(time(65_000_000_000), "65.0 s");
        assert_eq!(size_edge(512), "512");
        assert_eq!(size_edge(8192), "8 Ki");
        assert_eq!(size_edge(1 << 63), "8 Ei");
    }
}
