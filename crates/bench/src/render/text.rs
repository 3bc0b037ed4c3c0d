//! Tables for a terminal.

use super::row::{EachRow, Row};
use super::summary::{CaseSummary, summarise};
use crate::measure::ReadTimes;
use crate::session::Results;
use crate::stats::{Interval, Ratio};
use crate::units;

/// Returns all tables, each with its verdict; notes common to all of them appear once, at the end.
#[must_use]
pub fn text(results: &Results) -> String {
    marked_text(results, &str::to_owned)
}

/// Returns the same with titles and verdicts that `mark` makes stand out on a terminal.
#[must_use]
pub fn marked_text(results: &Results, mark: &dyn Fn(&str) -> String) -> String {
    let mut text = String::new();
    let mut summaries: Vec<CaseSummary> =
        results.cases.iter().map(|case| summarise(results, case)).collect();
    let common = common_notes(&summaries);
    for summary in &mut summaries {
        summary.notes.retain(|note| !common.contains(note));
        text += &case_text(summary, mark);
        text.push('\n');
    }
    for note in &common {
        text += &format!("note: {note}\n");
    }
    if results.interrupted {
        text += "Interrupted: this shows the measurements up to that point.\n";
    }
    text
}

/// Returns the notes that all cases have in common.
fn common_notes(summaries: &[CaseSummary]) -> Vec<String> {
    let Some((first, others @ [_, ..])) = summaries.split_first() else { return Vec::new() };
    let is_common = |note: &&String| others.iter().all(|other| other.notes.contains(note));
    first.notes.iter().filter(is_common).cloned().collect()
}

/// The columns: heading, and the cell of a row.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: &[Column] = &[
    ("time", |row| units::seconds(row.time_s)),
    ("95 % interval", |row| row.time_interval.as_ref().map(span).unwrap_or_default()),
    ("ratio", |row| row.ratio.as_ref().map(short_ratio).unwrap_or_default()),
    ("CPU", |row| units::seconds(row.user_s + row.system_s)),
    ("sync", |row| units::seconds(row.sync_s)),
    ("memory", memory),
    ("calls", |row| row.calls.map(units::count).unwrap_or_default()),
];

/// The columns of the table about the bystander.
const BESIDE: &[Column] = &[
    ("pages left", left),
    ("p50", |row| beside(row, |times| times.p50_s)),
    ("p99", |row| beside(row, |times| times.p99_s)),
    ("p99.9", |row| beside(row, |times| times.p999_s)),
];

/// The columns of the table about processes that run at once.
const EACH: &[Column] = &[
    ("time", time_of_each),
    ("slowest", slowest),
    ("CPU", |row| each(row, |each| units::seconds(each.cpu_s))),
    ("memory (Pss)", pss),
    ("all together", all_pss),
];

fn each(row: &Row, show: fn(&EachRow) -> String) -> String {
    row.each.as_ref().map(show).unwrap_or_default()
}

/// Formats the memory of one of the processes that run at once.
pub(super) fn pss(row: &Row) -> String {
    each(row, |each| each.pss_bytes.map(units::bytes).unwrap_or_default())
}

/// Formats the memory of all processes that run at once.
pub(super) fn all_pss(row: &Row) -> String {
    each(row, |each| each.all_pss_bytes.map(units::bytes).unwrap_or_default())
}

/// Formats the median time of one of the processes that run at once.
pub(super) fn time_of_each(row: &Row) -> String {
    each(row, |each| units::seconds(each.time_s))
}

/// Formats the longest time of one of them.
pub(super) fn slowest(row: &Row) -> String {
    each(row, |each| units::seconds(each.slowest_s))
}

/// Formats the share of the bystander's pages that were left.
pub(super) fn left(row: &Row) -> String {
    let left = row.bystander.and_then(|beside| beside.left);
    left.map_or(String::new(), |left| format!("{:.0} %", left * 100.0))
}

/// Formats a time of the bystander's reads, and that alone.
pub(super) fn beside(row: &Row, figure: fn(&ReadTimes) -> f64) -> String {
    row.bystander.map_or(String::new(), |used| {
        let [beside, alone] = [used.beside, used.alone].map(|times| units::seconds(figure(&times)));
        format!("{beside} ({alone})")
    })
}

/// Columns of a terminal, which a table does not exceed.
const TERMINAL: usize = 80;

