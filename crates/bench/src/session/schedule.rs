//! The order in which tools run, and the handling of those that fail.
//!
//! In each round every tool runs once, in random order: drift (temperature, cache fill, other load
//! on the host) then affects all tools alike, and slow drift does not affect the ratios, which are
//! computed within a round.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_manifest::Numbers;

use super::calls::{CallCounter, Calls};
use super::monitor::{Event, Monitor};
use super::options::{Rounds, TimeLimit};
use super::results::{Run, ToolFault};
use super::runner::{Attempt, Check, Runner};
use crate::error::{Error, Result};
use crate::stats::VALUES_MIN;
use crate::tool::Tool;

/// Minimum number of rounds, even after the time limit: fewer give no interval.
const ROUNDS_MIN: u32 = VALUES_MIN as u32;

const TIME_IS_OVER: &str = "the time is over; the remaining rounds are left out";

/// The plan of a case.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The tools.
    pub tools: &'a [Tool],
    /// Number of runs.
    pub rounds: Rounds,
    /// The seed of the order.
    pub seed: u64,
    /// Time limit.
    pub limit: TimeLimit,
}

/// The result of a plan.
#[derive(Debug, Default)]
pub struct CaseRuns {
    /// The measurement.
    pub runs: Vec<Run>,
    /// The tools that failed.
    pub faults: Vec<ToolFault>,
    /// The system calls of tools.
    pub calls: Vec<(String, Calls)>,
    /// The error that ended the case; earlier measurements are valid.
    pub trouble: Option<Error>,
}

/// Runs all rounds of one case. Always removes the runner's workspace at the end.
pub fn run_case(
    plan: Plan<'_>,
    runner: &mut dyn Runner,
    monitor: &mut dyn Monitor,
    counter: Option<&mut dyn CallCounter>,
    interrupt: &AtomicBool,
) -> CaseRuns {
    let mut progress = Progress {
        plan,
        start: runner.clock(),
        now: runner.clock(),
        runs_done: 0,
        case: CaseRuns::default(),
        interrupt,
    };
    let done = progress.all(runner, monitor, counter);
    let finished = runner.finish();
    let mut case = progress.case;
    // The reason for the end takes precedence over a failure of the cleanup.
    case.trouble = done.and(finished).err();
    case
}

/// Estimates how long all rounds of one case take: tries its first tool once. Always removes the runner's
/// workspace at the end.
///
/// # Errors
///
/// The workspace cannot be made or removed, or the session was interrupted.
pub fn estimate_case(plan: Plan<'_>, runner: &mut dyn Runner) -> Result<Duration> {
    let start = runner.clock();
    let tried = try_first(plan, runner);
    let finished = runner.finish();
    let (prepared, ended) = tried?;
    finished?;
    let Rounds { warm_up, counted } = plan.rounds;
    let runs =
        u32::try_from(plan.tools.len()).unwrap_or(u32::MAX).saturating_mul(warm_up + counted);
    let rounds = ended.saturating_sub(prepared).saturating_mul(runs);
    let all = prepared.saturating_sub(start).saturating_add(rounds);
    Ok(match plan.limit {
        TimeLimit::None => all,
        TimeLimit::AfterFiveRounds(time) => {
            let least =
                rounds / (warm_up + counted).max(1) * (warm_up + ROUNDS_MIN).min(warm_up + counted);
            all.min(time.max(least))
        }
        TimeLimit::Strict(time) => all.min(time),
    })
}

/// Returns the clock when the workspace was ready, and after a run.
fn try_first(plan: Plan<'_>, runner: &mut dyn Runner) -> Result<(Duration, Duration)> {
    runner.prepare()?;
    let prepared = runner.clock();
    if let Some(tool) = plan.tools.first() {
        let _tried = runner.run(tool, Check::Status)?;
    }
    Ok((prepared, runner.clock()))
}

struct Progress<'a> {
    plan: Plan<'a>,
    /// The clock when the case began, and after its last step.
    start: Duration,
    now: Duration,
    runs_done: u32,
    case: CaseRuns,
    interrupt: &'a AtomicBool,
}

