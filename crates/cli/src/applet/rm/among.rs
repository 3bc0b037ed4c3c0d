//! `haul-mpi rm`: the same command line for a removal that several processes carry out together.

use std::ffi::OsString;
use std::num::NonZeroU64;
use std::process::ExitCode;

use haul_engine::error::Operation;
use haul_engine::peers::Unsupported;
use haul_engine::remove::{MountPoints, Request};

use super::options::{Interactive, Settings};
use super::run::{Command, prepare, read, request};
use crate::among::{self, Among, Carry};
use crate::ending::CommandError;
use crate::option::select::refused_too;
use crate::output::Output;
use crate::report::{lead_removal, take_part};

/// Reads the arguments of `rm` and removes by a function that lets all processes take part. Returns
/// the exit status: on process 0 that of the whole removal, elsewhere success. Blocks until the
/// removal is over. The function is not called if the command line is refused or asks for nothing.
pub fn remove_among(
    arguments: &[OsString],
    among: &Among,
    remove: impl Carry<Request>,
) -> ExitCode {
    match read(arguments, MountPoints::Kept) {
        Ok(Command::Print(text)) => among::print_help(among, &text, &refused_too(&REFUSED)),
        Ok(Command::Remove(settings, operands)) => {
            let output = among.output();
            let removed = begin(&output, (&settings, arguments), &operands, among, remove);
            among::ended(among, &output, removed)
        }
        Err(error) => among::ended(among, &among.output(), Err(error)),
    }
}

fn begin(
    output: &Output,
    (settings, arguments): (&Settings, &[OsString]),
    operands: &[OsString],
    among: &Among,
    remove: impl Carry<Request>,
) -> Result<ExitCode, CommandError> {
    among::refuse("rm", &REFUSED, given(settings))?;
    if let Some(option) = settings.select.given() {
        among::refuse("rm", &[option], [true])?;
    }
    let mut request = request(settings, operands)?;
    let share = |rate: NonZeroU64| NonZeroU64::new(among.share(rate.get())).unwrap_or(rate);
    request.policy.pace.per_second = request.policy.pace.per_second.map(share);
    let how = &settings.how;
    let removed = if among.leads() {
        haul_sys::process::hear_stop_of_job();
        prepare(output, settings, (arguments, operands))?;
        lead_removal(output, how, &request, remove)
    } else {
        take_part(output, how, (Operation::Remove, request.policy.mode), &request, remove)
    };
    removed.map_err(|what| match what {
        Unsupported::Questions => CommandError::Plain(
            "write-protected files need an answer, and haul-mpi does not ask; use -f".to_owned(),
        ),
        what => among::unsupported("rm", what),
    })
}

/// Options that haul-mpi does not have: it has no terminal for answers, and reads no defaults.
const REFUSED: [&str; 3] = ["--config", "--interactive", "-I"];

/// Returns which of the refused options are given.
fn given(settings: &Settings) -> [bool; REFUSED.len()] {
    [
        settings.has_config,
        settings.interactive == Interactive::Always,
        settings.interactive == Interactive::Once,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<&'static str> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        match read(&words, MountPoints::Kept) {
            Ok(Command::Remove(settings, _)) => among::first_given(&REFUSED, given(&settings)),
            _ => panic!("{words:?} is not a command line"),
        }
    }

    #[test]
    fn questions_and_defaults_are_refused_by_name() {
        assert_eq!(refused(&["-r", "--config", "a"]), Some("--config"));
        assert_eq!(refused(&["-ri", "a"]), Some("--interactive"));
        assert_eq!(refused(&["-r", "--interactive=always", "a"]), Some("--interactive"));
        assert_eq!(refused(&["-rI", "a"]), Some("-I"));
        assert_eq!(refused(&["-r", "--interactive=once", "a"]), Some("-I"));
    }

    #[test]
    fn the_usual_options_are_accepted() {
        assert_eq!(refused(&["-rfv", "--one-file-system", "--errors=list", "a"]), None);
        assert_eq!(refused(&["-ri", "--interactive=never", "--rate=9", "--json", "a"]), None);
    }
}
