//! A report as an SVG picture that stands alone: the time of the calls, the sizes of requests, the latencies. Two
//! reports are drawn in the same panels, in two colours and on one scale, so that bars of one call are side by side.

use super::Detail;
use super::brief::SMALL_PART;
use super::canvas::{Canvas, MARGIN, WIDTH};
use super::named::{by_time, moves_bytes};
use super::quantity::{bytes, count, size_edge, time, time_edge};
use crate::report::{Grouping, Histogram, Observer, Report, Tallies, Tally, to_float};

/// Options of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureOptions {
    /// Amount of figures.
    pub detail: Detail,
    /// The aggregation of a single report. Two reports are compared in total.
    pub grouping: Grouping,
}

/// Number of calls in the chart of times in the short form.
const MOST_CALLS: usize = 8;

/// Number of calls with sizes, and with latencies, in the short form.
const MOST_PANELS: usize = 4;

/// Maximum number of groups in a picture; the text has them all.
const MOST_GROUPS: usize = 24;

/// Maximum number of letters of a title in a line.
const TITLE_LETTERS: usize = 100;

/// Width of the labels on the left of bars.
const LABELS: f64 = 84.0;

/// The same in the chart of times, which has names of calls.
const NAMES: f64 = 170.0;

/// Space for the figure behind the longest bar.
const FIGURES: f64 = 60.0;

/// The same in the chart of times.
const LONG_FIGURES: f64 = 200.0;

/// Height of a bar, and distance of lines of bars with one and two series.
const BAR: f64 = 11.0;
const LINE: f64 = 15.0;
const PAIR: f64 = 30.0;

/// Distance of the two bars of a line.
const STEP: f64 = 12.0;

/// Consecutive empty lines of a histogram above which they are drawn as one with dots.
const MOST_EMPTY: usize = 2;

/// The figures of one report, or of a group of it.
struct Series {
    class: &'static str,
    tallies: Tallies,
}

/// Returns an SVG picture of one report, or of two for comparison.
#[must_use]
pub fn picture(reports: &[&Report], options: &PictureOptions) -> String {
    let mut canvas = Canvas::new();
    let titles: Vec<&str> = reports.iter().map(|report| report.title.as_str()).collect();
    let mut top = heading(&mut canvas, reports);
    if let [report] = reports {
        let groups = report.groups(options.grouping);
        for group in groups.iter().take(MOST_GROUPS) {
            if options.grouping != Grouping::Total {
                top += 26.0;
                canvas.text((MARGIN, top), "title", &shortened(&group.label));
            }
            let series = [Series { class: "a", tallies: group.tallies.clone() }];
            top = sections(&mut canvas, top, &series, options.detail);
        }
        if groups.len() > MOST_GROUPS {
            top += 26.0;
            let left = count((groups.len() - MOST_GROUPS) as u64);
            canvas.text((MARGIN, top), "soft", &format!("{left} more are in the text only"));
        }
    } else {
        let series: Vec<Series> = ["a", "b"]
            .into_iter()
            .zip(reports)
            .map(|(class, report)| Series { class, tallies: report.total() })
            .collect();
        top = sections(&mut canvas, top, &series, options.detail);
    }
    canvas.finish(top + MARGIN, &format!("System calls of {}", titles.join(" and ")))
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let mut short: String = letters.by_ref().take(TITLE_LETTERS).collect();
    if letters.next().is_some() {
        short.push('…');
    }
    short
}