impl Progress<'_> {
    fn all(
        &mut self,
        runner: &mut dyn Runner,
        monitor: &mut dyn Monitor,
        counter: Option<&mut dyn CallCounter>,
    ) -> Result<()> {
        self.go_on()?;
        monitor.event(Event::Preparing);
        runner.prepare()?;
        self.now = runner.clock();
        let mut numbers = Numbers::new(self.plan.seed);
        let Rounds { warm_up, counted } = self.plan.rounds;
        for turn in 0..warm_up + counted {
            let round = (turn + 1).saturating_sub(warm_up);
            if self.time_is_over(round) {
                monitor.event(Event::Warning(TIME_IS_OVER));
                break;
            }
            let mut order: Vec<usize> = (0..self.plan.tools.len()).collect();
            numbers.shuffle(&mut order);
            let check = if turn == 0 { Check::Compare } else { Check::Status };
            for index in order {
                let Some(tool) = self.plan.tools.get(index) else { continue };
                if !self.has_time_for_a_run() {
                    monitor.event(Event::Warning(TIME_IS_OVER));
                    return Ok(());
                }
                self.one(tool, round, check, runner, monitor)?;
            }
            if turn == 0 && self.all_failed() {
                break;
            }
        }
        if let Some(counter) = counter {
            self.count(counter, runner, monitor)?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        tool: &Tool,
        round: u32,
        check: Check,
        runner: &mut dyn Runner,
        monitor: &mut dyn Monitor,
    ) -> Result<()> {
        self.go_on()?;
        if self.failed(tool) {
            return Ok(());
        }
        let rounds = self.plan.rounds.counted;
        monitor.event(Event::Run { round, rounds, tool: &tool.name, left: self.time_left() });
        let attempt = runner.run(tool, check)?;
        self.now = runner.clock();
        self.runs_done += 1;
        match attempt {
            Attempt::Measured(measured) if round > 0 => {
                self.case.runs.push(Run { tool: tool.name.clone(), round, measured: *measured });
            }
            Attempt::Measured(_) => {}
            Attempt::Failed(fault) => {
                monitor.event(Event::Fault { tool: &tool.name, fault: &fault });
                self.case.faults.push(ToolFault { tool: tool.name.clone(), round, fault });
            }
        }
        Ok(())
    }

    fn count(
        &mut self,
        counter: &mut dyn CallCounter,
        runner: &mut dyn Runner,
        monitor: &mut dyn Monitor,
    ) -> Result<()> {
        for tool in self.plan.tools {
            self.go_on()?;
            if self.failed(tool) {
                continue;
            }
            monitor.event(Event::Counting { tool: &tool.name });
            if let Some(calls) = runner.count(tool, counter)? {
                self.case.calls.push((tool.name.clone(), calls));
            }
        }
        Ok(())
    }

    fn go_on(&self) -> Result<()> {
        if self.interrupt.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn failed(&self, tool: &Tool) -> bool {
        self.case.faults.iter().any(|fault| fault.tool == tool.name)
    }

    fn all_failed(&self) -> bool {
        self.plan.tools.iter().all(|tool| self.failed(tool))
    }

    /// Returns whether another round would exceed the time limit.
    fn time_is_over(&self, round: u32) -> bool {
        let TimeLimit::AfterFiveRounds(time) = self.plan.limit else { return false };
        let a_round = self.a_run().unwrap_or_default() * self.still_running();
        round > ROUNDS_MIN && self.spent() + a_round > time
    }

    /// Returns whether another run fits into a strict time limit, as far as the runs before it tell.
    fn has_time_for_a_run(&self) -> bool {
        let TimeLimit::Strict(time) = self.plan.limit else { return true };
        self.spent() < time && self.spent() + self.a_run().unwrap_or_default() <= time
    }

    fn spent(&self) -> Duration {
        self.now.saturating_sub(self.start)
    }

    fn time_left(&self) -> Option<Duration> {
        let Rounds { warm_up, counted } = self.plan.rounds;
        let all = (warm_up + counted) * u32::try_from(self.plan.tools.len()).unwrap_or(u32::MAX);
        let left = self.a_run()? * all.saturating_sub(self.runs_done);
        Some(match self.plan.limit.time() {
            Some(time) => left.min(time.saturating_sub(self.spent())),
            None => left,
        })
    }

    /// Returns the duration of a run with setup and cleanup.
    fn a_run(&self) -> Option<Duration> {
        self.spent().checked_div(self.runs_done)
    }

    fn still_running(&self) -> u32 {
        let running = self.plan.tools.iter().filter(|tool| !self.failed(tool)).count();
        u32::try_from(running).unwrap_or(u32::MAX)
    }
}
