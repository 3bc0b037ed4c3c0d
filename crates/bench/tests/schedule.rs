//! The schedule, with a mock in place of the runner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_bench::{
    Attempt, CallCounter, Calls, CaseRuns, Check, Error, Fault, GroundFacts, Measurement, Plan,
    Quiet, Result, Rounds, Runner, TimeLimit, Tool, estimate_case, run_case,
};

use crate::support::tool;

/// A mock that records its calls, and fails at a chosen one.
#[derive(Default)]
struct Mock<'a> {
    log: Vec<String>,
    fails: Option<&'static str>,
    trouble_at: Option<usize>,
    trouble_in_prepare: bool,
    trouble_in_finish: bool,
    interrupt_at: Option<(usize, &'a AtomicBool)>,
    /// Seconds that each run takes on the clock of the mock.
    run_s: u64,
    runs: u64,
}

impl Runner for Mock<'_> {
    fn prepare(&mut self) -> Result<()> {
        self.log.push("prepare".to_owned());
        if self.trouble_in_prepare { Err(Error::Unfit("no ground")) } else { Ok(()) }
    }

    fn run(&mut self, tool: &Tool, check: Check) -> Result<Attempt> {
        let mark = if check == Check::Compare { "!" } else { "" };
        self.log.push(format!("{}{mark}", tool.name));
        self.runs += 1;
        let count = self.log.len() - 1;
        if let Some((at, interrupt)) = self.interrupt_at
            && at == count
        {
            interrupt.store(true, Ordering::Relaxed);
        }
        if self.trouble_at == Some(count) {
            return Err(Error::Unfit("the ground is gone"));
        }
        if self.fails == Some(tool.name.as_str()) {
            return Ok(Attempt::Failed(Fault::Wrong("half of it".to_owned())));
        }
        Ok(Attempt::Measured(Box::new(Measurement { wall_s: 1.0, ..Measurement::default() })))
    }

    fn count(&mut self, tool: &Tool, _counter: &mut dyn CallCounter) -> Result<Option<Calls>> {
        self.log.push(format!("count {}", tool.name));
        Ok(Some(Calls { total: 12, frequent: Vec::new() }))
    }

    fn clock(&self) -> Duration {
        Duration::from_secs(100 + self.runs * self.run_s)
    }

    fn facts(&self) -> GroundFacts {
        GroundFacts::default()
    }

    fn finish(&mut self) -> Result<()> {
        self.log.push("finish".to_owned());
        if self.trouble_in_finish { Err(Error::Unfit("the target still exists")) } else { Ok(()) }
    }
}

struct Counter;

impl CallCounter for Counter {
    fn count(&mut self, _command: &haul_bench::Command) -> std::result::Result<Calls, String> {
        Err("never asked".to_owned())
    }
}

fn tools() -> Vec<Tool> {
    ["a", "b", "c", "d"].map(|name| tool(name, "true")).to_vec()
}

fn run_with(mock: &mut Mock<'_>, rounds: Rounds, seed: u64, interrupt: &AtomicBool) -> CaseRuns {
    let tools = tools();
    let plan = Plan { tools: &tools, rounds, seed, limit: TimeLimit::None };
    run_case(plan, mock, &mut Quiet, None, interrupt)
}

const ROUNDS: Rounds = Rounds { warm_up: 1, counted: 4 };

#[test]
fn every_round_has_every_tool_once_in_random_order() {
    let never = AtomicBool::new(false);
    let mut mock = Mock::default();
    let case = run_with(&mut mock, ROUNDS, 3, &never);
    assert!(case.trouble.is_none());
    assert_eq!(case.runs.len(), 16, "warming up is not counted");
    assert_eq!(mock.log.first().unwrap(), "prepare");
    assert_eq!(mock.log.last().unwrap(), "finish");
    let runs = &mock.log[1..mock.log.len() - 1];
    let rounds: Vec<Vec<String>> = runs.chunks(4).map(<[String]>::to_vec).collect();
    assert_eq!(rounds.len(), 5);
    for (index, round) in rounds.iter().enumerate() {
        let mut sorted = round.clone();
        sorted.sort();
        let expected = if index == 0 { ["a!", "b!", "c!", "d!"] } else { ["a", "b", "c", "d"] };
        assert_eq!(sorted, expected, "only first results are compared");
    }
    assert!(rounds[1..].windows(2).any(|pair| pair[0] != pair[1]), "{rounds:?}");
    let mut again = Mock::default();
    run_with(&mut again, ROUNDS, 3, &never);
    assert_eq!(again.log, mock.log, "the same seed gives the same order");
    let mut other = Mock::default();
    run_with(&mut other, ROUNDS, 4, &never);
    assert_ne!(other.log, mock.log);
}

#[test]
fn a_tool_that_fails_is_out_and_the_others_go_on() {
    let never = AtomicBool::new(false);
    let mut mock = Mock { fails: Some("b"), ..Mock::default() };
    let case = run_with(&mut mock, ROUNDS, 3, &never);
    assert_eq!(case.faults.len(), 1);
    assert_eq!((case.faults[0].tool.as_str(), case.faults[0].round), ("b", 0));
    assert_eq!(case.runs.len(), 12);
    assert!(case.runs.iter().all(|run| run.tool != "b"));
    assert_eq!(mock.log.iter().filter(|entry| entry.starts_with('b')).count(), 1);
}

