//! Formats of figures: three digits and a unit.

/// Formats seconds: `1.23 s`, `45.6 ms`, `7.89 µs`.
#[must_use]
pub fn seconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1.0 || size == 0.0 => (value, "s"),
        size if size >= 1e-3 => (value * 1e3, "ms"),
        _ => (value * 1e6, "µs"),
    };
    format!("{} {unit}", digits(scaled))
}

/// Formats bytes in powers of 1024: `512 B`, `1 KiB`, `2.50 MiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if scaled < 1024.0 {
            break;
        }
        scaled /= 1024.0;
        unit = next;
    }
    if scaled.fract() == 0.0 {
        format!("{scaled} {unit}")
    } else {
        format!("{} {unit}", digits(scaled))
    }
}

/// Formats a count with commas: `50,000`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Formats a ratio: `0.57`, `12.3`.
#[must_use]
pub fn ratio(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Formats a value between 0.001 and a million with three significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        size if size >= 99.95 => format!("{value:.0}"),
        size if size >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
