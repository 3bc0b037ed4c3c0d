//! Every time of every tool, and a box around the middle half: a bar of means would hide the
//! distribution.

use super::super::summary::CaseSummary;
use super::axis::Axis;
use super::canvas::{Canvas, LETTER, Place, WIDTH, fit, margin_for};
use crate::stats::quantile;
use crate::units;

const ROW: f64 = 24.0;
const HEAD: f64 = 24.0;
const FOOT: f64 = 36.0;

/// Draws the times of all ranked tools; `None` if there are none.
#[must_use]
pub fn distribution(summary: &CaseSummary, place: Place) -> Option<String> {
    let rows: Vec<_> = summary.rows.iter().filter(|row| row.is_ranked()).collect();
    if rows.is_empty() {
        return None;
    }
    let margin = margin_for(rows.iter().map(|row| row.tool.as_str()));
    let high = rows.iter().flat_map(|row| &row.times_s).copied().fold(0.0, f64::max);
    let bottom = HEAD + rows.len() as f64 * ROW;
    let mut canvas = Canvas::new(bottom + FOOT, &format!("Times of {}", summary.title));
    let axis = Axis::linear(high, (margin, WIDTH - 14.0));
    canvas.text((margin - 6.0, HEAD - 10.0), "soft end", "tool");
    for tick in axis.ticks(4) {
        let x = axis.place(tick);
        canvas.line("grid", (x, HEAD), (x, bottom));
        canvas.tick((x, bottom + LETTER + 3.0), &units::seconds(tick));
    }
    canvas.text(
        (WIDTH - 14.0, bottom + 2.0 * LETTER + 8.0),
        "soft end",
        "time of a run (dot), middle half (box); less is better",
    );
    for (index, row) in rows.iter().enumerate() {
        let y = HEAD + (index as f64 + 0.5) * ROW;
        let base = if row.tool == summary.baseline { " base" } else { "" };
        canvas.text((margin - 6.0, y + 4.0), "end", &fit(&row.tool, margin));
        let at = |p: f64| quantile(&row.times_s, p).map_or(margin, |value| axis.place(value));
        let (first, middle, third) = (at(0.25), at(0.5), at(0.75));
        canvas.rect(&format!("box{base}"), (first, y - 7.0), (third - first, 14.0));
        canvas.line(&format!("line{base}"), (middle, y - 9.0), (middle, y + 9.0));
        for time in &row.times_s {
            let hint = format!("{}: {}", row.tool, units::seconds(*time));
            canvas.dot(&format!("dot thin{base}"), (axis.place(*time), y), 2.6, &hint);
        }
    }
    Some(canvas.finish(place))
}
