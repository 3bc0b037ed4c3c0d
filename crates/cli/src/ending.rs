//! How an applet ends that does no work: with a usage error, or after `--help` or `--version`.

use std::process::ExitCode;
use std::sync::OnceLock;

use crate::defaults::Given;
use crate::getopt::Usage;
use crate::metrics::Figures;
use crate::output::Output;

/// The command that `--help` belongs to, where the program was called as `haul COMMAND`.
static CALLED: OnceLock<&'static str> = OnceLock::new();

/// Notes that the applet was called as `haul NAME`, not by a link of its own name.
pub(crate) fn called_through_haul(name: &'static str) {
    // A process runs one applet.
    let _only_once = CALLED.set(name);
}

/// Returns how the program that messages name is called here.
pub(crate) fn called_as(program: &str) -> String {
    match CALLED.get() {
        Some(name) => format!("haul {name}"),
        None => program.to_owned(),
    }
}

/// Returns whether the program replaces another one under that one's name.
pub(crate) fn is_drop_in() -> bool {
    CALLED.get().is_none()
}

/// The defaults that the command line got, and where they are from.
static DEFAULTS: OnceLock<Vec<Given>> = OnceLock::new();

/// Notes the defaults that the command line got: a message about one of them has to name its line.
pub(crate) fn given_by_default(given: Vec<Given>) {
    // A process runs one applet.
    let _only_once = DEFAULTS.set(given);
}

/// Prints where the defaults are from, after a message that may be about one.
pub(crate) fn point_to_defaults(output: &Output) {
    for (word, origin) in DEFAULTS.get().into_iter().flatten() {
        let word = word.to_string_lossy();
        output.raw_error(&format!("{}: the default '{word}' is from {origin}\n", output.program()));
    }
}

/// Why an applet does nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// The command line is invalid; the message names `--help`.
    Usage(Usage),
    /// The command line is valid, but the command cannot be carried out.
    Plain(String),
}

impl From<Usage> for CommandError {
    fn from(usage: Usage) -> CommandError {
        CommandError::Usage(usage)
    }
}

/// Refuses an invalid command line.
pub(crate) fn usage<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Usage(Usage(text)))
}

/// Ends an applet that does nothing.
pub(crate) fn refused(output: &Output, error: &CommandError) -> ExitCode {
    // The exit status says failure in any case.
    let _written = output.measured(Figures::not_begun);
    match error {
        CommandError::Usage(usage) => usage_error(output, usage),
        CommandError::Plain(text) => {
            output.error(text);
            ExitCode::FAILURE
        }
    }
}

/// Ends an applet whose command line is invalid.
pub(crate) fn usage_error(output: &Output, usage: &Usage) -> ExitCode {
    output.error(&usage.0);
    point_to_defaults(output);
    point_to_help(output);
    ExitCode::FAILURE
}

/// Prints the line that names `--help`.
pub(crate) fn point_to_help(output: &Output) {
    let program = called_as(output.program());
    output.raw_error(&format!("Try '{program} --help' for more information.\n"));
}

/// Prints that line, or under the own name of a program the one that its callers know from GNU's.
pub(crate) fn point_to_help_or(output: &Output, gnus: &str) {
    match CALLED.get() {
        Some(_) => point_to_help(output),
        None => output.raw_error(gnus),
    }
}

/// Prints a text on standard output and ends the applet.
pub(crate) fn print_and_end(output: &Output, text: &str) -> ExitCode {
    print_or(output, text, 1)
}

/// Does the same for an applet with an exit status of its own for errors.
pub(crate) fn print_or(output: &Output, text: &str, failed: u8) -> ExitCode {
    output.line(text.trim_end_matches('\n'));
    if output.finish() { ExitCode::SUCCESS } else { ExitCode::from(failed) }
}
