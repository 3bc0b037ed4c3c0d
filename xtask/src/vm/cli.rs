//! `cargo xtask vm [--kernel K,…] [--on FS,…] [--smoke | --disks] [--binary HAUL] [--record] [CHECK…]`.

use super::expected;
use super::extent::Extent;
use super::file_systems::{FILE_SYSTEMS, FileSystem};
use super::kernels::{KERNELS, Kernel};
use super::laboratory::{Laboratory, Results};
use super::needs;
use super::outcome::Verdict;
use super::page;
use crate::command::{cargo, run};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::tally::{NOTE, Tally};
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::process::ExitCode;

/// What to run.
struct Options {
    kernels: Vec<&'static Kernel>,
    systems: Vec<&'static FileSystem>,
    /// Parts of the names of checks; all checks if there are none.
    filters: Vec<String>,
    extent: Extent,
    /// The program under test; by default a release build of this workspace.
    haul: Option<PathBuf>,
    /// Whether docs/compatibility.md is written anew.
    records: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            kernels: KERNELS.iter().collect(),
            systems: FILE_SYSTEMS.iter().collect(),
            filters: Vec::new(),
            extent: Extent::All,
            haul: None,
            records: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words.next().ok_or_else(|| Error::new(format!("{word} needs a value")).hint(USAGE))
            };
            match word.as_str() {
                "--kernel" => {
                    options.kernels =
                        value()?.split(',').map(Kernel::of_name).collect::<Result<_>>()?;
                }
                "--on" => {
                    options.systems =
                        value()?.split(',').map(FileSystem::of_name).collect::<Result<_>>()?;
                }
                "--smoke" => options.extent = Extent::Smoke,
                "--disks" => options.extent = Extent::Disks,
                "--binary" => options.haul = Some(value()?.into()),
                "--record" => options.records = true,
                other if other.starts_with('-') => {
                    return Err(Error::new(format!("`vm` has no option {other}")).hint(USAGE));
                }
                part => options.filters.push(part.to_owned()),
            }
        }
        Ok(options)
    }
}

const USAGE: &str = "cargo xtask vm [--kernel K,…] [--on FS,…] [--smoke | --disks] [--binary HAUL] \
    [--record] [CHECK…]";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    interrupt::install()?;
    let workspace = Workspace::find()?;
    let mut tally = Tally::default();
    match needs::provide(&options.systems) {
        Ok(()) => perform(&options, &workspace, &mut tally)?,
        Err(cause) => {
            interrupt::check()?;
            tally.ignore(&format!("vm: {}", cause.to_string().replace("\n  ", "; ")));
        }
    }
    println!("{}", tally.closing());
    Ok(if tally.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn perform(options: &Options, workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let haul = match &options.haul {
        Some(given) => given.clone(),
        None => {
            run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
            workspace.release_binary()
        }
    };
    let mut laboratory = Laboratory::open(workspace, &haul)?;
    let all = options.kernels.iter().try_for_each(|kernel| {
        let results = laboratory.run(kernel, &options.systems, &options.filters, options.extent)?;
        count(&results, tally);
        Ok(())
    });
    let dir = laboratory.dir().to_path_buf();
    laboratory.close()?;
    all?;
    if options.records {
        page::record(&dir, workspace)?;
    }
    Ok(())
}

/// Counts the results of one kernel.
fn count(results: &Results, tally: &mut Tally) {
    for outcome in &results.outcomes {
        let what = format!("vm: {}: {}: {}", results.kernel.name, outcome.on, outcome.check);
        match (outcome.verdict, expected::reason(outcome)) {
            (Verdict::Passed, _) => tally.passed += 1,
            (Verdict::Absent, _) => tally.ignore(&format!("{what}: {}", outcome.text)),
            (Verdict::Failed, Some(reason)) => {
                println!("{NOTE} {what}: expected: {reason}");
                tally.skip([format!("{NOTE} vm: an expected difference")]);
            }
            (Verdict::Failed, None) => tally.fail(&format!("{what}: {}", outcome.text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn lists_of_names_are_read() {
        let options = parse(&["--kernel", "5.10,6.1", "cp", "--on", "exfat", "--record"]).unwrap();
        let kernels: Vec<_> = options.kernels.iter().map(|kernel| kernel.name).collect();
        assert_eq!((kernels, options.filters), (vec!["5.10", "6.1"], vec!["cp".to_owned()]));
        assert!(options.systems.len() == 1 && options.records);
        assert_eq!(parse(&[]).unwrap().systems.len(), FILE_SYSTEMS.len());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for words in [
            &["--kernel"][..],
            &["--kernel", "2.4"],
            &["--on", "xfs,zfs"],
            &["--all"],
            &["--binary"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
