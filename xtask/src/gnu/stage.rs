//! GNU's tests as a part of a run of all tests, counted with them.

use super::suite::{As, Suite};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::test::Tally;
use crate::workspace::{Workspace, env_is_on};

/// Runs the areas and counts what they show; an error when the suite could not run.
pub(super) fn count(suite: &Suite<'_>, areas: &[&str], tally: &mut Tally) -> Result<()> {
    let comparison = suite.compare(areas)?;
    println!();
    tally.passed += comparison.passed;
    for difference in comparison.differences {
        tally.ignore(&format!("gnu: expected difference: {difference}"));
    }
    for test in comparison.stale {
        println!("gnu: {test} passes: take it off xtask/gnu-expected.txt");
    }
    for failure in comparison.failures {
        tally.fail(&format!("gnu: {failure}"));
    }
    Ok(())
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

/// What belongs to every full run of the tests: GNU's suite in all areas that are ours.
pub(crate) fn stage(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let outcome = Suite::provide(workspace, As::Whoever)
        .and_then(|suite| count(&suite, &suite.own_areas(), tally));
    outcome.or_else(|error| not_run(&error, tally))
}
