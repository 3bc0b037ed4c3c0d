//! A tool's line in the table of a case, and its relation to another tool's.

use crate::measure::ReadTimes;
use crate::session::{Case, Fault, Measurement, Run};
use crate::stats::{Interval, Ratio, paired_ratio};
use crate::units;

/// A tool's line in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The tool.
    pub tool: String,
    /// Its command template.
    pub command: String,
    /// Why it is not ranked, if it is not.
    pub fault: Option<Fault>,
    /// The times by which it is ranked, round by round, in seconds.
    pub times_s: Vec<f64>,
    /// Their median; 0 if there are none.
    pub time_s: f64,
    /// The confidence interval of the median.
    pub time_interval: Option<Interval>,
    /// Times in relation to the baseline's of the same round.
    pub ratio: Option<Ratio>,
    /// CPU in relation to the baseline's of the same round.
    pub cpu_ratio: Option<Ratio>,
    /// Median seconds of the command.
    pub wall_s: f64,
    /// Median seconds of the sync after it.
    pub sync_s: f64,
    /// Median seconds of CPU in user mode.
    pub user_s: f64,
    /// Median seconds of CPU in the kernel.
    pub system_s: f64,
    /// The largest peak of memory.
    pub max_rss_bytes: u64,
    /// Whether that is the benchmark's own memory, so that it is only an upper bound for the
    /// tool's.
    pub memory_is_bound: bool,
    /// Median bytes written at the device.
    pub written_bytes: Option<u64>,
    /// Median pages that the run added to the page cache: of source and target, as they are after.
    pub cached_pages: Option<u64>,
    /// Median pages of the hot file that were evicted.
    pub hot_evicted: Option<u64>,
    /// Medians of what the runs did to the bystander: the share of its pages that was left, and its reads.
    pub bystander: Option<BesideRow>,
    /// The processes of runs with several at once.
    pub each: Option<EachRow>,
    /// Median dirty bytes when the command ended.
    pub dirty_bytes: Option<u64>,
    /// Median seconds in which at least one task of the machine waited for I/O.
    pub io_stall_s: Option<f64>,
    /// System calls, where they were counted.
    pub calls: Option<u64>,
    /// Number of outliers.
    pub outliers: usize,
}

/// What a tool did to the bystander, in medians over its runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BesideRow {
    /// The share of the cached pages that the command left; `None` if the kernel does not report it.
    pub left: Option<f64>,
    /// Its reads alone.
    pub alone: ReadTimes,
    /// Its reads beside the command.
    pub beside: ReadTimes,
}

/// The processes of runs with several at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EachRow {
    /// Median of their times, in seconds.
    pub time_s: f64,
    /// The longest time of one of them, in seconds.
    pub slowest_s: f64,
    /// Median of their CPU, in seconds.
    pub cpu_s: f64,
    /// Median of their proportional set sizes; `None` if none was sampled.
    pub pss_bytes: Option<u64>,
    /// Median of the sums of these over the processes of a run; `None` if a process of each run was not sampled.
    pub all_pss_bytes: Option<u64>,
}

impl Row {
    /// Returns whether the tool is ranked.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        self.fault.is_none() && !self.times_s.is_empty()
    }

    /// Returns why it is not ranked.
    pub(super) fn why_unranked(&self) -> String {
        match &self.fault {
            Some(fault) if fault.is_refusal() => format!("not possible here: {fault}"),
            Some(fault) => format!("FAILED: {fault}"),
            // The session ended before its turn.
            None => "not measured".to_owned(),
        }
    }
}

/// Relates a figure of one tool to another's, within each round.
pub(super) fn relation(
    case: &Case,
    tool: &str,
    other: &str,
    seed: u64,
    figure: &dyn Fn(&Measurement) -> f64,
) -> Option<Ratio> {
    let of_round = |round: u32| {
        let found = case.runs_of(other).find(|run: &&Run| run.round == round)?;
        Some(figure(&found.measured))
    };
    let pairs: Vec<(f64, f64)> = case
        .runs_of(tool)
        .filter_map(|run| Some((figure(&run.measured), of_round(run.round)?)))
        .collect();
    paired_ratio(&pairs, seed)
}

/// Formats a ratio with its interval: `0.57 (0.55 to 0.60)`.
pub(super) fn with_interval(ratio: &Ratio) -> String {
    match ratio.interval {
        Some(interval) => format!(
            "{} ({} to {})",
            units::ratio(ratio.median),
            units::ratio(interval.low),
            units::ratio(interval.high)
        ),
        None => units::ratio(ratio.median),
    }
}
