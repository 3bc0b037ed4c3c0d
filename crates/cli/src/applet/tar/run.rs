//! Runs `tar` with its arguments.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use super::append::append;
use super::compare::compare;
use super::create::create;
use super::extract::extract;
use super::list::list;
use super::options::help;
use super::session::{BAD_WORDS, FAILURE, Session};
use super::settings::{Asked, Mode, Refused, read};
use crate::ending::{CommandError, print_or};
use crate::option::help::version;

/// Runs `tar`.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let session = Session::new();
    match read(arguments) {
        Ok(Asked::Help) => print_or(&session.output, &help().to_string(), FAILURE),
        Ok(Asked::Version) => print_or(&session.output, &version("tar"), FAILURE),
        Ok(Asked::Work(mut settings)) => match settings.mode {
            Mode::List => list(&session, &mut settings),
            Mode::Compare => compare(&session, &mut settings),
            Mode::Append => append(&session, &settings),
            Mode::Create => create(&session, &settings),
            Mode::Extract => extract(&Arc::new(session), &mut settings),
        },
        Err(Refused::Words(usage)) => session.usage(&usage, BAD_WORDS),
        Err(Refused::Meaning(CommandError::Usage(usage))) => session.usage(&usage, FAILURE),
        Err(Refused::Meaning(CommandError::Plain(text))) => session.fatal(&text),
    }
}
