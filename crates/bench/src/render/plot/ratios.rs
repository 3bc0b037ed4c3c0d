//! Each tool in relation to the baseline, with the interval: if it contains 1, no difference is
//! shown.

use super::super::row::{Row, with_interval};
use super::super::summary::CaseSummary;
use super::axis::Axis;
use super::canvas::{Canvas, LETTER, Place, WIDTH, fit, margin_for};
use crate::stats::Ratio;
use crate::units;

const ROW: f64 = 24.0;
const HEAD: f64 = 24.0;
const FOOT: f64 = 36.0;
/// Room for the figure on the right.
const FIGURE: f64 = 44.0;

/// Draws the ratios of all ranked tools but the baseline; `None` if there are none.
#[must_use]
pub fn ratios(summary: &CaseSummary, place: Place) -> Option<String> {
    let rows: Vec<(&Row, Ratio)> = summary
        .rows
        .iter()
        .filter(|row| row.is_ranked() && row.tool != summary.baseline)
        .filter_map(|row| Some((row, row.ratio?)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let ends = |ratio: &Ratio| match ratio.interval {
        Some(interval) => [interval.low, interval.high],
        None => [ratio.median, ratio.median],
    };
    let all = rows.iter().flat_map(|(_, ratio)| ends(ratio)).chain([1.0]);
    let (low, high) =
        all.fold((1.0_f64, 1.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let margin = margin_for(rows.iter().map(|(row, _)| row.tool.as_str()));
    let bottom = HEAD + rows.len() as f64 * ROW;
    let mut canvas = Canvas::new(bottom + FOOT, &format!("Ratios of {}", summary.title));
    let axis = Axis::logarithmic(low * 0.92, high * 1.08, (margin, WIDTH - FIGURE - 6.0));
    canvas.text((margin - 6.0, HEAD - 10.0), "soft end", "tool");
    for tick in axis.ticks(6) {
        let x = axis.place(tick);
        canvas.line("grid", (x, HEAD), (x, bottom));
        canvas.tick((x, bottom + LETTER + 3.0), &format!("{tick}"));
    }
    let one = axis.place(1.0);
    canvas.line("one", (one, HEAD - 4.0), (one, bottom));
    let label = format!("time in relation to {}, less is better", summary.baseline);
    canvas.text((WIDTH - 6.0, bottom + 2.0 * LETTER + 8.0), "soft end", &label);
    for (index, (row, ratio)) in rows.iter().enumerate() {
        let y = HEAD + (index as f64 + 0.5) * ROW;
        let [low, high] = ends(ratio);
        canvas.text((margin - 6.0, y + 4.0), "end", &fit(&row.tool, margin));
        canvas.line("line", (axis.place(low), y), (axis.place(high), y));
        let hint = format!("{}: {}", row.tool, with_interval(ratio));
        canvas.dot("dot", (axis.place(ratio.median), y), 4.5, &hint);
        canvas.text((WIDTH - 6.0, y + 4.0), "end head", &units::ratio(ratio.median));
    }
    Some(canvas.finish(place))
}
