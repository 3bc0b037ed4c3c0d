//! Two reports side by side, with the differences first.

use super::bars::bar;
use super::escape::escaped;
use super::quantity::{bytes, count, size_edge, time};
use super::table::columns;
use crate::report::{Difference, Histogram, Report, differences, to_float};

/// The widest bar of a pair.
const BAR_WIDTH: u64 = 20;
/// Number of calls whose sizes are drawn side by side.
const MOST_HISTOGRAMS: usize = 8;

/// Format of a figure.
type Write = fn(u64) -> String;

/// Labels of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels<'a> {
    /// The first report.
    pub first: &'a str,
    /// The second report.
    pub second: &'a str,
}

impl Default for Labels<'_> {
    fn default() -> Self {
        Labels { first: "A", second: "B" }
    }
}

/// Returns the text of a comparison; every line ends with a newline.
#[must_use]
pub fn comparison(first: &Report, second: &Report, labels: &Labels<'_>) -> String {
    let mut text = format!(
        "{}: {}\n{}: {}\n",
        escaped(labels.first),
        escaped(&first.title),
        escaped(labels.second),
        escaped(&second.title)
    );
    for (label, report) in [(labels.first, first), (labels.second, second)] {
        for notice in &report.notices {
            text.push_str(&format!("note on {}: {}\n", escaped(label), escaped(notice)));
        }
    }
    text.push('\n');
    text.push_str(&overview(first, second, labels));
    let pairs = differences(first, second);
    text.push('\n');
    text.push_str(&calls(&pairs, labels));
    let sized =
        pairs.iter().filter(|pair| pair.first.sizes.total() + pair.second.sizes.total() > 0);
    for pair in sized.take(MOST_HISTOGRAMS) {
        text.push('\n');
        text.push_str(&sizes(pair, labels));
    }
    text
}

/// Formats a ratio with two decimals; empty if there is none.
fn ratio(first: u64, second: u64) -> String {
    if first == 0 || second == 0 {
        return String::new();
    }
    format!("{:.2}", to_float(second) / to_float(first))
}

fn overview(first: &Report, second: &Report, labels: &Labels<'_>) -> String {
    let (one, other) = (first.total(), second.total());
    let (faults, other_faults) = (first.faults(), second.faults());
    let ratio_title = format!("{}/{}", escaped(labels.second), escaped(labels.first));
    let mut rows =
        vec![vec![escaped(labels.first), escaped(labels.second), ratio_title, "".into()]];
    let per_call = |tallies: &crate::Tallies| {
        tallies.total_ns().checked_div(tallies.all_counts()).unwrap_or(0)
    };
    let us = |value: u64| value.saturating_mul(1000);
    let figures: [(u64, u64, Write, &str); 8] = [
        (first.wall_ns, second.wall_ns, time, "wall"),
        (us(first.user_us), us(second.user_us), time, "user CPU"),
        (us(first.system_us), us(second.system_us), time, "system CPU"),
        (one.all_counts(), other.all_counts(), count, "system calls"),
        (one.total_ns(), other.total_ns(), time, "time in system calls"),
        (per_call(&one), per_call(&other), time, "time per call"),
        (faults.minor, other_faults.minor, count, "minor page faults"),
        (faults.major, other_faults.major, count, "major page faults"),
    ];
    for (one, other, write, label) in figures {
        rows.push(vec![write(one), write(other), ratio(one, other), label.into()]);
    }
    columns(&rows, "  ")
}

fn calls(pairs: &[Difference], labels: &Labels<'_>) -> String {
    let (a, b) = (escaped(labels.first), escaped(labels.second));
    let head = ["count", "time", "mean", "bytes"];
    let mut title: Vec<String> =
        head.iter().flat_map(|what| [format!("{what} {a}"), b.clone()]).collect();
    title.push("call".into());
    let mut rows = vec![title];
    for pair in pairs {
        let (one, other) = (&pair.first, &pair.second);
        rows.push(vec![
            count(one.count),
            count(other.count),
            time(one.total_ns),
            time(other.total_ns),
            time(one.mean_ns()),
            time(other.mean_ns()),
            bytes(one.bytes),
            bytes(other.bytes),
            pair.name.to_string(),
        ]);
    }
    columns(&rows, "  ")
}

fn sizes(pair: &Difference, labels: &Labels<'_>) -> String {
    let counts = |histogram: &Histogram| -> Vec<(u64, u64)> {
        histogram.buckets().map(|bucket| (bucket.from, bucket.count)).collect()
    };
    let (one, other) = (counts(&pair.first.sizes), counts(&pair.second.sizes));
    let longer = if one.len() > other.len() { &one } else { &other };
    let highest = |side: &[(u64, u64)]| side.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let (top, other_top) = (highest(&one), highest(&other));
    let mut rows = vec![vec![
        String::new(),
        escaped(labels.first),
        "".into(),
        escaped(labels.second),
        "".into(),
    ]];
    let at = |side: &[(u64, u64)], index: usize| side.get(index).map_or(0, |(_, count)| *count);
    let mut has_begun = false;
    for (index, (from, _)) in longer.iter().enumerate() {
        let (left, right) = (at(&one, index), at(&other, index));
        has_begun |= left + right > 0;
        if !has_begun {
            continue;
        }
        let padded = |value: u64, top: u64| {
            let bar = bar(value, top, BAR_WIDTH);
            let missing = (BAR_WIDTH as usize).saturating_sub(bar.chars().count());
            bar + &" ".repeat(missing)
        };
        let shown = |value: u64| if value == 0 { String::new() } else { count(value) };
        rows.push(vec![
            size_edge(*from),
            shown(left),
            format!("│{}", padded(left, top)),
            shown(right),
            format!("│{}", bar(right, other_top, BAR_WIDTH)),
        ]);
    }
    format!("  {}: size in bytes\n{}", pair.name, columns(&rows, "    "))
}
