//! How an applet ends that does no work: refused for its command line, or asked for a text.

use std::process::ExitCode;

use crate::getopt::Usage;
use crate::output::Output;

/// Why nothing is done.
pub(crate) enum CommandError {
    /// The command line makes no sense, and the help says what would.
    Usage(Usage),
    /// It makes sense, and cannot be done.
    Plain(String),
}

impl From<Usage> for CommandError {
    fn from(usage: Usage) -> CommandError {
        CommandError::Usage(usage)
    }
}

/// Refuses a command line that makes no sense.
pub(crate) fn usage<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Usage(Usage(text)))
}

/// Ends an applet that does nothing.
pub(crate) fn refused(output: &Output, trouble: &CommandError) -> ExitCode {
    match trouble {
        CommandError::Usage(usage) => usage_error(output, usage),
        CommandError::Plain(text) => {
            output.error(text);
            ExitCode::FAILURE
        }
    }
}

/// Ends an applet that was called wrongly.
pub(crate) fn usage_error(output: &Output, usage: &Usage) -> ExitCode {
    output.error(&usage.0);
    output.raw_error(&format!("Try '{} --help' for more information.\n", output.program()));
    ExitCode::FAILURE
}

/// Prints a text on standard output and ends the applet.
pub(crate) fn print_and_end(output: &Output, text: &str) -> ExitCode {
    print_or(output, text, 1)
}

/// The same for an applet whose exit status in case of trouble is another.
pub(crate) fn print_or(output: &Output, text: &str, trouble: u8) -> ExitCode {
    output.line(text.trim_end_matches('\n'));
    if output.finish() { ExitCode::SUCCESS } else { ExitCode::from(trouble) }
}
