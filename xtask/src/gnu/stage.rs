//! GNU's tests as a stage of `cargo xtask test`, counted with the other tests.

use super::gzip;
use super::results::Comparison;
use super::suite::{As, Suite};
use super::tar;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tally::{NOTE, Tally};
use crate::workspace::{Workspace, env_is_on};

/// Runs the areas and counts the results; fails if the suite could not run.
pub(super) fn count(suite: &Suite<'_>, areas: &[&str], tally: &mut Tally) -> Result<()> {
    add(suite.compare(areas)?, tally);
    Ok(())
}

/// Runs gzip's tests and counts the results; fails if they could not run.
pub(super) fn count_gzip(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    add(gzip::compare(workspace)?, tally);
    Ok(())
}

/// Runs tar's tests and counts the results; fails if they could not run.
pub(super) fn count_tar(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    add(tar::compare(workspace)?, tally);
    Ok(())
}

fn add(comparison: Comparison, tally: &mut Tally) {
    println!();
    tally.passed += comparison.passed;
    // Each has its line in the list of expected differences, and the report only their number.
    for difference in &comparison.differences {
        println!("{NOTE} gnu: expected difference: {difference}");
        tally.skip([format!("{NOTE} gnu: an expected difference")]);
    }
    for test in comparison.stale {
        println!("gnu: {test} passes: remove it from xtask/gnu-expected.txt");
    }
    for failure in comparison.failures {
        tally.fail(&format!("gnu: {failure}"));
    }
}

/// Counts the suite as not run, or, where it is required, as failed.
pub(super) fn not_run(error: &Error, tally: &mut Tally) -> Result<()> {
    interrupt::check()?;
    let what = format!("gnu: {}", error.to_string().replace("\n  ", "; "));
    if env_is_on("CI_GNU_REQUIRED") {
        tally.fail(&what);
    } else {
        tally.ignore(&what);
    }
    Ok(())
}

/// Runs GNU's suite in all areas that haul has, as a part of every full run of the tests.
pub(crate) fn stage(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let outcome = Suite::provide(workspace, As::RootIfPossible)
        .and_then(|suite| count(&suite, &suite.own_areas(), tally));
    outcome.or_else(|error| not_run(&error, tally))?;
    count_gzip(workspace, tally).or_else(|error| not_run(&error, tally))?;
    count_tar(workspace, tally).or_else(|error| not_run(&error, tally))
}
