//! `cargo xtask gnu [--baseline] [--as user] [AREA…]`.

use super::stage::{count, count_gzip, count_tar, not_run};
use super::suite::{As, Suite};
use super::{gzip, tar};
use crate::command::{cargo, run};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tally::Tally;
use crate::workspace::Workspace;
use std::process::ExitCode;

struct Options<'a> {
    task: Task,
    run_as: As,
    areas: Vec<&'a str>,
}

type Count = fn(&Workspace, &mut Tally) -> Result<()>;

/// The areas that are suites of their own.
const APART: &[(&str, Count)] = &[(gzip::AREA, count_gzip), (tar::AREA, count_tar)];

enum Task {
    Compare,
    /// Only run GNU's own tools once more.
    Baseline,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let mut options = parse(arguments)?;
    interrupt::install()?;
    let workspace = Workspace::find()?;
    run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
    let mut tally = Tally::default();
    let areas = options.areas.len();
    let compares = matches!(options.task, Task::Compare);
    for (area, count) in APART {
        let named = options.areas.len();
        options.areas.retain(|one| one != area);
        if options.areas.len() < named && compares {
            // An area that the user names has to run.
            count(&workspace, &mut tally)?;
        }
    }
    if areas == 0 || !options.areas.is_empty() {
        match Suite::provide(&workspace, options.run_as) {
            Err(error) => not_run(&error, &mut tally)?,
            Ok(suite) => perform(&suite, &options, &mut tally)?,
        }
        for (_, count) in APART.iter().filter(|_| areas == 0 && compares) {
            count(&workspace, &mut tally).or_else(|error| not_run(&error, &mut tally))?;
        }
    }
    println!("{}", tally.closing());
    Ok(if tally.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn perform(suite: &Suite<'_>, options: &Options<'_>, tally: &mut Tally) -> Result<()> {
    match options.task {
        Task::Baseline => return suite.renew_baseline(),
        // An area that the user names has to run.
        Task::Compare if !options.areas.is_empty() => {
            is_ours(suite, &options.areas)?;
            count(suite, &options.areas, tally)?;
        }
        Task::Compare => {
            count(suite, &suite.own_areas(), tally).or_else(|error| not_run(&error, tally))?;
        }
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options<'_>> {
    let mut options =
        Options { task: Task::Compare, run_as: As::RootIfPossible, areas: Vec::new() };
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "--baseline" => options.task = Task::Baseline,
            "--as" if arguments.next() == Some("user") => options.run_as = As::User,
            "--as" => return Err(Error::new("`gnu --as` takes the word `user`")),
            option if option.starts_with('-') => {
                return Err(Error::new(format!("`gnu` has no option {option}"))
                    .hint("`cargo xtask help` shows its options"));
            }
            area => options.areas.push(area),
        }
    }
    Ok(options)
}

/// A whole area without an applet would compare GNU with itself.
fn is_ours(suite: &Suite<'_>, areas: &[&str]) -> Result<()> {
    let foreign = |area: &&&str| !area.contains('/') && !suite.applets.iter().any(|a| a == **area);
    match areas.iter().find(foreign) {
        None => Ok(()),
        Some(area) => Err(Error::new(format!("haul has no applet {area}"))
            .hint(format!("it has {}", suite.applets.join(" ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_in_any_order() {
        let words = ["cp", "--as", "user", "mv/part-fail.sh"].map(str::to_owned);
        let options = parse(&words).unwrap();
        assert_eq!(options.areas, ["cp", "mv/part-fail.sh"]);
        assert!(options.run_as == As::User && matches!(options.task, Task::Compare));
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for words in [&["--as", "root"][..], &["--as"], &["--bogus"]] {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(parse(&words).is_err(), "{words:?}");
        }
    }
}
