//! A report for a terminal or a file: a table for each group, then histograms.

use super::quantity::{bytes, count, size_edge, time, time_edge};
use super::table::{columns, or_blank, row};
use super::{bars, brief::brief, escape::escaped, named};
use crate::Name;
use crate::report::{Ending, FileUse, Group, Grouping, Observer, Report, Tally};

/// Amount of figures in a report for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The calls with most time and those made most often, with the sizes of the largest requests.
    Short,
    /// Every call, with its histograms.
    #[default]
    All,
}

/// Options of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Amount of figures.
    pub detail: Detail,
    /// The aggregation.
    pub grouping: Grouping,
    /// Number of calls of each group with histograms: those with most time. Sizes are drawn for
    /// every call that has any. A call with a count of 1 is not drawn: the table shows the same.
    pub latency_histograms: usize,
    /// Number of files to list.
    pub most_files: usize,
}

impl Default for TextOptions {
    /// Everything by process, the eight longest calls, the fifty files with most bytes.
    fn default() -> TextOptions {
        TextOptions {
            detail: Detail::All,
            grouping: Grouping::Process,
            latency_histograms: 8,
            most_files: 50,
        }
    }
}

/// Returns the text of a report; every line ends with a newline.
#[must_use]
pub fn text(report: &Report, options: &TextOptions) -> String {
    let mut text = head(report);
    let groups = report.groups(options.grouping);
    for group in &groups {
        text.push('\n');
        text.push_str(&group_text(group, options));
    }
    if groups.len() > 1
        && options.detail == Detail::All
        && let Some(total) = report.groups(Grouping::Total).first()
    {
        text.push('\n');
        text.push_str(&group_text(total, &TextOptions { latency_histograms: 0, ..*options }));
    }
    if !report.files.is_empty() {
        text.push('\n');
        text.push_str(&files_text(&report.files, options.most_files));
    }
    text
}

/// Formats the title, the ending and the notices.
fn head(report: &Report) -> String {
    let ending = match report.ending {
        Ending::Exited(code) => format!("exit status {code}"),
        Ending::Signaled(signal) => format!("killed by signal {signal}"),
        Ending::Unknown => "attached".into(),
    };
    let observer = match report.observer {
        Observer::Ebpf => "eBPF",
        Observer::Ptrace => "ptrace",
    };
    let total = report.total();
    let faults = report.faults();
    let mut text = format!("{}: {ending}\n", escaped(&report.title));
    text.push_str(&format!(
        "  by {observer}: wall {}, user {}, system {}; processes {}, calls {}, page faults {} \
         ({} major)\n",
        time(report.wall_ns),
        time(report.user_us.saturating_mul(1000)),
        time(report.system_us.saturating_mul(1000)),
        count(report.processes() as u64),
        count(total.all_counts()),
        count(faults.minor + faults.major),
        count(faults.major),
    ));
    for notice in &report.notices {
        text.push_str(&format!("  note: {}\n", escaped(notice)));
    }
    text
}

/// The calls of a group, most time first.
fn by_time<'a>(tallies: impl Iterator<Item = (&'a Name, &'a Tally)>) -> Vec<(&'a Name, &'a Tally)> {
    let mut sorted: Vec<_> = tallies.collect();
    sorted.sort_by_key(|(name, tally)| (std::cmp::Reverse(tally.total_ns), (*name).clone()));
    sorted
}

fn group_text(group: &Group, options: &TextOptions) -> String {
    if (options.detail, options.grouping) == (Detail::Short, Grouping::Total) {
        // The head has the other totals.
        return brief(group);
    }
    let mut text = format!(
        "{}: cpu {}, page faults {} ({} major)\n",
        escaped(&group.label),
        time(group.cpu_ns),
        count(group.faults.minor + group.faults.major),
        count(group.faults.major),
    );
    if options.detail == Detail::Short {
        text.push_str(&brief(group));
        return text;
    }
    let calls = by_time(group.tallies.calls.iter());
    text.push_str(&calls_table(&calls, "call"));
    let operations = by_time(group.tallies.operations.iter());
    if !operations.is_empty() {
        text.push_str("\n  io_uring operations\n");
        text.push_str(&operations_table(&operations));
    }
    for (prefix, tallies) in [("", &calls), ("io_uring ", &operations)] {
        for (name, tally) in tallies.iter().filter(|(_, tally)| tally.sizes.total() > 1) {
            let title = format!("{prefix}{name}: size in bytes");
            text.push_str(&bars::histogram(&title, &tally.sizes, size_edge));
        }
        let timed = tallies.iter().filter(|(_, tally)| tally.latencies.total() > 1);
        for (name, tally) in timed.take(options.latency_histograms) {
            let title = format!("{prefix}{name}: latency");
            text.push_str(&bars::histogram(&title, &tally.latencies, time_edge));
        }
    }
    text
}

/// Processor time in the table of calls.
const CPU_COLUMN: usize = 2;

fn calls_table(calls: &[(&Name, &Tally)], what: &str) -> String {
    let has_cpu = calls.iter().any(|(_, tally)| tally.cpu_ns.is_some());
    let mut rows = vec![row(&["count", "time", "cpu", "mean", "longest", "bytes", what])];
    for (name, tally) in calls {
        rows.push(vec![
            count(tally.count),
            or_blank(tally.total_ns, time),
            or_blank(tally.cpu_ns.unwrap_or(0), time),
            or_blank(tally.mean_ns(), time),
            or_blank(tally.longest_ns, time),
            or_blank(tally.bytes, bytes),
            named::label(name, tally),
        ]);
    }
    if !has_cpu {
        for row in &mut rows {
            row.remove(CPU_COLUMN);
        }
    }
    columns(&rows, "  ")
}

fn operations_table(operations: &[(&Name, &Tally)]) -> String {
    let mut rows =
        vec![row(&["submitted", "punted", "time", "mean", "longest", "bytes", "operation"])];
    for (name, tally) in operations {
        rows.push(vec![
            count(tally.count),
            or_blank(tally.punted, count),
            or_blank(tally.total_ns, time),
            or_blank(tally.mean_ns(), time),
            or_blank(tally.longest_ns, time),
            or_blank(tally.bytes, bytes),
            named::label(name, tally),
        ]);
    }
    columns(&rows, "  ")
}

fn files_text(files: &[FileUse], most: usize) -> String {
    let mut text = String::from("files\n");
    let mut rows = vec![row(&["calls", "failed", "bytes", "usual size", "path", "calls by name"])];
    for file in files.iter().take(most) {
        let mut sizes = crate::Histogram::default();
        for tally in file.calls.values() {
            sizes.add(&tally.sizes);
        }
        let usual = if sizes.total() == 0 { String::new() } else { size_edge(sizes.quantile(0.5)) };
        let calls: Vec<String> =
            file.calls.iter().map(|(name, tally)| format!("{name} {}", tally.count)).collect();
        rows.push(vec![
            count(file.count()),
            or_blank(file.errors(), count),
            or_blank(file.bytes(), bytes),
            usual,
            format!("{}  {}", escaped(&file.path), calls.join(", ")),
        ]);
    }
    if let Some(first) = rows.first_mut() {
        first.truncate(5);
    }
    text.push_str(&columns(&rows, "  "));
    if files.len() > most {
        text.push_str(&format!("  and {} more\n", count((files.len() - most) as u64)));
    }
    text
}
