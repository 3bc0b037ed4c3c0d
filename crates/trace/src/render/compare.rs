//! Two reports side by side, with the differences first.

use super::bars::bar;
use super::escape::escaped;
use super::quantity::{bytes, count, size_edge, time};
use super::table::{columns, or_blank, row};
use super::{Detail, bars::MOST_EMPTY, brief::SMALL_PART, named::moves_bytes};
use crate::report::{Difference, Histogram, Report, Tally, differences, to_float};

/// The widest bar of a pair.
const BAR_WIDTH: u64 = 20;
/// Number of calls whose sizes are drawn side by side.
const MOST_HISTOGRAMS: usize = 8;
/// The same in the short form.
const MOST_SHORT_HISTOGRAMS: usize = 4;
/// Number of calls in the table of the short form.
const MOST_SHORT_CALLS: usize = 10;

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
pub fn comparison(first: &Report, second: &Report, labels: &Labels<'_>, detail: Detail) -> String {
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
    let (most_calls, most_histograms) = match detail {
        Detail::Short => (MOST_SHORT_CALLS, MOST_SHORT_HISTOGRAMS),
        Detail::All => (pairs.len(), MOST_HISTOGRAMS),
    };
    text.push('\n');
    let shown = pairs.get(..most_calls).unwrap_or(&pairs);
    text.push_str(&calls(shown, labels, detail));
    let left = pairs.len() - shown.len();
    if left > 0 {
        let kinds = if left == 1 { "kind" } else { "kinds" };
        text.push_str(&format!("  and {left} other {kinds} of calls: see --all\n"));
    }
    let sized = pairs.iter().filter(|pair| {
        let is_drawn = detail == Detail::All || moves_bytes(&pair.name);
        is_drawn && pair.first.sizes.total() + pair.second.sizes.total() > 0
    });
    let mut sized: Vec<&Difference> = sized.collect();
    if detail == Detail::Short {
        // The requests that move most bytes, whether they differ or not.
        let moved = |pair: &Difference| pair.first.bytes.max(pair.second.bytes);
        sized.sort_by_key(|pair| std::cmp::Reverse(moved(pair)));
        let most = sized.first().map_or(0, |pair| moved(pair));
        sized.retain(|pair| moved(pair) >= most / SMALL_PART);
    }
    for pair in sized.into_iter().take(most_histograms) {
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

/// One column of the table of calls: its title, its figure, its format.
type Column = (&'static str, fn(&Tally) -> u64, Write);

fn calls(pairs: &[Difference], labels: &Labels<'_>, detail: Detail) -> String {
    let all: [Column; 4] = [
        ("count", |tally| tally.count, count),
        ("time", |tally| tally.total_ns, time),
        ("mean", Tally::mean_ns, time),
        ("bytes", |tally| tally.bytes, bytes),
    ];
    // The short form fits 80 columns, and the mean follows from count and time.
    let shown: Vec<Column> =
        all.into_iter().filter(|(what, ..)| detail == Detail::All || *what != "mean").collect();
    let (a, b) = (escaped(labels.first), escaped(labels.second));
    let mut title: Vec<String> =
        shown.iter().flat_map(|(what, ..)| [format!("{what} {a}"), b.clone()]).collect();
    title.push("call".into());
    let mut rows = vec![title];
    for pair in pairs {
        let mut row: Vec<String> = shown
            .iter()
            .flat_map(|(_, figure, write)| {
                [write(figure(&pair.first)), write(figure(&pair.second))]
            })
            .collect();
        row.push(pair.name.to_string());
        rows.push(row);
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
    let lines: Vec<(u64, u64, u64)> = longer
        .iter()
        .enumerate()
        .map(|(index, (from, _))| (*from, at(&one, index), at(&other, index)))
        .skip_while(|(_, left, right)| left + right == 0)
        .collect();
    let is_empty = |line: &(u64, u64, u64)| line.1 + line.2 == 0;
    for run in lines.chunk_by(|one, next| is_empty(one) == is_empty(next)) {
        if run.len() > MOST_EMPTY && run.iter().all(is_empty) {
            let blank = format!("│{:1$}", "", BAR_WIDTH as usize);
            rows.push(row(&["⋮", "", &blank, "", "│"]));
            continue;
        }
        rows.extend(run.iter().map(|(from, left, right)| {
            let padded = format!("{:1$}", bar(*left, top, BAR_WIDTH), BAR_WIDTH as usize);
            vec![
                size_edge(*from),
                or_blank(*left, count),
                format!("│{padded}"),
                or_blank(*right, count),
                format!("│{}", bar(*right, other_top, BAR_WIDTH)),
            ]
        }));
    }
    format!("  {}: size in bytes\n{}", pair.name, columns(&rows, "    "))
}