/// Draws what was run and its totals; with two reports, also which colour is whose.
fn heading(canvas: &mut Canvas, reports: &[&Report]) -> f64 {
    let mut top = 12.0;
    for (report, (class, label)) in reports.iter().zip([("a", "A: "), ("b", "B: ")]) {
        top += 20.0;
        let is_pair = reports.len() > 1;
        let (left, label) = if is_pair { (MARGIN + 20.0, label) } else { (MARGIN, "") };
        if is_pair {
            canvas.bar(class, (MARGIN, top - 11.0), (12.0, 12.0));
        }
        canvas.text((left, top), "title", &shortened(&format!("{label}{}", report.title)));
        top += 18.0;
        let observer = match report.observer {
            Observer::Ebpf => "measured by eBPF",
            Observer::Ptrace => "measured by ptrace, whose stops are most of the latencies",
        };
        let total = report.total();
        let told = format!(
            "{} elapsed, {} in {} system calls, {}; {observer}",
            time(report.wall_ns),
            time(total.total_ns()),
            count(total.all_counts()),
            processes(report.processes()),
        );
        canvas.text((left, top), "soft", &told);
    }
    top
}

fn processes(number: usize) -> String {
    if number == 1 { "1 process".to_owned() } else { format!("{} processes", count(number as u64)) }
}

/// A call in each series.
struct Row<'a> {
    name: String,
    tallies: Vec<Option<&'a Tally>>,
}

impl Row<'_> {
    fn highest(&self, figure: fn(&Tally) -> u64) -> u64 {
        self.tallies.iter().flatten().map(|tally| figure(tally)).max().unwrap_or(0)
    }
}

/// Returns the calls of all series, those with most time in any first.
fn rows(series: &[Series]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for (index, one) in series.iter().enumerate() {
        for (name, tally) in by_time(&one.tallies) {
            let at = rows.iter().position(|row| row.name == name).unwrap_or_else(|| {
                rows.push(Row { name: name.clone(), tallies: vec![None; series.len()] });
                rows.len() - 1
            });
            if let Some(slot) = rows.get_mut(at).and_then(|row| row.tallies.get_mut(index)) {
                *slot = Some(tally);
            }
        }
    }
    rows.sort_by_key(|row| {
        (std::cmp::Reverse(row.highest(|tally| tally.total_ns)), row.name.clone())
    });
    rows
}

/// Draws the chart of times and the histograms below a line; returns the new lower end.
fn sections(canvas: &mut Canvas, top: f64, series: &[Series], detail: Detail) -> f64 {
    let rows = rows(series);
    let most = |short: usize| if detail == Detail::Short { short } else { rows.len() };
    let timed: Vec<&Row<'_>> =
        rows.iter().filter(|row| row.highest(|tally| tally.total_ns) > 0).collect();
    let mut top = times(canvas, top, series, timed.get(..most(MOST_CALLS)).unwrap_or(&timed));
    let mut sized: Vec<&Row<'_>> = rows
        .iter()
        .filter(|row| row.highest(|tally| tally.sizes.total()) > 0)
        .filter(|row| detail == Detail::All || moves_bytes(&row.name))
        .collect();
    sized.sort_by_key(|row| std::cmp::Reverse(row.highest(|tally| tally.bytes)));
    let largest = sized.first().map_or(0, |row| row.highest(|tally| tally.bytes));
    if detail == Detail::Short {
        sized.retain(|row| row.highest(|tally| tally.bytes) >= largest / SMALL_PART);
    }
    sized.truncate(most(MOST_PANELS));
    let sizes = Kind {
        head: "How large the requests are",
        edges: "bytes, from",
        of: |tally| &tally.sizes,
        edge: size_edge,
        sum: |tally| bytes(tally.bytes),
    };
    top = panels(canvas, top, series, &sized, &sizes);
    let several: Vec<&Row<'_>> =
        timed.into_iter().filter(|row| row.highest(|tally| tally.latencies.total()) > 1).collect();
    let latencies = Kind {
        head: "How long the calls take",
        edges: "time, from",
        of: |tally| &tally.latencies,
        edge: time_edge,
        sum: |tally| time(tally.total_ns),
    };
    panels(canvas, top, series, several.get(..most(MOST_PANELS)).unwrap_or(&several), &latencies)
}