#[test]
fn trouble_ends_the_case_and_the_ground_is_taken_away() {
    let never = AtomicBool::new(false);
    for at in [1, 4, 7, 20] {
        let mut mock = Mock { trouble_at: Some(at), ..Mock::default() };
        let case = run_with(&mut mock, ROUNDS, 3, &never);
        assert!(matches!(case.trouble, Some(Error::Unfit("the ground is gone"))));
        assert_eq!(mock.log.len(), at + 2);
        assert_eq!(mock.log.last().unwrap(), "finish");
        assert_eq!(case.runs.len(), (at - 1).saturating_sub(4), "what was measured is kept");
    }
    let mut mock = Mock { trouble_in_prepare: true, ..Mock::default() };
    assert!(run_with(&mut mock, ROUNDS, 3, &never).trouble.is_some());
    assert_eq!(mock.log, ["prepare", "finish"]);
    let mut mock = Mock { trouble_in_finish: true, ..Mock::default() };
    let case = run_with(&mut mock, ROUNDS, 3, &never);
    assert!(matches!(case.trouble, Some(Error::Unfit("the target still exists"))));
    assert_eq!(case.runs.len(), 16);
}

#[test]
fn an_interrupt_at_any_run_ends_the_case_tidily() {
    for at in 1..=20 {
        let interrupt = AtomicBool::new(false);
        let mut mock = Mock { interrupt_at: Some((at, &interrupt)), ..Mock::default() };
        let case = run_with(&mut mock, ROUNDS, 3, &interrupt);
        if at < 20 {
            assert!(matches!(case.trouble, Some(Error::Interrupted)), "{at}");
        }
        assert_eq!(mock.log.last().unwrap(), "finish");
        assert_eq!(mock.log.len(), at + 2, "nothing more was run");
    }
    let interrupt = AtomicBool::new(true);
    let mut mock = Mock::default();
    let case = run_with(&mut mock, ROUNDS, 3, &interrupt);
    assert!(matches!(case.trouble, Some(Error::Interrupted)));
    assert_eq!(mock.log, ["finish"]);
}

#[test]
fn rounds_are_left_out_when_the_time_is_over_but_for_five() {
    let never = AtomicBool::new(false);
    let tools = tools();
    let rounds = Rounds { warm_up: 0, counted: 50 };
    let limit = TimeLimit::AfterFiveRounds(Duration::from_secs(1));
    let plan = Plan { tools: &tools, rounds, seed: 1, limit };
    let mut mock = Mock { run_s: 1, ..Mock::default() };
    let case = run_case(plan, &mut mock, &mut Quiet, None, &never);
    assert!(case.trouble.is_none());
    assert_eq!(case.runs.len(), 20);
}

#[test]
fn no_run_begins_that_would_not_end_within_a_strict_limit() {
    let never = AtomicBool::new(false);
    let tools = tools();
    let rounds = Rounds { warm_up: 1, counted: 7 };
    for (seconds, runs) in [(0, 0), (1, 1), (59, 5), (60, 6), (100, 10), (10_000, 32)] {
        let limit = TimeLimit::Strict(Duration::from_secs(seconds));
        let plan = Plan { tools: &tools, rounds, seed: 1, limit };
        let mut mock = Mock { run_s: 10, ..Mock::default() };
        let case = run_case(plan, &mut mock, &mut Quiet, Some(&mut Counter), &never);
        assert!(case.trouble.is_none());
        assert_eq!(mock.runs, runs, "{seconds}");
        assert_eq!(mock.log.last().unwrap(), "finish");
        // Calls are counted only if there is time for everything.
        assert_eq!(case.calls.len(), if runs == 32 { 4 } else { 0 });
    }
}

#[test]
fn one_run_tells_how_long_a_case_takes() {
    let tools = tools();
    let rounds = Rounds { warm_up: 1, counted: 7 };
    let seconds = Duration::from_secs;
    for (limit, expected) in [
        (TimeLimit::None, 320),
        (TimeLimit::AfterFiveRounds(seconds(300)), 300),
        (TimeLimit::AfterFiveRounds(seconds(1)), 240),
        (TimeLimit::Strict(seconds(60)), 60),
    ] {
        let plan = Plan { tools: &tools, rounds, seed: 1, limit };
        let mut mock = Mock { run_s: 10, ..Mock::default() };
        assert_eq!(estimate_case(plan, &mut mock).unwrap(), seconds(expected), "{limit:?}");
        assert_eq!(mock.log, ["prepare", "a", "finish"]);
    }
    let plan = Plan { tools: &tools, rounds, seed: 1, limit: TimeLimit::None };
    let mut mock = Mock { trouble_at: Some(1), ..Mock::default() };
    assert!(estimate_case(plan, &mut mock).is_err());
    assert_eq!(mock.log, ["prepare", "a", "finish"]);
}

#[test]
fn a_strict_limit_is_for_the_first_cases_and_another_one_for_all() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let strict = TimeLimit::Strict(minutes(10));
    assert_eq!(strict.of_case(minutes(4), 3), TimeLimit::Strict(minutes(6)));
    assert_eq!(strict.of_case(minutes(11), 1), TimeLimit::Strict(minutes(0)));
    let divided = TimeLimit::AfterFiveRounds(minutes(10));
    assert_eq!(divided.of_case(minutes(4), 3), TimeLimit::AfterFiveRounds(minutes(2)));
    assert_eq!(TimeLimit::None.of_case(minutes(4), 3), TimeLimit::None);
}

#[test]
fn calls_are_counted_in_a_run_of_their_own_after_the_rounds() {
    let never = AtomicBool::new(false);
    let tools = tools();
    let rounds = Rounds { warm_up: 0, counted: 1 };
    let plan = Plan { tools: &tools, rounds, seed: 1, limit: TimeLimit::None };
    let mut mock = Mock { fails: Some("c"), ..Mock::default() };
    let case = run_case(plan, &mut mock, &mut Quiet, Some(&mut Counter), &never);
    assert_eq!(case.calls.len(), 3);
    assert_eq!(mock.log[5..], ["count a", "count b", "count d", "finish"]);
}
