//! A command that several processes carry out together: process 0 prints what all of them report,
//! and has the exit status.
//!
//! Other processes have no files of their own to list errors in, and their standard streams may be
//! joined in pieces. So they relay whole lines to process 0, which prints them in the place where its
//! own lines go.

use std::process::ExitCode;
use std::sync::Arc;

use haul_engine::monitor::{Control, Counts, Monitor};
use haul_engine::peers::Unsupported;

use crate::ending::{self, CommandError};
use crate::held_back;
use crate::output::Output;
use crate::relayed::{Print, Stream};

/// Name in messages.
pub(crate) const PROGRAM: &str = "haul-mpi";

/// A process among those that carry out a command together.
#[derive(Clone)]
pub struct Among {
    /// Number of the process, from 0. Process 0 prints what all processes report, and has the exit
    /// status of the whole command.
    pub own: usize,
    /// Number of processes, at least 1.
    pub count: usize,
    /// Sends lines to process 0. Not used by process 0.
    pub relay: Arc<Print>,
}

impl Among {
    pub(crate) const fn leads(&self) -> bool {
        self.own == 0
    }

    /// Returns where this process prints.
    pub(crate) fn output(&self) -> Output {
        if self.leads() {
            Output::new(PROGRAM)
        } else {
            Output::relayed(PROGRAM, Arc::clone(&self.relay))
        }
    }

    /// Returns an output for messages about the command line, which all processes would print alike.
    pub(crate) fn output_of_leader(&self) -> Output {
        if self.leads() {
            Output::new(PROGRAM)
        } else {
            Output::relayed(PROGRAM, Arc::new(|_: Stream, _: &[u8]| {}))
        }
    }

    /// Returns the part of a rate that this process may use, so that all together keep within it,
    /// also where some have nothing to do. At least 1.
    pub(crate) fn share(&self, rate: u64) -> u64 {
        (rate / self.count.max(1) as u64).max(1)
    }
}

/// What a process does of a command: the request, and where it reports.
pub struct Part<'a, R> {
    /// The request, the same for all processes except for its part of a rate.
    pub request: &'a R,
    /// Receiver of this process's reports.
    pub monitor: &'a dyn Monitor,
    /// Counters and stop flag.
    pub control: &'a Control<'a>,
    /// Prints, on process 0, what other processes relay.
    pub print: &'a (dyn Fn(Stream, &[u8]) + Sync),
}

/// Carries out a part together with the other processes, and returns the counts: on process 0 those
/// of all, elsewhere its own.
pub trait Carry<R>: FnOnce(Part<'_, R>) -> Result<Counts, Unsupported> {}

impl<R, F: FnOnce(Part<'_, R>) -> Result<Counts, Unsupported>> Carry<R> for F {}

/// Prints the help of a command, with the options that it does not have here.
pub(crate) fn print_help(among: &Among, help: &str, refused: &[&str]) -> ExitCode {
    if !among.leads() {
        return ExitCode::SUCCESS;
    }
    if refused.is_empty() {
        return ending::print_and_end(&among.output(), help);
    }
    let refused = refused.join(", ");
    let text = format!("{}\n\nhaul-mpi refuses {refused}.\n", help.trim_end());
    ending::print_and_end(&among.output(), &text)
}

/// Returns the exit status of this process for a command that was carried out or refused, and reports why
/// it was refused. What another process than 0 reports is printed if process 0 does not refuse the command
/// itself.
pub(crate) fn ended(
    among: &Among,
    output: &Output,
    result: Result<ExitCode, CommandError>,
) -> ExitCode {
    if let (Ok(_), Some(text)) = (&result, held_back::told()) {
        output.error(&text);
    }
    match result {
        Ok(code) if among.leads() => code,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let code = ending::refused(output, &error);
            if among.leads() { code } else { ExitCode::SUCCESS }
        }
    }
}

/// Refuses the first option that is given and that several processes do not have.
pub(crate) fn refuse(
    program: &str,
    refused: &[&'static str],
    given: impl IntoIterator<Item = bool>,
) -> Result<(), CommandError> {
    match first_given(refused, given) {
        None => Ok(()),
        Some(option) => Err(CommandError::Plain(format!(
            "{option} is not supported by haul-mpi; use haul {program}"
        ))),
    }
}

/// Returns the first option that is given.
pub(crate) fn first_given(
    refused: &[&'static str],
    given: impl IntoIterator<Item = bool>,
) -> Option<&'static str> {
    refused.iter().zip(given).find_map(|(option, is_given)| is_given.then_some(*option))
}

/// Describes why the engine refused a request.
pub(crate) fn unsupported(program: &str, what: Unsupported) -> CommandError {
    CommandError::Plain(format!("several processes cannot have {what}; use haul {program}"))
}
