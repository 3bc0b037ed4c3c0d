//! `haul dd`: GNU dd's command line and messages; `haul_io::record` moves the records.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::DataPolicy;
use haul_io::record::{Conv, Counts, Flow, LARGEST, Monitor as _, Rest, Run, Side};
use haul_start::Standard;
use haul_sys::data::ftruncate;
use haul_sys::fs::{
    Access, CWD, Create, Follow, Kind, OFlags, OpenHow, add_flags, close, duplicate, fstat, openat,
    statat_follow,
};
use haul_sys::process::{die_by, hear_asked, hear_interrupt};
use haul_sys::{Errno, errno_text};

use super::adapter::{Adapter, Signals, names};
use super::help::{OPTIONS, help};
use super::operands::{Request, Wrong};
use super::report::Teller;
use crate::ending::{self, usage_error};
use crate::escape::quote;
use crate::getopt::{Usage, parse};
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::standard::{demand, leads_to};

const PROGRAM: &str = "dd";

/// Runs `dd` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut policy = DataPolicy::of_run();
    let operands = match read_words(parse(arguments, OPTIONS), &mut policy, PROGRAM, help) {
        Ok(Asked::Print(text)) => return ending::print_and_end(&output, &text),
        Ok(Asked::Work(operands)) => operands,
        Err(error) => return ending::refused(&output, &error),
    };
    // Handled from the start: a request for the report may come early.
    let asks = std::env::var_os("POSIXLY_CORRECT").is_none();
    let signals = Signals {
        asked: if asks { hear_asked() } else { &haul_sys::process::NOBODY_ASKS },
        interrupted: hear_interrupt(),
    };
    match super::operands::read(&operands) {
        Ok(request) => match copy(&request, policy, signals) {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(text) => {
                output.error(&text);
                ExitCode::FAILURE
            }
        },
        Err(Wrong::Usage(text)) => usage_error(&output, &Usage(text)),
        Err(Wrong::Fatal(text)) => {
            output.error(&text);
            ExitCode::FAILURE
        }
    }
}

fn copy(request: &Request, policy: DataPolicy, signals: Signals) -> Result<bool, String> {
    let mut teller = Teller::new(request.status);
    request.notes.iter().for_each(|note| teller.say(note));
    let interrupted = signals.interrupted;
    let mut adapter = Adapter::new(request, teller, signals);
    let input = open_input(request, &mut adapter)?;
    let (output, cut) = open_output(request, &mut adapter)?;
    adapter.teller.begin();
    let mut run = Run::new(request.order(), input, output, policy, &mut adapter);
    let is_good = run.all();
    let (input, output) = run.into_files();
    if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
        die_by(INTERRUPT);
    }
    for ((which, name), file) in names(request).into_iter().zip([input, output]) {
        // A file that the read-ahead thread still reads is closed when the process ends.
        let Some(file) = file else { continue };
        let name = quote(&name);
        close(file).map_err(|error| format!("closing {which} file {name}: {}", error.text()))?;
    }
    Ok(cut && is_good && !adapter.is_mute())
}

/// SIGINT, as every system numbers it.
const INTERRUPT: i32 = 2;

fn c_name(name: &OsStr) -> CString {
    // The kernel hands no argument with a NUL to a program.
    CString::new(name.as_bytes()).unwrap_or_default()
}

fn open_input(request: &Request, adapter: &mut Adapter) -> Result<Side, String> {
    let flags = request.iflags.open;
    let fd = match &request.input {
        Some(name) => {
            let how = OpenHow { extra: flags, ..OpenHow::READ.following(Follow::Yes).waiting() };
            opened(name, how, adapter)?
        }
        None => {
            demand(Standard::Input)
                .map_err(|error| format!("error reading 'standard input': {}", error.text()))?;
            let fd = duplicate(std::io::stdin()).map_err(|error| flags_failed("input", error))?;
            set_flags(&fd, flags, "input")?;
            fd
        }
    };
    Ok(side(fd, request, request.iflags.nocache))
}

/// Opens a file. A FIFO is waited for until another process opens it, so signals are answered meanwhile: a
/// request for the report, and an interruption, which ends the process.
fn opened(name: &OsStr, how: OpenHow, adapter: &mut Adapter) -> Result<OwnedFd, String> {
    let c_name = c_name(name);
    let answer = loop {
        match openat(CWD, &c_name, how) {
            Err(error) if error.errno == Errno::INTR => {
                let nothing = Counts::default();
                if adapter.heed(&nothing) == Flow::End {
                    adapter.report(&nothing);
                    die_by(INTERRUPT);
                }
            }
            answer => break answer,
        }
    };
    answer.map_err(|error| {
        format!("failed to open {}: {}", quote(name.as_bytes()), errno_text(error.errno))
    })
}

