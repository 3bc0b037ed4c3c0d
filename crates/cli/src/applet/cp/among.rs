//! `haul-mpi cp`: the same command line for a copy that several processes carry out together.

use std::ffi::OsString;
use std::process::ExitCode;

use haul_engine::monitor::{Control, Counts, Monitor};
use haul_engine::peers::Unsupported;
use haul_engine::request::{Appearance, Consent, Request};

use super::run::{how, request};
use super::settings::{Command, Settings, read};
use crate::ending::{self, CommandError};
use crate::option::value::ProgressWhen;
use crate::output::Output;
use crate::report::{self, Format};

/// A process among those that carry out a copy together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Among {
    /// Number of the process, from 0. Process 0 prints what concerns the command as a whole, and has
    /// the exit status of the copy.
    pub own: usize,
    /// Number of processes, at least 1.
    pub count: usize,
}

impl Among {
    const fn leads(self) -> bool {
        self.own == 0
    }
}

/// Reads the arguments of `cp` and copies by a function that lets all processes take part. Each
/// process prints its own failures on its standard error. Returns the exit status: on process 0
/// that of the whole copy, elsewhere success if the process took part. Blocks until the copy is over.
pub fn copy_among(
    arguments: &[OsString],
    among: Among,
    copy: impl FnOnce(&Request, &dyn Monitor, &Control<'_>) -> Result<Counts, Unsupported>,
) -> ExitCode {
    let output = Output::new("haul-mpi");
    let ended = |code: ExitCode| if among.leads() { code } else { ExitCode::SUCCESS };
    match read(arguments) {
        Ok(Command::Print(text)) if among.leads() => {
            let refused = REFUSED.join(", ");
            let text = format!("{}\n\nhaul-mpi refuses {refused}.\n", text.trim_end());
            ending::print_and_end(&output, &text)
        }
        Ok(Command::Print(_)) => ExitCode::SUCCESS,
        Ok(Command::Copy(settings, operands)) => {
            let begun = begin(&output, &settings, &operands, among, copy);
            ended(begun.unwrap_or_else(|error| refuse(&output, among, &error)))
        }
        Err(usage) => ended(refuse(&output, among, &CommandError::Usage(usage))),
    }
}

/// Prints why the command is refused, once.
fn refuse(output: &Output, among: Among, error: &CommandError) -> ExitCode {
    if among.leads() { ending::refused(output, error) } else { ExitCode::FAILURE }
}

fn begin(
    output: &Output,
    settings: &Settings,
    operands: &[OsString],
    among: Among,
    copy: impl FnOnce(&Request, &dyn Monitor, &Control<'_>) -> Result<Counts, Unsupported>,
) -> Result<ExitCode, CommandError> {
    if let Some(option) = refused_option(settings) {
        let text = format!("{option} is not supported by haul-mpi; use haul cp");
        return Err(CommandError::Plain(text));
    }
    let mut request = request(settings, operands)?;
    // All together keep within the rate, also where some have nothing to do.
    let share = |bytes: u64| (bytes / among.count.max(1) as u64).max(1);
    request.policy.bytes_per_second = request.policy.bytes_per_second.map(share);
    let mut how = report::How { progress: ProgressWhen::Never, ..how(output, settings, &request) };
    how.stats = false;
    let mut refusal = None;
    let code = report::run_copy_with(output, &how, &request, |monitor, control| {
        copy(&request, monitor, control).unwrap_or_else(|unsupported| {
            refusal = Some(unsupported);
            Counts::default()
        })
    });
    match refusal {
        None => Ok(code),
        Some(what) => {
            let text = format!("{what} cannot be kept by several processes; use haul cp");
            Err(CommandError::Plain(text))
        }
    }
}

/// Options that haul-mpi does not have; `--journal` implies `--resume`, and `--repair` `--verify`.
const REFUSED: [&str; 16] = [
    "--dry-run",
    "--preflight",
    "--errors",
    "--retry-failed",
    "--resume",
    "--sum-file",
    "--verify",
    "--durable",
    "--progress",
    "--explain",
    "--stats",
    "--json",
    "--debug",
    "--verbose",
    "--interactive",
    "--backup",
];

/// Returns the first option that is given and that haul-mpi does not have.
fn refused_option(settings: &Settings) -> Option<&'static str> {
    let policy = &settings.policy;
    let trust = &settings.trust;
    let given = [
        settings.dry_run,
        settings.preflight,
        settings.errors.is_some(),
        settings.retry_failed.is_some(),
        trust.resume,
        trust.sum_file.is_some(),
        policy.hashing.is_some(),
        policy.appearance == Appearance::Durable,
        settings.progress == ProgressWhen::Always,
        settings.data.explain,
        settings.stats,
        settings.format == Format::Json,
        settings.debug,
        settings.verbose,
        policy.consent == Consent::Ask,
        settings.wants_backup,
    ];
    REFUSED.into_iter().zip(given).find_map(|(option, is_given)| is_given.then_some(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<&'static str> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(&words) {
            Ok(Command::Copy(settings, _)) => refused_option(&settings),
            _ => panic!("{words:?} is not a command line"),
        }
    }

    #[test]
    fn options_for_one_process_are_refused_by_name() {
        for option in [
            "--dry-run",
            "--preflight",
            "--errors=list",
            "--retry-failed=list",
            "--resume",
            "--sum-file=sums",
            "--verify",
            "--durable",
            "--progress",
            "--explain",
            "--stats",
            "--json",
            "--debug",
            "--verbose",
            "--interactive",
            "--backup",
        ] {
            let name = option.split('=').next();
            assert_eq!(refused(&["-r", option, "a", "b"]), name, "{option}");
        }
    }

    #[test]
    fn the_usual_options_are_accepted() {
        assert_eq!(refused(&["-a", "--atomic", "--bandwidth=1M", "-u", "a", "b"]), None);
    }
}
