//! Runs `tar` with its arguments.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use super::append::append;
use super::command_line::{Asked, Refused, read};
use super::compare::compare;
use super::create::create;
use super::extract::extract;
use super::help::help;
use super::list::list;
use super::session::{BAD_WORDS, FAILURE, Session};
use super::settings::Settings;
use super::task::Mode;
use crate::ending::{CommandError, print_or};

/// Runs `tar`.
pub(super) fn run(arguments: &[OsString]) -> ExitCode {
    let session = Arc::new(Session::new());
    match read(arguments) {
        Ok(Asked::Print(answer)) => print_or(&session.output, &answer.text("tar", help), FAILURE),
        Ok(Asked::Work(mut settings)) => {
            // Each waiting file keeps its directory open. Without more descriptors fewer wait.
            haul_sys::process::raise_nofile_limit();
            if let Err(text) = session.begin(&settings, arguments) {
                return session.fatal(&text);
            }
            std::thread::scope(|scope| {
                if let Some(reporting) = session.reporting() {
                    reporting.progress.start_line(scope, || reporting.line());
                }
                let status = work(&session, &mut settings);
                if let Some(reporting) = session.reporting() {
                    reporting.progress.end();
                }
                status
            })
        }
        Err(Refused::Words(usage)) => session.usage(&usage, BAD_WORDS),
        Err(Refused::Meaning(CommandError::Usage(usage))) => session.usage(&usage, FAILURE),
        Err(Refused::Meaning(CommandError::Plain(text))) => session.fatal(&text),
    }
}

/// Does what is asked for.
fn work(session: &Arc<Session>, settings: &mut Settings) -> ExitCode {
    match settings.mode {
        Mode::List => list(session, settings),
        Mode::Compare => compare(session, settings),
        Mode::Append => append(session, settings),
        Mode::Create => create(session, settings),
        Mode::Extract => extract(session, settings),
    }
}
