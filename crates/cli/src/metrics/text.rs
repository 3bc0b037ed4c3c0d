//! The text format of Prometheus:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>

use std::fmt::Write as _;
use std::time::Duration;

use super::figures::Figures;

/// How every file begins; nothing else is overwritten.
pub(super) const BEGINNING: &str = "# HELP haul_run_";

/// Pairs of the name and the value of a label.
type Labels<'l> = &'l [(&'l str, &'l str)];

/// A text that grows.
struct Text<'l> {
    text: String,
    /// What every sample has.
    common: Labels<'l>,
}

impl Text<'_> {
    /// Begins a metric. All are gauges: each run replaces the file.
    fn family(&mut self, name: &str, help: &str) {
        // A `String` takes everything.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} gauge");
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: &str) {
        let shown: Vec<String> = self
            .common
            .iter()
            .chain(labels)
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        // As above.
        let _ = writeln!(self.text, "{name}{{{}}} {value}", shown.join(","));
    }

    /// A metric of one sample.
    fn single(&mut self, name: &str, help: &str, value: &str) {
        self.family(name, help);
        self.sample(name, &[], value);
    }
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the text of a run that ended so long after 1970.
pub(super) fn of(figures: &Figures, common: Labels<'_>, ended: Duration) -> String {
    let mut text = Text { text: String::new(), common };
    let success = u64::from(figures.failures == 0 && !figures.stopped);
    text.single(
        "haul_run_success",
        "Whether the run did everything: 1, or 0 after a failure or a signal.",
        &success.to_string(),
    );
    text.single(
        "haul_run_end_timestamp_seconds",
        "When the run ended, in seconds since 1970.",
        &format!("{:.3}", ended.as_secs_f64()),
    );
    let time = format!("{:.6}", figures.time.as_secs_f64());
    text.single("haul_run_duration_seconds", "How long the run took.", &time);
    text.single(
        "haul_run_bytes",
        "Bytes of file data that the run moved.",
        &figures.bytes.to_string(),
    );
    text.single("haul_run_failures", "Failures of the run.", &figures.failures.to_string());
    text.single("haul_run_warnings", "Warnings of the run.", &figures.warnings.to_string());
    entries(&mut text, figures);
    waits(&mut text, figures);
    cached(&mut text, figures);
    text.text
}

fn entries(text: &mut Text<'_>, figures: &Figures) {
    if figures.entries.is_empty() {
        return;
    }
    let name = "haul_run_entries";
    text.family(name, "Entries by what was done with them and by their kind.");
    for (action, kind, count) in &figures.entries {
        text.sample(name, &[("action", action), ("kind", kind)], &count.to_string());
    }
}

fn waits(text: &mut Text<'_>, figures: &Figures) {
    let Some(waits) = figures.waits else { return };
    let name = "haul_run_wait_seconds";
    text.family(name, "How long the run waited for a side of the stream.");
    for (side, time) in [("source", waits.source), ("target", waits.target)] {
        text.sample(name, &[("side", side)], &format!("{:.6}", time.as_secs_f64()));
    }
}

fn cached(text: &mut Text<'_>, figures: &Figures) {
    let Some(cached) = figures.cached else { return };
    let name = "haul_run_cache_bytes";
    text.family(name, "Bytes of the files in the page cache, before the run and after it.");
    for (side, moment, bytes) in [
        ("source", "before", cached.source_before),
        ("source", "after", cached.source_after),
        ("target", "before", cached.target_before),
        ("target", "after", cached.target_after),
    ] {
        text.sample(name, &[("side", side), ("moment", moment)], &bytes.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_the_beginning_is_known() {
        let figures = Figures { entries: vec![("copied", "file", 3)], ..Figures::default() };
        let text = of(&figures, &[("job", "a\"b\\c\nd")], Duration::from_millis(1500));
        assert!(text.starts_with(BEGINNING), "{text}");
        assert!(text.contains("haul_run_success{job=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
        assert!(text.contains("haul_run_end_timestamp_seconds{job=\"a\\\"b\\\\c\\nd\"} 1.500\n"));
        assert!(text.contains(",action=\"copied\",kind=\"file\"} 3\n"), "{text}");
        assert!(!text.contains("wait") && !text.contains("cache"), "what was not measured");
    }

    #[test]
    fn a_failure_or_a_signal_is_no_success() {
        for figures in [
            Figures { failures: 1, ..Figures::default() },
            Figures { stopped: true, ..Figures::default() },
        ] {
            assert!(of(&figures, &[], Duration::ZERO).contains("haul_run_success{} 0\n"));
        }
    }
}
