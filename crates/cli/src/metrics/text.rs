//! The text format of Prometheus:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>

use std::fmt::Write as _;
use std::time::Duration;

use super::figures::Figures;

/// How every file begins; nothing else is overwritten.
pub(super) const BEGINNING: &str = "# HELP haul_run_";

/// The label of `--job`. Prometheus sets a label `job` of its own on what it reads.
pub(super) const JOB_LABEL: &str = "haul_job";

const LAST_SUCCESS: &str = "haul_run_last_success_timestamp_seconds";

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
        // As above.
        let _ = writeln!(self.text, "{} {value}", series(name, self.common.iter().chain(labels)));
    }

    /// A metric of one sample.
    fn single(&mut self, name: &str, help: &str, value: &str) {
        self.family(name, help);
        self.sample(name, &[], value);
    }
}

/// Returns a metric's name with its labels: `NAME{LABEL="VALUE",…}`.
fn series<'l>(name: &str, labels: impl Iterator<Item = &'l (&'l str, &'l str)>) -> String {
    let shown: Vec<String> =
        labels.map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
    format!("{name}{{{}}}", shown.join(","))
}

fn is_success(figures: &Figures) -> bool {
    figures.failures == 0 && !figures.stopped
}

/// Returns when a run with these labels last did everything, in seconds since 1970: this one, or the one that the
/// text before it names. `None` if there was none.
pub(super) fn last_success(
    figures: &Figures,
    common: Labels<'_>,
    ended: Duration,
    before: impl FnOnce() -> Option<String>,
) -> Option<String> {
    if is_success(figures) {
        return Some(seconds(ended));
    }
    let series = series(LAST_SUCCESS, common.iter());
    let before = before()?;
    let value = before.lines().find_map(|line| line.strip_prefix(&series))?.trim();
    value.parse::<f64>().ok().map(|_| value.to_owned())
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Escapes the value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Returns the text of a run that ended so long after 1970, with the time of the last success as
/// [`last_success`] returns it.
pub(super) fn of(
    figures: &Figures,
    common: Labels<'_>,
    ended: Duration,
    last_success: Option<&str>,
) -> String {
    let mut text = Text { text: String::new(), common };
    let success = u64::from(is_success(figures));
    text.single(
        "haul_run_success",
        "Whether the run did everything: 1, or 0 after a failure or a signal.",
        &success.to_string(),
    );
    text.single(
        "haul_run_end_timestamp_seconds",
        "When the run ended, in seconds since 1970.",
        &seconds(ended),
    );
    if let Some(last) = last_success {
        text.single(
            LAST_SUCCESS,
            "When a run last did everything, in seconds since 1970; it stays when later runs fail.",
            last,
        );
    }
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
    devices(&mut text, figures);
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
    text.family(name, "How long the run waited for a side, or for both by one call.");
    let both = waits.both.map(|both| ("both", both));
    for (side, time) in [("source", waits.source), ("target", waits.target)].into_iter().chain(both)
    {
        text.sample(name, &[("side", side)], &format!("{:.6}", time.as_secs_f64()));
    }
}

fn devices(text: &mut Text<'_>, figures: &Figures) {
    let busy = "haul_run_device_busy_seconds";
    let moved = "haul_run_device_bytes";
    if figures.devices.is_empty() {
        return;
    }
    text.family(busy, "Time of the run in which a device had requests, of all processes.");
    for device in &figures.devices {
        let time = format!("{:.3}", device.busy.as_secs_f64());
        text.sample(busy, &[("device", &device.name)], &time);
    }
    text.family(moved, "Bytes that a device read and wrote during the run, for all processes.");
    for device in &figures.devices {
        for (way, bytes) in [("read", device.read_bytes), ("written", device.written_bytes)] {
            text.sample(moved, &[("device", &device.name), ("way", way)], &bytes.to_string());
        }
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
    use super::super::figures::Waits;
    use super::*;
    use crate::waiting::DeviceUse;

    const TIME: Duration = Duration::from_millis(1500);

    #[test]
    fn labels_are_escaped_and_the_beginning_is_known() {
        let figures = Figures { entries: vec![("copied", "file", 3)], ..Figures::default() };
        let text = of(&figures, &[(JOB_LABEL, "a\"b\\c\nd")], TIME, None);
        assert!(text.starts_with(BEGINNING), "{text}");
        assert!(text.contains("haul_run_success{haul_job=\"a\\\"b\\\\c\\nd\"} 1\n"), "{text}");
        assert!(
            text.contains("haul_run_end_timestamp_seconds{haul_job=\"a\\\"b\\\\c\\nd\"} 1.500\n")
        );
        assert!(text.contains(",action=\"copied\",kind=\"file\"} 3\n"), "{text}");
        let unmeasured = ["wait", "cache", "device"];
        assert!(unmeasured.iter().all(|word| !text.contains(word)), "what was not measured");
    }

    #[test]
    fn waits_and_devices_have_a_sample_for_each() {
        let waits = Waits { source: TIME, target: TIME * 2, both: Some(TIME * 3) };
        let device =
            DeviceUse { name: "sda".to_owned(), busy: TIME, read_bytes: 7, written_bytes: 9 };
        let figures = Figures { waits: Some(waits), devices: vec![device], ..Figures::default() };
        let text = of(&figures, &[], TIME, None);
        for sample in [
            "haul_run_wait_seconds{side=\"target\"} 3.000000\n",
            "haul_run_wait_seconds{side=\"both\"} 4.500000\n",
            "haul_run_device_busy_seconds{device=\"sda\"} 1.500\n",
            "haul_run_device_bytes{device=\"sda\",way=\"written\"} 9\n",
        ] {
            assert!(text.contains(sample), "{text}");
        }
    }

    #[test]
    fn a_failure_or_a_signal_is_no_success() {
        for figures in [
            Figures { failures: 1, ..Figures::default() },
            Figures { stopped: true, ..Figures::default() },
        ] {
            assert!(of(&figures, &[], TIME, None).contains("haul_run_success{} 0\n"));
        }
    }

    #[test]
    fn the_last_success_stays_after_a_failure() {
        let common: Labels<'_> = &[("command", "cp"), (JOB_LABEL, "a \"b\"")];
        let good = Figures::default();
        let last = last_success(&good, common, TIME, || None);
        assert_eq!(last.as_deref(), Some("1.500"));
        let text = of(&good, common, TIME, last.as_deref());
        let bad = Figures { failures: 1, ..Figures::default() };
        let later = TIME * 2;
        assert_eq!(
            last_success(&bad, common, later, || Some(text.clone())).as_deref(),
            Some("1.500")
        );
        assert_eq!(last_success(&bad, &[("command", "mv")], later, || Some(text.clone())), None);
        assert_eq!(last_success(&bad, common, later, || Some("haul".to_owned())), None);
        assert_eq!(last_success(&bad, common, later, || None), None);
    }
}
