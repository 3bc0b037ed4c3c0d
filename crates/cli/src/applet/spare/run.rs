//! `haul spare`: the command is started, watched and waited for. Its streams, signals, terminal and exit status are
//! what they would be without haul.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Duration;

use haul_sys::memory::{Bound, OwnCgroup, room_bytes};
use haul_sys::process::{collect_signals, die_by, has_arrived, kill, sent_signals};

use super::options::{OPTIONS, Settings, help};
use crate::child::wait_and;
use crate::ending::{self, CommandError};
use crate::escape::quote;
use crate::file_error::describe;
use crate::getopt::{Usage, parse_before_command};
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::sizes;

const PROGRAM: &str = "haul spare";

/// The exit status if haul itself failed, the only one that is not about the command.
const ERROR: u8 = 125;
const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Added to the number of the signal that ended a command, as a shell does.
const SIGNALLED: i32 = 128;

/// The part of the available memory that the page cache of a command takes by default, and its bounds.
const SHARE: u64 = 8;
const CACHE_BYTES_MIN: u64 = 32 << 20;
const CACHE_BYTES_MAX: u64 = 1 << 30;

/// Time between two looks at the page cache of the command: 20 MB at 2 GB/s.
const LOOK: Duration = Duration::from_millis(10);

/// Runs `spare` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut settings = Settings::default();
    let words = parse_before_command(arguments, OPTIONS);
    let refused = match read_words(words, &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => return ending::print_or(&output, &text, ERROR),
        Ok(Asked::Work(command)) if command.is_empty() => {
            CommandError::Usage(Usage("there is no command to run".to_owned()))
        }
        Ok(Asked::Work(command)) => {
            let usual = || (room_bytes() / SHARE).clamp(CACHE_BYTES_MIN, CACHE_BYTES_MAX);
            let cache_bytes = settings.cache_bytes.unwrap_or_else(usual);
            return ExitCode::from(spare(&output, &command, cache_bytes, settings.is_quiet));
        }
        Err(error) => error,
    };
    ending::refused(&output, &refused);
    ExitCode::from(ERROR)
}

fn spare(output: &Output, words: &[OsString], cache_bytes: u64, is_quiet: bool) -> u8 {
    let group = match OwnCgroup::make("spare", Bound::PageCache(cache_bytes)) {
        Ok(group) => group,
        Err(error) => {
            output.error(&format!(
                "cannot make a memory cgroup: {}; the command was not run (see '{PROGRAM} --help')",
                describe(&error)
            ));
            return ERROR;
        }
    };
    if !is_quiet {
        let (path, bytes) = (quote(group.path().as_os_str().as_bytes()), sizes::bytes(cache_bytes));
        output.error(&format!("at most {bytes} of page cache, by the memory cgroup {path}"));
    }
    // No signal may end this process before the command, or the group would stay.
    collect_signals();
    let code = start_and_wait(output, words, &group);
    let path = group.path().to_owned();
    if group.end() {
        let path = quote(path.as_os_str().as_bytes());
        output.error(&format!("what the command started runs on, in {path}"));
    }
    match code {
        Ok(status) => pass_through(status),
        Err(code) => code,
    }
}

fn start_and_wait(
    output: &Output,
    words: &[OsString],
    group: &OwnCgroup,
) -> Result<ExitStatus, u8> {
    let Some((program, arguments)) = words.split_first() else { return Err(ERROR) };
    let failed = |error: &std::io::Error, code| {
        let shown = quote(program.as_bytes());
        output.error(&format!("cannot run {shown}: {}", describe(error)));
        code
    };
    let started = group.inside(|| Command::new(program).args(arguments).spawn());
    let mut child = started.map_err(|error| failed(&error, ERROR))?.map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        failed(&error, if is_missing { NOT_FOUND } else { NOT_EXECUTABLE })
    })?;
    let process = child.id();
    let mut meanwhile = || {
        for signal in sent_signals() {
            // A command that has ended meanwhile needs no signal.
            let _may_have_ended = kill(process, signal);
        }
        group.bound();
    };
    wait_and(&mut child, LOOK, &mut meanwhile).map_err(|error| failed(&error, ERROR))
}

/// Returns the command's exit status as a shell has it. A signal that ended the command and was
/// meant for us as well ends us, too, so that a shell's loop stops at Ctrl-C.
fn pass_through(status: ExitStatus) -> u8 {
    let signal = status.signal();
    if let Some(signal) = signal
        && has_arrived(signal)
    {
        die_by(signal);
    }
    let code = status.code().unwrap_or_else(|| SIGNALLED + signal.unwrap_or_default());
    u8::try_from(code).unwrap_or(ERROR)
}
