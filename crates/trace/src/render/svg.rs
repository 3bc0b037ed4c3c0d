//! The histograms of a report as an SVG picture: sizes on the left, latencies on the right.

use super::bars::lines;
use super::escape::xml;
use super::quantity::{count, size_edge, time_edge};
use crate::report::{Grouping, Histogram, Report};

const LINE: usize = 16;
const PANEL: usize = 440;
const LABEL: usize = 70;
const BAR: usize = 270;

/// Maximum number of groups in a picture; the text has them all.
const MOST_GROUPS: usize = 24;

/// Returns an SVG picture of each group's histograms, the calls with most time first; several
/// reports one below the other.
#[must_use]
pub fn svg(reports: &[&Report], grouping: Grouping) -> String {
    let mut body = String::new();
    let mut top = 0;
    for report in reports {
        top = draw(&mut body, top + 2 * LINE, report, grouping);
    }
    let (width, height) = (2 * PANEL + 20, top + 2 * LINE);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <style>.title{{font-size:14px;font-weight:bold}}.group{{font-weight:bold}}\
         .call{{fill:#555}}.edge{{text-anchor:end}}.bar{{fill:#3b6ea8}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
    )
}

/// Draws a report at a vertical position, and returns its lower end.
fn draw(body: &mut String, mut top: usize, report: &Report, grouping: Grouping) -> usize {
    place(body, (10, top), "title", &report.title);
    for group in report.groups(grouping).iter().take(MOST_GROUPS) {
        top += 2 * LINE;
        place(body, (10, top), "group", &group.label);
        for (prefix, tallies) in
            [("", &group.tallies.calls), ("io_uring ", &group.tallies.operations)]
        {
            let mut sorted: Vec<_> = tallies.iter().collect();
            sorted.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.total_ns));
            for (name, tally) in sorted {
                top += LINE + LINE / 2;
                place(body, (10, top), "call", &format!("{prefix}{name} {}", tally.count));
                let left = panel(body, (10, top), &tally.sizes, size_edge);
                let right = panel(body, (10 + PANEL, top), &tally.latencies, time_edge);
                top += left.max(right) * LINE;
            }
        }
    }
    top
}

fn place(body: &mut String, (left, top): (usize, usize), class: &str, text: &str) {
    body.push_str(&format!(
        "<text class=\"{class}\" x=\"{left}\" y=\"{top}\">{}</text>\n",
        xml(text)
    ));
}

/// Draws a histogram below a point and returns its lines.
fn panel(
    body: &mut String,
    (left, top): (usize, usize),
    histogram: &Histogram,
    edge: fn(u64) -> String,
) -> usize {
    let lines = lines(histogram, edge);
    let highest = lines.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
    for (index, (edge, value)) in lines.iter().enumerate() {
        let base = top + (index + 1) * LINE;
        place(body, (left + LABEL - 6, base), "edge", edge);
        if *value == 0 {
            continue;
        }
        // Tenths of a pixel in integers; the product fits since BAR is small against 2^128.
        let tenths = u128::from(*value) * (BAR as u128 * 10) / u128::from(highest);
        let tenths = usize::try_from(tenths).unwrap_or(0).max(5);
        body.push_str(&format!(
            "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}.{}\" height=\"{}\"/>\n",
            left + LABEL,
            base - 10,
            tenths / 10,
            tenths % 10,
            LINE - 4,
        ));
        place(body, (left + LABEL + 4 + tenths / 10, base), "count", &count(*value));
    }
    lines.len()
}
