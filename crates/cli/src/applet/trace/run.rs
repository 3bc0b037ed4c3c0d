//! `haul trace`: what a command asks of the kernel, as counts, sizes and latencies.
//!
//! The command is the guest of honour: its streams, its signals and its exit status are what they
//! would be without us. Ours are only the report, the messages, and three exit statuses that
//! `env`, `nohup` and `timeout` use in the same sense.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use haul_sys::process::{die_by, hear_stop, stop_signal};
use haul_sys::{Call, Errno};
use haul_trace::{Command, Ending, Interrupt, Report, Trace, TraceError};

use super::help::help;
use super::options::{Settings, Subject, Wanted, read};
use super::sinks::Sinks;
use crate::ending;
use crate::escape::{quote, quote_word};
use crate::output::Output;

const PROGRAM: &str = "haul trace";

/// The exit status if haul itself failed, the only one that is not about the command.
const ERROR: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs `trace` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments) {
        Ok(Wanted::Print(answer)) => {
            ending::print_or(&output, &answer.text(PROGRAM, || help(PROGRAM)), ERROR)
        }
        Ok(Wanted::Trace(settings)) => ExitCode::from(trace(&output, *settings)),
        Err(error) => {
            ending::refused(&output, &error);
            ExitCode::from(ERROR)
        }
    }
}

/// Traces, delivers, and returns the exit status.
fn trace(output: &Output, mut settings: Settings) -> u8 {
    // Before the command runs: what it does cannot be undone because a file's name was wrong.
    let sinks = match Sinks::open(&settings) {
        Ok(sinks) => sinks,
        Err(message) => {
            output.error(&message);
            return ERROR;
        }
    };
    if settings.lists {
        settings.trace.list = Some(sinks.list());
    }
    settings.trace.interrupt = Some(Interrupt::Signals(hear_stop()));
    settings.trace.on_wait = io::stderr().is_terminal().then_some(tell_of_waiting);
    let (reports, failure) = observe(output, &settings);
    let Some(first) = reports.first() else { return failure.unwrap_or(ERROR) };
    let mut delivered = true;
    for message in sinks.deliver(output, &settings, &reports) {
        output.error(&message);
        delivered = false;
    }
    delivered &= output.finish();
    match failure {
        Some(code) => code,
        None if !delivered => ERROR,
        None => pass_through(first.ending),
    }
}

/// Makes the reports, as many as can be had, and the exit status of what could not.
fn observe(output: &Output, settings: &Settings) -> (Vec<Report>, Option<u8>) {
    let mut reports = Vec::new();
    let commands = match &settings.subject {
        Subject::Commands(commands) => commands,
        Subject::Process(pid) => {
            return match Trace::attach(*pid, &settings.trace) {
                Ok(report) => (vec![report], None),
                Err(error) => {
                    tell(output, &error, &format!("process {pid}"));
                    (reports, Some(ERROR))
                }
            };
        }
    };
    for words in commands {
        if stop_signal().is_some() {
            output.error("the second command was not run, since the first was interrupted");
            break;
        }
        let Some((program, arguments)) = words.split_first() else { continue };
        let command = Command::new(program).arguments(arguments);
        match Trace::run(&command, &settings.trace) {
            Ok(report) => reports.push(report),
            Err(error) => {
                tell(output, &error, &quote(program.as_bytes()));
                if let Some(hint) = hint(&error, program) {
                    output.error(hint);
                }
                return (reports, Some(exit_status(&error)));
            }
        }
    }
    (reports, None)
}

/// The exit status for a failure, as `env` has it.
fn exit_status(error: &TraceError) -> u8 {
    match error {
        TraceError::Spawn(error) if error.errno == Errno::NOENT => NOT_FOUND,
        TraceError::Spawn(error) if error.call == Call::Execve => NOT_EXECUTABLE,
        _ => ERROR,
    }
}

/// Says why there is no report on a subject, and what to try.
fn tell(output: &Output, error: &TraceError, subject: &str) {
    match error {
        TraceError::Spawn(error) => {
            output.error(&format!("cannot run {subject}: {}", error.text()));
        }
        TraceError::Attach(error) => {
            output.error(&format!("cannot attach to {subject}: {}", error.text()));
            if error.errno == Errno::PERM {
                output.error("only root may trace the processes of others");
            }
        }
        TraceError::UnknownCall(name) => {
            let quoted = quote_word(name.as_bytes());
            output.error(&format!(
                "no system call is named {quoted}: the names are those of the manual's section 2, \
                 such as read, openat, newfstatat"
            ));
        }
        TraceError::Unavailable(reason) => {
            output.error(&format!("cannot trace {subject} this way: {reason}"));
        }
        other => output.error(&other.to_string()),
    }
}

/// What a command that cannot be found nearly always is, if it looks like that.
fn hint(error: &TraceError, program: &OsStr) -> Option<&'static str> {
    match error {
        TraceError::Spawn(error) if error.errno == Errno::NOENT => {}
        _ => return None,
    }
    if program.as_bytes().contains(&b'/') && Path::new(program).exists() {
        return Some("the file is there, but not the interpreter that it names");
    }
    let is_line = program.as_bytes().contains(&b' ');
    is_line.then_some("a shell's command line is run by: haul trace -- sh -c 'LINE'")
}

/// Explains at a terminal why nothing happens.
fn tell_of_waiting() {
    let text = format!(
        "{PROGRAM}: the command has ended, but what it started runs on; \
         Ctrl-C makes the report now\n"
    );
    // There is nowhere to tell that this failed.
    let _nowhere_to_tell = io::stderr().write_all(text.as_bytes());
}

/// Returns the command's exit status as a shell has it. A signal that ended the command and was
/// meant for us as well ends us, too, so that a shell's loop stops at Ctrl-C.
fn pass_through(ending: Ending) -> u8 {
    if let Ending::Signaled(signal) = ending
        && stop_signal() == Some(signal)
    {
        die_by(signal);
    }
    u8::try_from(ending.shell_code()).unwrap_or(ERROR)
}