/// The headings of the columns that are left out of a table that would be wider, the first one first.
const LEFT_OUT: &[&str] = &["calls", "memory", "sync", "95 % interval"];

/// Formats a ratio with its interval: `0.57 (0.55–0.60)`.
fn short_ratio(ratio: &Ratio) -> String {
    let median = units::ratio(ratio.median);
    ratio.interval.map_or_else(
        || median.clone(),
        |it| format!("{median} ({}–{})", units::ratio(it.low), units::ratio(it.high)),
    )
}

/// Formats the peak memory, or its upper bound.
pub(super) fn memory(row: &Row) -> String {
    let sign = if row.memory_is_bound { "≤ " } else { "" };
    format!("{sign}{}", units::bytes(row.max_rss_bytes))
}

fn case_text(summary: &CaseSummary, mark: &dyn Fn(&str) -> String) -> String {
    let mut lines = vec![mark(&summary.title), format!("  {}", summary.corpus)];
    let ranked: Vec<&Row> = summary.rows.iter().filter(|row| row.is_ranked()).collect();
    let mut columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, show)| ranked.iter().any(|row| !show(row).is_empty())).collect();
    let mut left_out = LEFT_OUT.iter();
    let mut table = table(&columns, &ranked);
    let mut omitted = Vec::new();
    while table.iter().any(|line| line.chars().count() > TERMINAL)
        && let Some(head) = left_out.next()
    {
        let before = columns.len();
        columns.retain(|(other, _)| other != head);
        if columns.len() < before {
            omitted.push(*head);
        }
        table = self::table(&columns, &ranked);
    }
    if !ranked.is_empty() {
        lines.extend(table);
    }
    if ranked.iter().any(|row| row.bystander.is_some()) {
        lines.push("  The reader beside it, and its reads (alone):".to_owned());
        lines.extend(self::table(&BESIDE.iter().collect::<Vec<_>>(), &ranked));
    }
    if ranked.iter().any(|row| row.each.is_some()) {
        lines.push("  Each of the processes at once:".to_owned());
        lines.extend(self::table(&EACH.iter().collect::<Vec<_>>(), &ranked));
    }
    if !omitted.is_empty() {
        lines.push(format!(
            "  Too wide for this table: {}; --out has all figures.",
            omitted.join(", ")
        ));
    }
    for row in summary.rows.iter().filter(|row| !row.is_ranked()) {
        lines.push(format!("  {}  {}", row.tool, cut(&row.why_unranked())));
    }
    lines.push(mark(&summary.verdict));
    lines.extend(summary.notes.iter().map(|note| format!("  note: {note}")));
    lines.join("\n") + "\n"
}

/// Returns the lines of a table: its head, and a line for each row.
fn table(columns: &[&Column], rows: &[&Row]) -> Vec<String> {
    let heads = columns.iter().map(|(head, _)| (*head).to_owned());
    let mut cells: Vec<Vec<String>> =
        vec![std::iter::once("tool".to_owned()).chain(heads).collect()];
    cells.extend(rows.iter().map(|row| {
        let shown = columns.iter().map(|(_, show)| show(row));
        std::iter::once(row.tool.clone()).chain(shown).collect()
    }));
    let width = |column: usize| {
        let cells = cells.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    let line = |cells: &Vec<String>| {
        let shown = cells.iter().zip(&widths).enumerate().map(|(index, (cell, width))| {
            if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        let shown: Vec<String> = shown.collect();
        shown.join("  ").trim_end().to_owned()
    };
    cells.iter().map(line).collect()
}

/// Maximum length of a fault in a table; the report and `results.json` have all of it.
const FAULT_LETTERS: usize = 160;

/// Shortens a text in the middle: its beginning names the action, its end the cause.
fn cut(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= FAULT_LETTERS {
        return text.to_owned();
    }
    let half = FAULT_LETTERS / 2;
    let (first, last) = (letters.iter().take(half), letters.iter().skip(letters.len() - half));
    first.chain(['…'].iter()).chain(last).collect()
}

pub(super) fn span(interval: &Interval) -> String {
    let (low, high) = (units::seconds(interval.low), units::seconds(interval.high));
    // One unit is enough where both have the same.
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, unit)), Some((high, same))) if unit == same => format!("{low} – {high} {unit}"),
        _ => format!("{low} – {high}"),
    }
}
