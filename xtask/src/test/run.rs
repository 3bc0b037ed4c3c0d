//! The stages of a test run, from missing packages to the last line.

use super::environment::Environment;
use super::mpi;
use super::options::{Extent, Options};
use super::tally::Tally;
use super::tools::{self, Untested};
use crate::command::{cargo, run, stream};
use crate::error::{Error, Result};
use crate::workspace::{Workspace, env_is_on};
use crate::{gnu, interrupt, lint};
use std::process::ExitCode;

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    interrupt::install()?;
    let options = Options::parse(arguments);
    let mut tally = Tally::default();
    if let Err(error) = stages(&options, &mut tally) {
        tally.fail(&error.to_string());
    }
    let notes = tally.notes();
    if !notes.is_empty() {
        println!("\nWhat did not run:");
        notes.iter().for_each(|note| println!("  {note}"));
    }
    println!("{}", tally.closing());
    let code = if tally.failed == 0 { 0 } else { 1 };
    Ok(ExitCode::from(interrupt::exit_code().unwrap_or(code)))
}

fn stages(options: &Options, tally: &mut Tally) -> Result<()> {
    let workspace = Workspace::find()?;
    let ci = env_is_on("CI");
    for untested in tools::provide()? {
        match untested {
            Untested::Packaged(line) if ci => tally.fail(&line),
            Untested::Packaged(line) | Untested::NoPackage(line) => tally.ignore(&line),
        }
    }
    lint::stages(&workspace, tally)?;
    run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
    let mut environment = Environment::set_up(&workspace, ci, tally)?;
    if options.extent == Extent::Full {
        environment.name_reference(&workspace, tally)?;
        Environment::provide_tar(&workspace, tally)?;
        environment.name_corpora(&workspace, tally)?;
    }
    let outcome = without_features().and_then(|()| cargo_test(options, &environment, tally));
    let down = environment.tear_down();
    outcome?;
    down?;
    if options.extent == Extent::Full {
        mpi::stage(tally)?;
        gnu::stage(&workspace, tally)?;
    }
    Ok(())
}

/// Runs the tests of the table of applets in a build without features.
fn without_features() -> Result<()> {
    let words = ["test", "-p", "haul", "--no-default-features", "--lib", "applet::table::"];
    run(&mut cargo(&words))
}

fn cargo_test(options: &Options, environment: &Environment, tally: &mut Tally) -> Result<()> {
    let mut command = cargo(&[]);
    command.args(&options.cargo).envs(environment.variables.iter().cloned());
    let failed_before = tally.failed;
    let status = stream(&mut command, |line| tally.see(line))?;
    let crashes = tally.count_crashes();
    if crashes > 0 {
        eprintln!("failed: {crashes} test binaries ended without a result, perhaps by a crash");
    }
    if !status.success() && tally.failed == failed_before {
        return Err(Error::new(format!("`cargo test` failed ({status})"))
            .hint("it could not start the tests; its own messages are above"));
    }
    Ok(())
}
