//! The cost of a run to other processes: page cache use, dirty data, stalls.

use super::super::row::Row;
use super::super::summary::CaseSummary;
use super::canvas::{Canvas, Place, WIDTH, fit, margin_for};
use crate::units;

const ROW: f64 = 24.0;
const HEAD: f64 = 34.0;
const FOOT: f64 = 8.0;

/// A column: its heading, its figure, and its format.
struct Column {
    head: [&'static str; 2],
    figure: fn(&Row, u64) -> Option<f64>,
    show: fn(f64) -> String,
}

const COLUMNS: [Column; 5] = [
    Column {
        head: ["cache", "left full"],
        figure: |row, page| row.cached_pages.map(|pages| (pages * page) as f64),
        show: size,
    },
    Column {
        head: ["others'", "evicted"],
        figure: |row, page| row.hot_evicted.map(|pages| (pages * page) as f64),
        show: size,
    },
    Column {
        head: ["dirty", "at the end"],
        figure: |row, _| row.dirty_bytes.map(|bytes| bytes as f64),
        show: size,
    },
    Column {
        head: ["reader's", "p99"],
        figure: |row, _| row.bystander.map(|used| used.beside.p99_s),
        show: units::seconds,
    },
    Column { head: ["waiting", "for I/O"], figure: |row, _| row.io_stall_s, show: units::seconds },
];

/// Draws the cost of each ranked tool to others; `None` if it is unknown.
#[must_use]
pub fn cost(summary: &CaseSummary, page_bytes: u64, place: Place) -> Option<String> {
    let rows: Vec<&Row> = summary.rows.iter().filter(|row| row.is_ranked()).collect();
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| rows.iter().any(|row| (column.figure)(row, page_bytes).is_some()))
        .collect();
    if rows.is_empty() || columns.is_empty() {
        return None;
    }
    let margin = margin_for(rows.iter().map(|row| row.tool.as_str()));
    let height = HEAD + rows.len() as f64 * ROW + FOOT;
    let mut canvas =
        Canvas::new(height, &format!("What the tools take from others: {}", summary.title));
    let width = (WIDTH - margin - 4.0) / columns.len() as f64;
    canvas.text((margin - 6.0, 27.0), "soft end", "tool");
    for (index, column) in columns.iter().enumerate() {
        let left = margin + index as f64 * width;
        for (line, words) in column.head.iter().enumerate() {
            canvas.text((left, 13.0 + line as f64 * 14.0), "soft", words);
        }
        let figures: Vec<Option<f64>> =
            rows.iter().map(|row| (column.figure)(row, page_bytes)).collect();
        let most = figures.iter().flatten().copied().fold(0.0, f64::max);
        for (line, figure) in figures.iter().enumerate() {
            let y = HEAD + line as f64 * ROW;
            let Some(figure) = figure else { continue };
            let base = rows.get(line).is_some_and(|row| row.tool == summary.baseline);
            let share = if most > 0.0 { figure / most } else { 0.0 };
            let class = if base { "bar base" } else { "bar" };
            canvas.rect(class, (left, y + 2.0), (share * (width - 8.0), ROW - 6.0));
            canvas.text((left + 4.0, y + ROW / 2.0 + 3.5), "", &(column.show)(*figure));
        }
    }
    for (line, row) in rows.iter().enumerate() {
        let y = HEAD + (line as f64 + 0.5) * ROW + 3.5;
        canvas.text((margin - 6.0, y), "end", &fit(&row.tool, margin));
    }
    Some(canvas.finish(place))
}

fn size(bytes: f64) -> String {
    units::bytes(bytes as u64)
}
