//! Tables for a terminal.

use super::row::{Row, with_interval};
use super::summary::{CaseSummary, summarise};
use crate::session::Results;
use crate::stats::Interval;
use crate::units;

/// Returns all tables, each with its verdict; notes common to all of them appear once, at the end.
#[must_use]
pub fn text(results: &Results) -> String {
    let mut text = String::new();
    let mut summaries: Vec<CaseSummary> =
        results.cases.iter().map(|case| summarise(results, case)).collect();
    let common = common_notes(&summaries);
    for summary in &mut summaries {
        summary.notes.retain(|note| !common.contains(note));
        text += &case_text(summary);
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
    ("ratio", |row| row.ratio.as_ref().map(with_interval).unwrap_or_default()),
    ("user", |row| units::seconds(row.user_s)),
    ("system", |row| units::seconds(row.system_s)),
    ("sync", |row| units::seconds(row.sync_s)),
    ("memory", memory),
    ("calls", |row| row.calls.map(units::count).unwrap_or_default()),
];

/// Formats the peak memory, or its upper bound.
pub(super) fn memory(row: &Row) -> String {
    let sign = if row.memory_is_bound { "≤ " } else { "" };
    format!("{sign}{}", units::bytes(row.max_rss_bytes))
}

fn case_text(summary: &CaseSummary) -> String {
    let mut lines = vec![summary.title.clone(), format!("  {}", summary.corpus)];
    let ranked: Vec<&Row> = summary.rows.iter().filter(|row| row.is_ranked()).collect();
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, show)| ranked.iter().any(|row| !show(row).is_empty())).collect();
    let mut table: Vec<Vec<String>> = Vec::new();
    let heads = columns.iter().map(|(head, _)| (*head).to_owned());
    table.push(std::iter::once("tool".to_owned()).chain(heads).collect());
    for row in &ranked {
        let cells = columns.iter().map(|(_, show)| show(row));
        table.push(std::iter::once(row.tool.clone()).chain(cells).collect());
    }
    let width = |column: usize| {
        let cells = table.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    for cells in &table {
        let shown: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(index, (cell, width))| {
                    if index == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        lines.push(format!("  {}", shown.join("  ")).trim_end().to_owned());
    }
    for row in summary.rows.iter().filter(|row| !row.is_ranked()) {
        let why = row.fault.as_ref().map_or("was not run".to_owned(), ToString::to_string);
        lines.push(format!("  {}  FAILED: {}", row.tool, cut(&why)));
    }
    lines.push(summary.verdict.clone());
    lines.extend(summary.notes.iter().map(|note| format!("  note: {note}")));
    lines.join("\n") + "\n"
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
