//! Before and after: two sets of results side by side.

use std::fmt;

use haul_manifest::Numbers;

use super::summary::summarise;
use crate::session::Results;
use crate::stats::{Interval, VALUES_MIN, median, quantile};
use crate::units;

/// How often both sides are resampled; see [`crate::stats::interval`].
const RESAMPLES: usize = 2_000;

/// One tool in one case that both results have.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The case.
    pub case: String,
    /// The tool.
    pub tool: String,
    /// The median time before, in seconds.
    pub old_s: f64,
    /// The median time after.
    pub new_s: f64,
    /// After in relation to before.
    pub ratio: f64,
    /// Its confidence interval; `None` if either has fewer than five runs.
    pub interval: Option<Interval>,
}

impl Change {
    /// Returns whether the interval excludes 1.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.interval.is_some_and(|interval| !interval.contains(1.0))
    }
}

/// Comparison of two results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Tools that were ranked in both.
    pub changes: Vec<Change>,
    /// Notes on other machines, other conditions and missing tools.
    pub notes: Vec<String>,
}

/// Error: the two results have no tool in common that was ranked in the same case.
#[derive(Clone, Debug, PartialEq)]
pub struct Unrelated {
    /// Tools that only one side has, and other differences.
    pub notes: Vec<String>,
}

impl fmt::Display for Unrelated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the two results have no scenario, file system and tool in common that were measured \
             in both",
        )
    }
}

impl std::error::Error for Unrelated {}

/// Compares results. Rounds of different sessions have nothing in common, so both sides are
/// resampled independently.
///
/// # Errors
///
/// The results have nothing in common.
pub fn compare(old: &Results, new: &Results) -> Result<Comparison, Unrelated> {
    let comparison = changes(old, new);
    if comparison.changes.is_empty() {
        return Err(Unrelated { notes: comparison.notes });
    }
    Ok(comparison)
}

fn changes(old: &Results, new: &Results) -> Comparison {
    let mut comparison = Comparison::default();
    let mut note = |text: String| comparison.notes.push(text);
    let (was, is) = (&old.environment, &new.environment);
    if was.kernel != is.kernel {
        note(format!("The kernel was {}, and is {}.", was.kernel, is.kernel));
    }
    if (&was.processor, was.cores, was.memory_bytes) != (&is.processor, is.cores, is.memory_bytes) {
        note("The machines differ.".to_owned());
    }
    if old.ranking != new.ranking {
        note(format!("Ranked by {} before, by {} after.", old.ranking.name(), new.ranking.name()));
    }
    for case in &new.cases {
        let title = case.title();
        let before =
            old.cases.iter().find(|old| old.title() == title && old.scenario == case.scenario);
        let Some(before) = before else {
            comparison
                .notes
                .push(format!("{title} was not measured before, or with another corpus."));
            continue;
        };
        let old_rows = summarise(old, before).rows;
        for row in summarise(new, case).rows {
            let old_row = old_rows.iter().find(|old| old.tool == row.tool && old.is_ranked());
            let (Some(old_row), true) = (old_row, row.is_ranked()) else {
                comparison.notes.push(format!("{title}: {} cannot be compared.", row.tool));
                continue;
            };
            if old_row.command != row.command {
                comparison.notes.push(format!("{title}: {} is another command now.", row.tool));
            }
            comparison.changes.push(Change {
                case: title.clone(),
                interval: ratio_interval(&old_row.times_s, &row.times_s, new.seed),
                tool: row.tool,
                old_s: old_row.time_s,
                new_s: row.time_s,
                ratio: row.time_s / old_row.time_s,
            });
        }
    }
    for case in &old.cases {
        let title = case.title();
        if !new.cases.iter().any(|new| new.title() == title) {
            comparison.notes.push(format!("{title} was measured before, but not after."));
        }
    }
    comparison
}

/// Returns the 95 % percentile-bootstrap interval of the ratio of two medians.
fn ratio_interval(old: &[f64], new: &[f64], seed: u64) -> Option<Interval> {
    if old.len() < VALUES_MIN || new.len() < VALUES_MIN {
        return None;
    }
    let mut numbers = Numbers::new(seed);
    let mut resampled = |values: &[f64]| {
        let sample = (0..values.len()).filter_map(|_| values.get(numbers.index(values.len())));
        median(&sample.copied().collect::<Vec<_>>())
    };
    let ratios: Option<Vec<f64>> =
        (0..RESAMPLES).map(|_| Some(resampled(new)? / resampled(old)?)).collect();
    let ratios = ratios?;
    Some(Interval { low: quantile(&ratios, 0.025)?, high: quantile(&ratios, 0.975)? })
}

/// Returns the comparison as a table for a terminal.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut lines = Vec::new();
    let mut case = "";
    for change in &comparison.changes {
        if change.case != case {
            case = &change.case;
            lines.push(case.to_owned());
        }
        let span = change.interval.map(|interval| {
            format!(" ({} to {})", units::ratio(interval.low), units::ratio(interval.high))
        });
        let word = match change.is_shown() {
            false => "no difference shown",
            true if change.ratio < 1.0 => "faster",
            true => "SLOWER",
        };
        lines.push(format!(
            "  {:<16} {:>9} -> {:>9}  {}{}  {word}",
            change.tool,
            units::seconds(change.old_s),
            units::seconds(change.new_s),
            units::ratio(change.ratio),
            span.unwrap_or_default()
        ));
    }
    lines.extend(comparison.notes.iter().map(|note| format!("  note: {note}")));
    lines.join("\n") + "\n"
}