/// Draws the time of each call as bars on one scale.
fn times(canvas: &mut Canvas, top: f64, series: &[Series], rows: &[&Row<'_>]) -> f64 {
    let longest = rows.iter().map(|row| row.highest(|tally| tally.total_ns)).max().unwrap_or(0);
    if longest == 0 {
        return top;
    }
    let mut top = top + 36.0;
    canvas.text((MARGIN, top), "head", "Where the time goes");
    top += 18.0;
    canvas.text((MARGIN + NAMES - 8.0, top), "soft end", "call");
    top += 4.0;
    let plot =
        Plot { left: MARGIN + NAMES, width: WIDTH - 2.0 * MARGIN - NAMES - LONG_FIGURES, top };
    let line = plot.line(series.len());
    let bottom = top + 4.0 + line * to_float(rows.len() as u64);
    plot.axis(canvas, bottom, longest, time, "time of all calls of one name, added up");
    for row in rows {
        top += line;
        let middle = if series.len() > 1 { top - STEP / 2.0 - 3.0 } else { top - 3.0 };
        canvas.text((plot.left - 8.0, middle), "end", &row.name);
        let bars = row.tallies.iter().map(|tally| {
            tally.map(|tally| {
                let times = if tally.count == 1 { "call" } else { "calls" };
                let figure = format!("{} in {} {times}", time(tally.total_ns), count(tally.count));
                (tally.total_ns, figure)
            })
        });
        plot.bars(canvas, top, series, longest, bars.collect());
    }
    bottom + 34.0
}

/// What a panel shows of a call.
struct Kind {
    head: &'static str,
    /// Title of the vertical axis.
    edges: &'static str,
    of: fn(&Tally) -> &Histogram,
    edge: fn(u64) -> String,
    /// What the values add up to.
    sum: fn(&Tally) -> String,
}

/// Draws a section with a panel for each call, two beside each other.
fn panels(canvas: &mut Canvas, top: f64, series: &[Series], rows: &[&Row<'_>], kind: &Kind) -> f64 {
    if rows.is_empty() {
        return top;
    }
    let mut top = top + 36.0;
    canvas.text((MARGIN, top), "head", kind.head);
    top += 16.0;
    let told = "Each bar counts the calls from its value up to twice its value.";
    canvas.text((MARGIN, top), "soft", told);
    for pair in rows.chunks(2) {
        let mut lowest = top;
        for (index, row) in pair.iter().enumerate() {
            let left = if index == 0 { MARGIN } else { WIDTH / 2.0 + MARGIN / 2.0 };
            lowest = lowest.max(panel(canvas, (left, top), series, row, kind));
        }
        top = lowest;
    }
    top
}

/// Draws a histogram of a call, and returns its lower end.
fn panel(
    canvas: &mut Canvas,
    (left, top): (f64, f64),
    series: &[Series],
    row: &Row<'_>,
    kind: &Kind,
) -> f64 {
    let mut top = top + 26.0;
    let sums = row.tallies.iter().zip(["A ", "B "]).map(|(tally, label)| {
        let label = if series.len() > 1 { label } else { "" };
        format!("{label}{}", tally.map_or_else(|| "none".to_owned(), kind.sum))
    });
    let sums: Vec<String> = sums.collect();
    canvas.text((left, top), "call", &format!("{}: {}", row.name, sums.join(", ")));
    top += 17.0;
    canvas.text((left + LABELS - 8.0, top), "soft end", kind.edges);
    top += 3.0;
    let lines = lines(row, kind);
    let highest = lines.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(1).max(1);
    let width = WIDTH / 2.0 - 1.5 * MARGIN - LABELS - FIGURES;
    let plot = Plot { left: left + LABELS, width, top };
    let line = plot.line(series.len());
    let shown = collapsed(&lines);
    let drawn: f64 = shown.iter().map(|line_of| if line_of.is_some() { line } else { LINE }).sum();
    let bottom = top + 4.0 + drawn;
    plot.axis(canvas, bottom, highest, count, "number of calls");
    for line_of in shown {
        let Some((from, counts)) = line_of else {
            top += LINE;
            canvas.text((plot.left - 8.0, top - 3.0), "soft end", "⋮");
            continue;
        };
        top += line;
        let middle = if series.len() > 1 { top - STEP / 2.0 - 3.0 } else { top - 3.0 };
        canvas.text((plot.left - 8.0, middle), "end", &(kind.edge)(*from));
        let bars = counts.iter().map(|value| (*value > 0).then(|| (*value, count(*value))));
        plot.bars(canvas, top, series, highest, bars.collect());
    }
    bottom + 34.0
}

/// A line of a histogram: the lower edge and the number of calls in each series.
type Bucket = (u64, Vec<u64>);

/// Returns the lines from the lowest to the highest that is not empty in every series.
fn lines(row: &Row<'_>, kind: &Kind) -> Vec<Bucket> {
    let mut lines: Vec<Bucket> = Vec::new();
    for (series, tally) in row.tallies.iter().enumerate() {
        let Some(tally) = tally else { continue };
        for (index, bucket) in (kind.of)(tally).buckets().enumerate() {
            if lines.len() <= index {
                lines.push((bucket.from, vec![0; row.tallies.len()]));
            }
            if let Some(slot) = lines.get_mut(index).and_then(|line| line.1.get_mut(series)) {
                *slot = bucket.count;
            }
        }
    }
    let is_empty = |line: &Bucket| line.1.iter().all(|count| *count == 0);
    let begin = lines.iter().position(|line| !is_empty(line)).unwrap_or(0);
    lines.drain(..begin);
    lines
}

/// Replaces runs of empty lines by `None`.
fn collapsed(lines: &[Bucket]) -> Vec<Option<&Bucket>> {
    let is_empty = |line: &Bucket| line.1.iter().all(|count| *count == 0);
    let mut shown = Vec::new();
    for run in lines.chunk_by(|one, next| is_empty(one) == is_empty(next)) {
        if run.len() > MOST_EMPTY && run.iter().all(is_empty) {
            shown.push(None);
        } else {
            shown.extend(run.iter().map(Some));
        }
    }
    shown
}

/// The area of bars: its left edge, the width of the longest bar, its upper edge.
struct Plot {
    left: f64,
    width: f64,
    top: f64,
}

impl Plot {
    /// Returns the height of a line with a bar for each series.
    const fn line(&self, series: usize) -> f64 {
        if series > 1 { PAIR } else { LINE }
    }

    /// Draws the horizontal axis below the bars, with its title and its values at both ends.
    fn axis(
        &self,
        canvas: &mut Canvas,
        bottom: f64,
        highest: u64,
        write: fn(u64) -> String,
        title: &str,
    ) {
        let right = self.left + self.width;
        canvas.line("grid", (right, self.top), (right, bottom));
        canvas.line("axis", (self.left, self.top), (self.left, bottom));
        canvas.line("axis", (self.left, bottom), (right, bottom));
        canvas.text((self.left, bottom + 14.0), "soft mid", "0");
        canvas.text((right, bottom + 14.0), "soft mid", &write(highest));
        canvas.text((self.left + self.width / 2.0, bottom + 14.0), "soft mid", title);
    }

    /// Draws a bar for each series above a line, with its figure behind it.
    fn bars(
        &self,
        canvas: &mut Canvas,
        bottom: f64,
        series: &[Series],
        highest: u64,
        bars: Vec<Option<(u64, String)>>,
    ) {
        let mut base = bottom - STEP * to_float(series.len() as u64 - 1);
        for (bar, one) in bars.into_iter().zip(series) {
            if let Some((value, figure)) = bar {
                let width = self.width * to_float(value) / to_float(highest.max(1));
                canvas.bar(one.class, (self.left, base - BAR - 1.0), (width, BAR));
                canvas.text((self.left + width.max(1.0) + 5.0, base - 3.0), "figure", &figure);
            }
            base += STEP;
        }
    }
}
