//! Which test runs when: several at a time, the longest first, and some alone.

use super::load::Busy;
use super::options::Options;
use super::process::{self, Ended, Verdict};
use super::suite::{Case, Times};
use crate::error::Result;
use crate::interrupt;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Tests that measure, or that change the whole machine: labels begin like this, and they run alone.
const ALONE: &[&str] = &["bench all fresh::", "mpi all job"];

/// Time that a test gets if nothing is known of it.
const LIMIT: Duration = Duration::from_secs(600);

/// A test gets this many times what it took before, but at least a minute.
const LIMIT_FACTOR: f64 = 10.0;
const LIMIT_LEAST: f64 = 60.0;

/// What the tests of a run have in common.
pub(super) struct Setting<'a> {
    pub(super) options: &'a Options,
    pub(super) variables: &'a [(&'static str, String)],
    pub(super) scratch: &'a Path,
}

/// The results of a test, one for each round.
pub(super) type Results = BTreeMap<String, Vec<Ended>>;

/// Runs the tests in all rounds, prints a line for each, and what the failed ones printed.
pub(super) fn run(cases: &[Case], setting: &Setting<'_>, times: &mut Times) -> Result<Results> {
    let busy = Busy::start(&setting.options.loads, setting.scratch)?;
    let (alone, mut together): (Vec<_>, Vec<_>) = cases
        .iter()
        .cloned()
        .partition(|case| ALONE.iter().any(|beginning| case.label().starts_with(beginning)));
    let mut results = Results::new();
    for _ in 0..setting.options.rounds {
        // A new one may be long.
        let length = |case: &Case| times.of(case).unwrap_or(f64::MAX);
        together.sort_by(|one, other| length(other).total_cmp(&length(one)));
        batch(&together, setting.options.jobs, setting, times, &mut results)?;
        batch(&alone, 1, setting, times, &mut results)?;
    }
    drop(busy);
    Ok(results)
}

fn batch(
    cases: &[Case],
    jobs: usize,
    setting: &Setting<'_>,
    times: &mut Times,
    results: &mut Results,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let limits: Vec<_> = cases.iter().map(|case| limit(times.of(case))).collect();
    let (send, ended) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            let (send, next, limits) = (send.clone(), &next, &limits);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    if interrupt::check().is_err() {
                        break;
                    }
                    let ended =
                        process::run(case, setting.variables, limits[index], setting.scratch);
                    if send.send((case, ended)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for (case, ended) in ended {
            let ended = ended?;
            show(case, &ended);
            if ended.verdict == Verdict::Passed {
                times.set(case, ended.elapsed.as_secs_f64());
            }
            results.entry(case.label()).or_default().push(ended);
        }
        interrupt::check()
    })
}

fn limit(usual: Option<f64>) -> Duration {
    usual
        .map_or(LIMIT, |seconds| Duration::from_secs_f64((seconds * LIMIT_FACTOR).max(LIMIT_LEAST)))
}

fn show(case: &Case, ended: &Ended) {
    let (label, seconds) = (case.label(), ended.elapsed.as_secs_f64());
    match &ended.verdict {
        Verdict::Passed => println!("test {label} ... ok ({seconds:.2} s)"),
        Verdict::Skipped(notes) => println!("test {label} ... {}", notes.join("; ")),
        Verdict::Failed(why) => {
            println!("test {label} ... FAILED ({seconds:.2} s): {why}");
            ended.output.lines().for_each(|line| println!("    {line}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_what_a_test_took() {
        assert_eq!(limit(None), LIMIT);
        assert_eq!(limit(Some(0.01)), Duration::from_secs(60));
        assert_eq!(limit(Some(20.0)), Duration::from_secs(200));
    }
}
