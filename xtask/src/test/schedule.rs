//! Which test runs when: several at a time, the longest first, and some with few others or none.

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

/// Tests that measure, and jobs of several processes that wait busily: labels begin like this, and so many of them
/// run at a time.
const FEW: &[(&str, usize)] = &[("bench all fresh::", 1), ("mpi all job", 2)];

/// Tests of which many take a minute: in a fresh clone they start first, so that no processor waits for the last.
const LONG: &[&str] = &[
    "cli all sweep::",
    "cli all containers::",
    "cli all rehearse::",
    "cli all bystander::",
    "cli all boundaries::",
    "cli all cache::",
    "cli all devices::",
    "cli all limits::",
    "cli all tar_limits::",
    "cli all tar_races::",
    "io all data::",
    "io all shared::",
    "io all whole::",
];

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
    let jobs_of = |case: &Case| {
        let few = FEW.iter().find(|(beginning, _)| case.label().starts_with(beginning));
        few.map_or(setting.options.jobs, |(_, jobs)| setting.options.jobs.min(*jobs))
    };
    let mut batches: BTreeMap<usize, Vec<Case>> = BTreeMap::new();
    for case in cases {
        batches.entry(jobs_of(case)).or_default().push(case.clone());
    }
    let mut results = Results::new();
    for _ in 0..setting.options.rounds {
        // Most tests first, so that a defect is seen early.
        for (jobs, cases) in batches.iter_mut().rev() {
            let length = |case: &Case| times.of(case).unwrap_or_else(|| guess(&case.label()));
            cases.sort_by(|one, other| length(other).total_cmp(&length(one)));
            batch(cases, *jobs, setting, times, &mut results)?;
        }
    }
    drop(busy);
    Ok(results)
}

/// Runs each failed test again, alone, as often as the options say. One that then always passes counts as
/// passed; returns the names of these, which the report has to show.
pub(super) fn retry(
    cases: &[Case],
    setting: &Setting<'_>,
    results: &mut Results,
) -> Result<Vec<String>> {
    let mut unsteady = Vec::new();
    for case in cases {
        let Some(rounds) = results.get_mut(&case.label()) else { continue };
        if setting.options.retries == 0 || !rounds.iter().any(|one| one.verdict.is_failure()) {
            continue;
        }
        let mut again = Vec::new();
        while again.len() < setting.options.retries {
            interrupt::check()?;
            let ended = process::run(case, setting.variables, LIMIT, setting.scratch)?;
            show(case, &ended);
            let failed = ended.verdict.is_failure();
            again.push(ended);
            if failed {
                break;
            }
        }
        if again.iter().all(|one| !one.verdict.is_failure()) {
            unsteady.push(case.label());
            *rounds = again;
        }
    }
    Ok(unsteady)
}

/// Returns how long a test may take, in seconds, of which nothing is known yet.
fn guess(label: &str) -> f64 {
    if LONG.iter().any(|beginning| label.starts_with(beginning)) { 60.0 } else { 1.0 }
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
        assert!(guess("cli all sweep::tests::cp") > guess("cli all mv::a"));
    }
}
