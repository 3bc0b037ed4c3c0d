//! The command of `write --from`: started, read, and judged by its exit status.
//!
//! A pipe ends in the same way whether its writer is done or has failed. Only the process that started the
//! writer learns which it was, so only that process can refuse to give a truncated file its name.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command as Program, Stdio};
use std::time::Duration;

use crate::child::wait_and;
use crate::escape::{quote, quote_if_needed};
use crate::file_error::describe;
use crate::signal_name::signal_name;

/// Shells that may have the option `pipefail`: bash always has it, sh in the shells that follow POSIX.1-2024.
const SHELLS: [&str; 2] = ["bash", "sh"];

/// Exit statuses of a command that cannot be started, as of a shell: see "Exit Status" in bash(1).
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// Added to the number of the signal that ended a command, as a shell does.
const SIGNALLED: i32 = 128;

/// How long a wait lasts before it is checked whether the run was stopped, if another thread got the
/// signal: a person does not notice it.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// A command whose standard output is written to the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// A program and its arguments.
    Words(Vec<OsString>),
    /// A line for a shell.
    Line(OsString),
}

/// Why a command gave no complete data: the message, and the exit status that it means.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) text: String,
    pub(super) code: u8,
}

/// A command that was started.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    shown: String,
}

impl Command {
    /// Returns its name for messages.
    fn shown(&self) -> String {
        match self {
            Command::Words(words) => {
                quote_if_needed(words.first().map_or(&b""[..], |word| word.as_encoded_bytes()))
            }
            Command::Line(line) => quote(line.as_encoded_bytes()),
        }
    }

    /// Starts it with the standard input and standard error of this process. Returns it and the pipe that
    /// it writes to.
    pub(super) fn start(&self) -> Result<(Running, OwnedFd), Failed> {
        let shown = self.shown();
        let failed = |why: &str, code| Failed { text: format!("cannot run {shown}: {why}"), code };
        let mut program = match self {
            Command::Words(words) => {
                let Some((first, rest)) = words.split_first() else {
                    return Err(failed("it has no words", NOT_FOUND));
                };
                let mut program = Program::new(first);
                program.args(rest);
                program
            }
            Command::Line(line) => {
                let Some(shell) = SHELLS.into_iter().find(|shell| has_pipefail(shell)) else {
                    let why = "there is no shell that has 'pipefail': install bash, or give one \
                               command as words behind '--from --'";
                    return Err(failed(why, NOT_FOUND));
                };
                let mut program = Program::new(shell);
                program.args(["-o", "pipefail", "-c"]).arg(line);
                program
            }
        };
        let mut child = program.stdout(Stdio::piped()).spawn().map_err(|error| {
            let is_missing = error.kind() == ErrorKind::NotFound;
            failed(&describe(&error), if is_missing { NOT_FOUND } else { NOT_EXECUTABLE })
        })?;
        let Some(output) = child.stdout.take() else {
            return Err(failed("it has no standard output", NOT_EXECUTABLE));
        };
        Ok((Running { child, shown }, output.into()))
    }
}

/// Returns whether a shell can be started and has the option `pipefail`.
fn has_pipefail(shell: &str) -> bool {
    let mut probe = Program::new(shell);
    probe.args(["-o", "pipefail", "-c", ":"]);
    probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

impl Running {
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Waits for its end; the pipe must have been read to its end, or closed. A signal that stops this run
    /// ends the command, too.
    pub(super) fn wait(mut self) -> Result<(), Failed> {
        let shown = self.shown.clone();
        match wait_and(&mut self.child, STOP_CHECK, &mut || {}) {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(0), _) => Ok(()),
                (Some(code), _) => Err(Failed {
                    text: format!("{shown} ended with exit status {code}"),
                    code: u8::try_from(code).unwrap_or(u8::MAX),
                }),
                (None, signal) => {
                    let signal = signal.unwrap_or_default();
                    let text = format!("{shown} was ended by signal {}", signal_name(signal));
                    Err(Failed { text, code: u8::try_from(SIGNALLED + signal).unwrap_or(u8::MAX) })
                }
            },
            Err(error) => Err(Failed {
                text: format!("{shown}: waiting for its end failed: {}", describe(&error)),
                code: 1,
            }),
        }
    }
}
