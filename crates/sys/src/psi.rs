//! The text of a pressure file: <https://docs.kernel.org/accounting/psi.html>. The memory of a cgroup and the
//! pressure on the machine are both told in it.

use std::time::Duration;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stalled {
    /// Part of the last ten seconds, from 0 to 1.
    pub recent: f64,
    /// Time since the machine or the cgroup was started.
    pub total: Duration,
}

/// What a file such as `/proc/pressure/io` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// At least one task waited.
    pub some: Stalled,
    /// All tasks waited at once; `None` where the kernel does not count it: for the processor before Linux 5.13.
    pub full: Option<Stalled>,
}

impl Report {
    /// Reads the text of a file. `None` if it has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Report> {
        let line = |kind: &str| text.lines().find_map(|line| line.strip_prefix(kind));
        Some(Report { some: stalled(line("some ")?)?, full: line("full ").and_then(stalled) })
    }
}

/// Returns the figures of a line such as `avg10=12.50 avg60=0.00 avg300=0.00 total=1234`, whose total is in
/// microseconds.
fn stalled(line: &str) -> Option<Stalled> {
    let field = |name: &str| line.split_whitespace().find_map(|field| field.strip_prefix(name));
    let percent: f64 = field("avg10=")?.parse().ok()?;
    let total = field("total=")?.parse().ok().map(Duration::from_micros)?;
    Some(Stalled { recent: (percent / 100.0).clamp(0.0, 1.0), total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lines_have_an_average_and_a_sum() {
        let text = "some avg10=12.50 avg60=0.17 avg300=1.11 total=58761459\n\
                    full avg10=100.00 avg60=0.00 avg300=0.00 total=7\n";
        let some = Stalled { recent: 0.125, total: Duration::from_micros(58_761_459) };
        let full = Stalled { recent: 1.0, total: Duration::from_micros(7) };
        assert_eq!(Report::parse(text), Some(Report { some, full: Some(full) }));
        let (first, _) = text.split_once("full").unwrap();
        assert_eq!(Report::parse(first), Some(Report { some, full: None }));
    }

    #[test]
    fn another_text_is_none() {
        for text in [
            "",
            "garbage",
            "some avg10=x total=1\n",
            "some avg10=0.00\n",
            "full avg10=0.00 total=1\n",
        ] {
            assert_eq!(Report::parse(text), None, "{text:?}");
        }
    }
}
