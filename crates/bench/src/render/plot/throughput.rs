//! Activity of the device over the time of a run, for two tools on one scale.

use super::super::summary::CaseSummary;
use super::axis::Axis;
use super::canvas::{Canvas, LETTER, Place, WIDTH};
use crate::measure::Sample;
use crate::session::{Case, Ranking, Run};
use crate::stats::median;
use crate::units;

const PANEL: f64 = 86.0;
const HEAD: f64 = 30.0;
const FOOT: f64 = 44.0;
const LEFT: f64 = 66.0;

/// The minimum number of samples of a plot.
const SAMPLES_MIN: usize = 3;

/// Returns the two tools to show: the fastest one and the baseline, or the next one if these are
/// the same.
#[must_use]
pub fn pair(summary: &CaseSummary) -> Option<(&str, &str)> {
    let mut ranked = summary.rows.iter().filter(|row| row.is_ranked()).map(|row| row.tool.as_str());
    let first = ranked.next()?;
    let second = ranked.clone().find(|tool| *tool == summary.baseline).or_else(|| ranked.next())?;
    Some((first, second))
}

/// Draws the device's rates during a typical run of each of two tools, including the final sync;
/// `None` if the runs are too short or the device has no counters.
#[must_use]
pub fn throughput(case: &Case, tools: (&str, &str), place: Place) -> Option<String> {
    let runs = [typical(case, tools.0)?, typical(case, tools.1)?];
    if runs.iter().all(|run| run.measured.samples.len() < SAMPLES_MIN) {
        return None;
    }
    let samples = || runs.iter().flat_map(|run| &run.measured.samples);
    let last = samples().map(|sample| sample.at_s).fold(0.0, f64::max);
    let rate = samples().map(|sample| sample.read_rate.max(sample.write_rate)).fold(0.0, f64::max);
    if rate <= 0.0 {
        return None;
    }
    let height = 2.0 * (HEAD + PANEL) + FOOT;
    let mut canvas = Canvas::new(height, &format!("Activity of the device: {}", case.title()));
    canvas.text((LEFT - 5.0, HEAD - 8.0), "soft end", "rate");
    let x = Axis::linear(last, (LEFT, WIDTH - 12.0));
    for (index, run) in runs.iter().enumerate() {
        let top = index as f64 * (HEAD + PANEL) + HEAD;
        let y = Axis::linear(rate, (top + PANEL, top + 4.0));
        canvas.text((LEFT, top - 8.0), "head", &run.tool);
        canvas.text((WIDTH - 12.0, top - 8.0), "soft end", &about(&run.measured.samples));
        for tick in y.ticks(3) {
            canvas.line("grid", (LEFT, y.place(tick)), (WIDTH - 12.0, y.place(tick)));
            canvas.text((LEFT - 5.0, y.place(tick) + 4.0), "soft end", &rate_text(tick));
        }
        let end = x.place(run.measured.wall_s);
        canvas.line("one", (end, top), (end, top + PANEL));
        let mut draw = |class: &str, value: fn(&Sample) -> f64| {
            // A rate is that of the tenth of a second before it: a step, not a slope.
            let mut points = vec![(LEFT, y.place(0.0))];
            let mut from = LEFT;
            for sample in &run.measured.samples {
                let (place, to) = (y.place(value(sample)), x.place(sample.at_s));
                points.extend([(from, place), (to, place)]);
                from = to;
            }
            points.push((from, y.place(0.0)));
            canvas.polyline(class, &points);
        };
        draw("line c", |sample| sample.read_rate);
        draw("line", |sample| sample.write_rate);
    }
    let bottom = 2.0 * (HEAD + PANEL);
    for tick in x.ticks(5) {
        canvas.tick((x.place(tick), bottom + LETTER + 7.0), &units::seconds(tick));
    }
    let y = bottom + 2.0 * LETTER + 14.0;
    canvas.text((WIDTH - 12.0, y), "soft end", "time");
    canvas.line("line", (LEFT, y - 4.0), (LEFT + 16.0, y - 4.0));
    canvas.text((LEFT + 20.0, y), "soft", "written");
    canvas.line("line c", (LEFT + 76.0, y - 4.0), (LEFT + 92.0, y - 4.0));
    canvas.text((LEFT + 96.0, y), "soft", "read");
    canvas.line("one", (LEFT + 136.0, y - 4.0), (LEFT + 152.0, y - 4.0));
    canvas.text((LEFT + 156.0, y), "soft", "the command ends");
    Some(canvas.finish(place))
}

/// Returns the run whose time is nearest to the median.
fn typical<'a>(case: &'a Case, tool: &'a str) -> Option<&'a Run> {
    let time = |run: &Run| run.measured.ranked_s(Ranking::WithSync);
    let middle = median(&case.runs_of(tool).map(time).collect::<Vec<_>>())?;
    case.runs_of(tool).min_by(|a, b| (time(a) - middle).abs().total_cmp(&(time(b) - middle).abs()))
}

/// Sums up what iostat would show.
fn about(samples: &[Sample]) -> String {
    let busy: Vec<&Sample> = samples.iter().filter(|sample| sample.request_rate > 0.0).collect();
    let middle = |value: fn(&Sample) -> f64| {
        median(&busy.iter().map(|sample| value(sample)).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    let size = units::bytes(middle(|sample| sample.request_bytes) as u64);
    let depth = units::ratio(middle(|sample| sample.queue_depth));
    let used = middle(|sample| sample.utilisation) * 100.0;
    format!("requests of {size}, depth {depth}, {used:.0} % busy")
}

fn rate_text(rate: f64) -> String {
    if rate >= 1e9 { format!("{} GB/s", rate / 1e9) } else { format!("{:.0} MB/s", rate / 1e6) }
}
