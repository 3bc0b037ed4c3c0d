//! The stages of a test run, from missing packages to the last line.

use super::environment::Environment;
use super::mpi;
use super::options::Options;
use super::process::Verdict;
use super::schedule::{self, Results, Setting};
use super::suite::{self, Case, Share, Times};
use crate::command::{cargo, run};
use crate::error::{Context, Error, Result};
use crate::tally::Tally;
use crate::tools::{self, Untested};
use crate::workspace::{Workspace, env_is_on};
use crate::{gnu, interrupt, lint};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    interrupt::install()?;
    let mut tally = Tally::default();
    let outcome = match options.share {
        Share::First => first(&options, &mut tally),
        Share::Rest => rest(&options, &mut tally),
    };
    if let Err(error) = outcome {
        tally.fail(&error.to_string());
    }
    let notes = tally.notes();
    if !notes.is_empty() {
        println!("\nWhat did not run, or did not always pass:");
        notes.iter().for_each(|note| println!("  {note}"));
    }
    if !tally.failures().is_empty() {
        println!("\nWhat failed:");
        tally.failures().iter().for_each(|line| println!("  {line}"));
    }
    println!("{}", tally.closing());
    let code = u8::from(!tally.failures().is_empty());
    Ok(ExitCode::from(interrupt::exit_code().unwrap_or(code)))
}

/// What covers every promise in minutes: the quick part of `lint`, and the tests of all crates.
fn first(options: &Options, tally: &mut Tally) -> Result<()> {
    let workspace = Workspace::find()?;
    provide_tools(tally)?;
    if options.is_whole() {
        lint::quick_stages(&workspace, tally)?;
    }
    let mut cases = Vec::new();
    for binary in suite::build(&["--workspace"])? {
        cases.extend(suite::list(&binary, Share::First)?);
    }
    cases.retain(|case| options.selects(&case.label()));
    let mut environment = Environment::set_up(&workspace, &workspace.debug_binary(), tally)?;
    environment.name_present_references(&workspace);
    let results = tests(&cases, options, &workspace, environment, tally)?;
    if options.is_whole() {
        Left::write(&workspace, &results)?;
    }
    Ok(())
}

/// What takes longer: all of `lint`, the tests that are marked as ignored, the comparisons that need
/// programs of GNU's newest versions, builds without features, MPI, GNU's suites.
fn rest(options: &Options, tally: &mut Tally) -> Result<()> {
    let workspace = Workspace::find()?;
    provide_tools(tally)?;
    if options.is_whole() {
        lint::stages(&workspace, tally)?;
    }
    run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
    let left = Left::read(&workspace);
    if left.is_none() && options.is_whole() {
        let first = "run `cargo xtask test` before, which tells which tests they are";
        tally.ignore(&format!("comparisons with GNU's current programs: {first}"));
    }
    let left = left.unwrap_or_default();
    let mut cases = Vec::new();
    for binary in suite::build(&["--workspace"])? {
        cases.extend(suite::list(&binary, Share::Rest)?);
        cases.extend(suite::list(&binary, Share::First)?.into_iter().filter(|c| left.has(c)));
    }
    cases.extend(mpi::cases(tally)?);
    cases.retain(|case| options.selects(&case.label()));
    let mut environment = Environment::set_up(&workspace, &workspace.release_binary(), tally)?;
    environment.provide_references(&workspace, tally)?;
    tests(&cases, options, &workspace, environment, tally)?;
    if options.is_whole() {
        // The examples of the documentation, and the table of applets without the optional ones.
        run(&mut cargo(&["test", "--workspace", "--doc"]))?;
        let words = ["test", "-p", "haul", "--no-default-features", "--lib", "applet::table::"];
        run(&mut cargo(&words))?;
        gnu::stage(&workspace, tally)?;
    }
    Ok(())
}

fn provide_tools(tally: &mut Tally) -> Result<()> {
    for untested in tools::provide()? {
        match untested {
            Untested::Packaged(line) if env_is_on("CI") => tally.fail(&line),
            Untested::Packaged(line) | Untested::NoPackage(line) => tally.ignore(&line),
        }
    }
    Ok(())
}

