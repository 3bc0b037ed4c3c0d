//! `cargo xtask sweep`: faults at every call of every command, and the number of violated promises.
//!
//! The sweep itself is a part of haul's integration tests (crates/cli/tests/sweep), where CI runs a
//! bounded part of it. This command builds the release binary, runs all of it, and adds up the results.

use crate::command::{cargo, run, stream};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::workspace::Workspace;
use std::process::ExitCode;

/// What to sweep.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    is_full: bool,
    /// Names of cases; all if there are none.
    cases: Vec<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.as_str() {
                "--full" => options.is_full = true,
                other if other.starts_with('-') => {
                    return Err(Error::new(format!("there is no option {other:?}"))
                        .hint("cargo xtask sweep [--full] [COMMAND…], as in \"cp -a\""));
                }
                case => options.cases.push(case.to_owned()),
            }
        }
        Ok(options)
    }
}

/// The results of the sweep, added up.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    cases: u64,
    injections: u64,
    violations: u64,
}

impl Total {
    /// Reads a line of the tests' output: `swept NAME: N injections, M violations`.
    fn see(&mut self, line: &str) {
        // Tests run concurrently, so libtest may have begun the line.
        let Some((_, rest)) = line.split_once("swept ") else { return };
        let Some((_, counts)) = rest.rsplit_once(": ") else { return };
        let mut numbers =
            counts.split(", ").filter_map(|part| part.split(' ').next()?.parse::<u64>().ok());
        if let (Some(injections), Some(violations)) = (numbers.next(), numbers.next()) {
            self.cases += 1;
            self.injections += injections;
            self.violations += violations;
        }
    }
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    interrupt::install()?;
    let options = Options::parse(arguments)?;
    let workspace = Workspace::find()?;
    run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
    let mut command =
        cargo(&["test", "-p", "haul", "--test", "all", "--", "sweep::", "--nocapture"]);
    command.env("HAUL_BIN", workspace.release_binary());
    command.env("HAUL_SWEEP", if options.is_full { "full" } else { "quick" });
    command.env("HAUL_SWEEP_CASES", options.cases.join(";"));
    let mut total = Total::default();
    let status = stream(&mut command, |line| total.see(line))?;
    println!(
        "{} cases, {} injections, {} violations",
        total.cases, total.injections, total.violations
    );
    if total.cases == 0 {
        return Err(Error::new("nothing was swept")
            .hint("crates/cli/tests/sweep/case.rs lists the cases; strace must be installed"));
    }
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_sweep_add_up() {
        let mut total = Total::default();
        for line in [
            "swept cp -a: 12 injections, 0 violations",
            "test sweep::tests::rm ... swept rm -r, several workers: 3 injections, 2 violations",
            "test sweep::tests::rm ... ok",
        ] {
            total.see(line);
        }
        assert_eq!(total, Total { cases: 2, injections: 15, violations: 2 });
    }

    #[test]
    fn an_unknown_option_is_refused() {
        let parse = |word: &str| Options::parse(&[word.to_owned()]);
        assert!(parse("--ful").is_err());
        assert_eq!(parse("--full").ok().map(|options| options.is_full), Some(true));
        assert_eq!(parse("cp -a").ok().map(|options| options.cases), Some(vec!["cp -a".into()]));
    }
}
