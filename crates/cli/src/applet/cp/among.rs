//! `haul-mpi cp`: the same command line for a copy that several processes carry out together.

use std::ffi::OsString;
use std::process::ExitCode;

use haul_engine::error::Operation;
use haul_engine::remove::Mode;
use haul_engine::request::{Consent, Order, Request};

use super::retry;
use super::run::{Command, how, list_errors, read, request, sources};
use super::settings::Settings;
use crate::among::{self, Among, Carry};
use crate::ending::CommandError;
use crate::error_list::Older;
use crate::option::list_place;
use crate::option::select::refused_too;
use crate::output::Output;
use crate::report::{lead_copy, take_part};

/// Reads the arguments of `cp` and copies by a function that lets all processes take part. Returns
/// the exit status: on process 0 that of the whole copy, elsewhere success. Blocks until the copy is
/// over. The function is not called if the command line is refused or asks for no copy.
pub fn copy_among(arguments: &[OsString], among: &Among, copy: impl Carry<Request>) -> ExitCode {
    match read(arguments) {
        Ok(Command::Print(text)) => among::print_help(among, &text, &refused_too(&REFUSED)),
        Ok(Command::Copy(settings, operands)) => {
            let output = among.output();
            let copied = begin(&output, (&settings, arguments), &operands, among, copy);
            among::ended(among, &output, copied)
        }
        Err(error) => among::ended(among, &among.output(), Err(error)),
    }
}

fn begin(
    output: &Output,
    (settings, arguments): (&Settings, &[OsString]),
    operands: &[OsString],
    among: &Among,
    copy: impl Carry<Request>,
) -> Result<ExitCode, CommandError> {
    among::refuse("cp", &REFUSED, given(settings))?;
    if let Some(option) = settings.select.given() {
        among::refuse("cp", &[option], [true])?;
    }
    if among.leads() {
        output.measure_in(&settings.metrics).map_err(CommandError::Plain)?;
    }
    let mut request = request(settings, operands)?;
    // Lines about entries (-v) come from several processes, so they have no order.
    request.policy.order = Order::Any;
    let rate = request.policy.bytes_per_second;
    request.policy.bytes_per_second = rate.map(|bytes| among.share(bytes));
    let how = how(&among.output_of_leader(), settings, &request);
    let copied = if among.leads() {
        haul_sys::process::hear_stop_of_job();
        for (option, name) in [
            ("--errors", &settings.errors),
            ("--journal", &settings.trust.journal),
            ("--metrics", &settings.metrics.file),
        ] {
            if let Some(name) = name {
                list_place::refuse_made((option, name), &request).map_err(CommandError::Plain)?;
            }
        }
        if let Some(name) = &settings.trust.journal {
            list_place::refuse_with_volumes(("--journal", name), &request)
                .map_err(CommandError::Plain)?;
        }
        let words = (&retry::options(arguments)[..], sources(settings, operands));
        list_errors(output, (settings, Older::Emptied), words)?;
        lead_copy(output, &how, &request, copy)
    } else {
        take_part(output, &how, (Operation::Copy, Mode::Remove), &request, copy)
    };
    copied.map_err(|what| among::unsupported("cp", what))
}

/// Options that haul-mpi does not have.
const REFUSED: [&str; 7] = [
    "--config",
    "--dry-run",
    "--preflight",
    "--retry-failed",
    "--sum-file",
    "--interactive",
    "--backup",
];

/// Returns which of the refused options are given.
fn given(settings: &Settings) -> [bool; REFUSED.len()] {
    let policy = &settings.policy;
    [
        // No defaults are read, so that all processes have the same options.
        settings.has_config,
        settings.dry_run,
        settings.preflight,
        settings.retry_failed.is_some(),
        settings.trust.sum_file.is_some(),
        policy.consent == Consent::Ask,
        settings.wants_backup,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<&'static str> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(&words) {
            Ok(Command::Copy(settings, _)) => among::first_given(&REFUSED, given(&settings)),
            _ => panic!("{words:?} is not a command line"),
        }
    }

    #[test]
    fn options_for_one_process_are_refused_by_name() {
        for option in [
            "--config",
            "--dry-run",
            "--preflight",
            "--retry-failed=list",
            "--sum-file=sums",
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
        assert_eq!(refused(&["-r", "--durable", "--repair", "--journal=j", "a", "b"]), None);
        assert_eq!(refused(&["-r", "--errors=list", "--json", "--stats", "a", "b"]), None);
        assert_eq!(
            refused(&["-rv", "--debug", "--progress", "--explain", "--metrics=m", "a", "b"]),
            None
        );
    }
}