/// Runs tests on the test file systems, which are then taken down, and counts the results.
fn tests(
    cases: &[Case],
    options: &Options,
    workspace: &Workspace,
    environment: Environment,
    tally: &mut Tally,
) -> Result<Results> {
    if cases.is_empty() {
        return Err(Error::new("no test has such a name").hint(
            "a name is CRATE TARGET MODULE::TEST, as in \"cli all mv::\"; a part of it is enough",
        ));
    }
    let mut times = Times::read(workspace.target.join("test-times.json"));
    let scratch = environment.scratch(workspace);
    let setting = Setting { options, variables: &environment.variables, scratch: &scratch };
    let outcome = schedule::run(cases, &setting, &mut times).and_then(|mut results| {
        let unsteady = schedule::retry(cases, &setting, &mut results)?;
        Ok((results, unsteady))
    });
    let down = environment.tear_down();
    let (results, unsteady) = outcome?;
    down?;
    for label in unsteady {
        tally.note(format!("unsteady: {label} failed, and then passed {} times", options.retries));
    }
    times.write()?;
    count(&results, tally);
    if options.slowest > 0 {
        show_slowest(&results, options.slowest);
    }
    Ok(results)
}

/// Counts each test once. In several rounds, one that did not always end alike has failed.
fn count(results: &Results, tally: &mut Tally) {
    for (label, rounds) in results {
        let failures = rounds.iter().filter(|ended| ended.verdict.is_failure()).count();
        let skips = rounds.iter().filter_map(|ended| match &ended.verdict {
            Verdict::Skipped(notes) => Some(notes),
            _ => None,
        });
        if failures > 0 {
            tally.fail(&format!("{label}: {failures} of {} runs", rounds.len()));
        } else if let Some(notes) = skips.clone().next() {
            if skips.count() < rounds.len() {
                tally.fail(&format!("{label}: skipped in some rounds, and passed in others"));
            } else {
                tally.skip(notes.iter().cloned());
            }
        } else {
            tally.passed += 1;
        }
    }
}

fn show_slowest(results: &Results, number: usize) {
    let longest =
        |rounds: &Vec<_>| rounds.iter().map(|ended: &super::process::Ended| ended.elapsed).max();
    let mut slowest: Vec<_> = results.iter().collect();
    slowest.sort_by_key(|(_, rounds)| std::cmp::Reverse(longest(rounds)));
    println!("\nThe slowest tests (elapsed, processor time):");
    for (label, rounds) in slowest.into_iter().take(number) {
        if let Some(ended) = rounds.iter().max_by_key(|ended| ended.elapsed) {
            let (elapsed, processor) = (ended.elapsed.as_secs_f64(), ended.processor.as_secs_f64());
            println!("  {elapsed:7.2} s {processor:7.2} s  {label}");
        }
    }
    let sum: f64 = results.values().flatten().map(|ended| ended.processor.as_secs_f64()).sum();
    println!("  all tests: {sum:.0} s of processor time");
}

/// The tests that the first share could not run for want of what `--rest` provides.
#[derive(Default)]
struct Left(BTreeSet<String>);

impl Left {
    fn file(workspace: &Workspace) -> PathBuf {
        workspace.target.join("test-left.json")
    }

    fn write(workspace: &Workspace, results: &Results) -> Result<()> {
        let waits =
            |note: &String| Environment::REFERENCES.iter().any(|variable| note.contains(variable));
        let is_left = |ended: &super::process::Ended| match &ended.verdict {
            Verdict::Skipped(notes) => notes.iter().any(waits),
            _ => false,
        };
        let left: Vec<_> = results
            .iter()
            .filter(|(_, rounds)| rounds.iter().any(is_left))
            .map(|(l, _)| l)
            .collect();
        let file = Self::file(workspace);
        let text = serde_json::to_string_pretty(&left).context("write", file.display())?;
        fs::write(&file, text).context("write", file.display())
    }

    /// Reads what the last first share left; `None` if there was none.
    fn read(workspace: &Workspace) -> Option<Self> {
        let text = fs::read_to_string(Self::file(workspace)).ok()?;
        serde_json::from_str(&text).ok().map(Self)
    }

    fn has(&self, case: &Case) -> bool {
        self.0.contains(&case.label())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::process::Ended;
    use std::time::Duration;

    fn ended(verdict: Verdict) -> Ended {
        let time = Duration::from_secs(1);
        Ended { verdict, output: String::new(), elapsed: time, processor: time }
    }

    #[test]
    fn a_test_counts_once_and_must_always_end_alike() {
        let skipped = || ended(Verdict::Skipped(vec!["ignored: x".into()]));
        let passed = || ended(Verdict::Passed);
        let results = Results::from([
            ("a".to_owned(), vec![passed(), passed()]),
            ("b".to_owned(), vec![skipped(), skipped()]),
            ("c".to_owned(), vec![passed(), ended(Verdict::Failed("no".into()))]),
            ("d".to_owned(), vec![passed(), skipped()]),
        ]);
        let mut tally = Tally::default();
        count(&results, &mut tally);
        assert_eq!(tally.closing(), "1 passed, 2 failed, 1 skipped");
    }
}