fn flags_failed(which: &str, error: haul_sys::CallError) -> String {
    let name = quote(format!("standard {which}").as_bytes());
    format!("setting flags for {name}: {}", error.text())
}

fn set_flags(fd: impl AsFd, flags: OFlags, which: &str) -> Result<(), String> {
    let flags = flags - OFlags::NOCTTY - OFlags::NOFOLLOW;
    if flags.is_empty() {
        return Ok(());
    }
    let is_directory = fstat(&fd).is_ok_and(|stat| stat.kind() == Kind::Directory);
    if flags.contains(OFlags::DIRECTORY) && !is_directory {
        let not = haul_sys::CallError::new(haul_sys::Call::Fcntl, haul_sys::Errno::NOTDIR);
        return Err(flags_failed(which, not));
    }
    add_flags(fd, flags - OFlags::DIRECTORY).map_err(|error| flags_failed(which, error))
}

/// Opens the output; with `false` if it could not be truncated to the offset where it begins.
fn open_output(request: &Request, adapter: &mut Adapter) -> Result<(Side, bool), String> {
    let Some(name) = &request.output else {
        demand(Standard::Output)
            .map_err(|error| format!("error writing 'standard output': {}", error.text()))?;
        let fd = duplicate(std::io::stdout()).map_err(|error| flags_failed("output", error))?;
        set_flags(&fd, request.oflags.open, "output")?;
        return Ok((side(fd, request, request.oflags.nocache), true));
    };
    let keeps = request.conv.any(Conv::NOTRUNC);
    let size = request.seek.total(request.obs);
    if size.is_none() && !keeps {
        return Err(format!(
            "offset too large: cannot truncate to a length of seek={} ({}-byte) blocks",
            request.seek.records, request.obs
        ));
    }
    let is_new = request.conv.any(Conv::EXCL);
    if !keeps && !is_new && cuts_input(request, name, size.unwrap_or(LARGEST)) {
        return Err(format!(
            "{}: input file is output file, and would be truncated first; conv=notrunc keeps it",
            quote(name.as_bytes())
        ));
    }
    let seeks = request.seek.records > 0;
    let mut extra = request.oflags.open;
    if is_new {
        extra |= OFlags::EXCL;
    }
    if !seeks && !keeps {
        extra |= OFlags::TRUNC;
    }
    let create = if request.conv.any(Conv::NOCREAT) { Create::No } else { Create::IfAbsent(0o666) };
    let how = OpenHow {
        access: Access::Write,
        create,
        extra,
        ..OpenHow::WRITE.following(Follow::Yes).waiting()
    };
    // Reading may be needed to get to where writing begins; where it is not allowed, writing may
    // do.
    let both = OpenHow { access: Access::ReadWrite, ..how };
    let fd = match if seeks { opened(name, both, adapter) } else { Err(String::new()) } {
        Ok(fd) => fd,
        Err(_) => opened(name, how, adapter)?,
    };
    let mut is_cut = true;
    if seeks
        && !keeps
        && let Err(error) = ftruncate(&fd, size.unwrap_or(LARGEST))
    {
        let kind = fstat(&fd).map(|stat| stat.kind());
        if matches!(kind, Ok(Kind::Regular | Kind::Directory)) {
            adapter.teller.say(&format!(
                "failed to truncate to {} bytes in output file {}: {}",
                size.unwrap_or(LARGEST),
                quote(name.as_bytes()),
                error.text()
            ));
            is_cut = false;
        }
    }
    Ok((side(fd, request, request.oflags.nocache), is_cut))
}

/// Returns whether the output is the input, and loses bytes that are to be read when it is truncated to this size.
fn cuts_input(request: &Request, output: &OsStr, size: u64) -> bool {
    if request.count.is_nothing() {
        return false;
    }
    let input = match &request.input {
        Some(name) => statat_follow(CWD, &c_name(name)),
        None => fstat(std::io::stdin()),
    };
    input.is_ok_and(|input| {
        input.kind() == Kind::Regular && input.size > size && leads_to(output, &input)
    })
}

fn side(fd: OwnedFd, request: &Request, is_uncached: bool) -> Side {
    let rest = if request.count.is_nothing() { Rest::Too } else { Rest::Stays };
    if is_uncached { Side::new(fd).uncached(rest) } else { Side::new(fd) }
}
