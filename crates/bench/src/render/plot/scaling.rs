//! Time of a series of tools over the varied parameter: the I/O size, the number of jobs.

use super::super::summary::CaseSummary;
use super::axis::Axis;
use super::canvas::{Canvas, LETTER, Place, WIDTH};
use crate::session::Case;
use crate::stats::Interval;
use crate::units;

const HEIGHT: f64 = 210.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = HEIGHT - 38.0;

/// One tool of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The value of the parameter.
    pub value: u64,
    /// The median time in seconds.
    pub time_s: f64,
    /// Its confidence interval.
    pub interval: Option<Interval>,
}

/// The tools of one series, by value.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The varied parameter.
    pub axis: String,
    /// The points, at least two.
    pub points: Vec<Point>,
}

/// Collects the series of a case.
#[must_use]
pub fn series_of(case: &Case, summary: &CaseSummary) -> Vec<Series> {
    let mut found: Vec<Series> = Vec::new();
    for tool in &case.tools {
        let Some(variation) = &tool.variation else { continue };
        let row = summary.rows.iter().find(|row| row.tool == tool.name && row.is_ranked());
        let Some(row) = row else { continue };
        let point =
            Point { value: variation.value, time_s: row.time_s, interval: row.time_interval };
        let same =
            |series: &&mut Series| series.name == variation.series && series.axis == variation.axis;
        match found.iter_mut().find(same) {
            Some(series) => series.points.push(point),
            None => found.push(Series {
                name: variation.series.clone(),
                axis: variation.axis.clone(),
                points: vec![point],
            }),
        }
    }
    for series in &mut found {
        series.points.sort_by_key(|point| point.value);
    }
    found.retain(|series| series.points.len() > 1);
    found
}

/// Draws one series of a case with that title.
#[must_use]
pub fn scaling(series: &Series, case: &str, place: Place) -> String {
    let title = format!("{}: time over {}", series.name, series.axis);
    let mut canvas = Canvas::new(HEIGHT, &format!("{title} ({case})"));
    if place == Place::Page {
        canvas.text((LEFT, TOP - 10.0), "head", &title);
    }
    canvas.text((LEFT - 5.0, TOP - 10.0), "soft end", "time");
    let high = |point: &Point| point.interval.map_or(point.time_s, |interval| interval.high);
    let highest = series.points.iter().map(high).fold(0.0, f64::max);
    let y = Axis::linear(highest, (BOTTOM, TOP));
    for tick in y.ticks(4) {
        canvas.line("grid", (LEFT, y.place(tick)), (WIDTH - 14.0, y.place(tick)));
        canvas.text((LEFT - 5.0, y.place(tick) + 4.0), "soft end", &units::seconds(tick));
    }
    // Equal distances, because the values are successive powers of two.
    let step = (WIDTH - 14.0 - LEFT) / series.points.len() as f64;
    let x = |index: usize| LEFT + (index as f64 + 0.5) * step;
    let line: Vec<(f64, f64)> = series
        .points
        .iter()
        .enumerate()
        .map(|(index, point)| (x(index), y.place(point.time_s)))
        .collect();
    canvas.polyline("line", &line);
    for (index, point) in series.points.iter().enumerate() {
        let value = value_text(series, point.value);
        if let Some(interval) = point.interval {
            canvas.line(
                "line",
                (x(index), y.place(interval.low)),
                (x(index), y.place(interval.high)),
            );
        }
        let hint = format!("{value}: {}", units::seconds(point.time_s));
        canvas.dot("dot", (x(index), y.place(point.time_s)), 4.0, &hint);
        canvas.tick((x(index), BOTTOM + LETTER + 4.0), &value);
    }
    canvas.text((WIDTH - 14.0, HEIGHT - 5.0), "soft end", &series.axis);
    canvas.finish(place)
}

fn value_text(series: &Series, value: u64) -> String {
    if !series.axis.contains("bytes") {
        return value.to_string();
    }
    units::bytes(value).replace("iB", "").replace(' ', "")
}
