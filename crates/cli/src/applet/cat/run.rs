//! `haul cat`: GNU cat's command line; bytes stay in the kernel where it lets them.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::DataPolicy;
use haul_io::retry::when_ready;
use haul_io::stream::{NEVER, Passing, PipePages, Side, StreamError, pass, write_all};
use haul_io::trail::{SourceTrail, TargetTrail};
use haul_start::{Standard, was_closed};
use haul_sys::data::read;
use haul_sys::fs::{CWD, Follow, Kind, OpenHow, Stat, fstat, openat};
use haul_sys::process::Ready;
use haul_sys::{CallError, Errno, errno_text};

use super::format::Formatter;
use super::options::{OPTIONS, Settings, help};
use crate::ending;
use crate::escape::quote_if_needed;
use crate::getopt::parse;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::standard::feeds_on_itself;

const PROGRAM: &str = "cat";

/// Bytes that are read and formatted at a time.
const BUFFER_BYTES: usize = 128 << 10;

/// Buffers of small files are as long as so many of these as they need.
const PAGE_BYTES: usize = 4096;

/// Runs `cat` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut settings = Settings::new();
    match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => ending::print_and_end(&output, &text),
        Ok(Asked::Work(mut files)) => {
            if files.is_empty() {
                files.push("-".into());
            }
            concatenate(&output, &settings, &files)
        }
        Err(error) => ending::refused(&output, &error),
    }
}

/// Why a file was not written completely.
enum Failed {
    /// The file; the next can still be had.
    Input(String),
    /// Standard output; nothing more can be done.
    Output(String),
}

fn concatenate(output: &Output, settings: &Settings, files: &[OsString]) -> ExitCode {
    let stdout = std::io::stdout();
    if was_closed(Standard::Output) {
        output.error(&format!("standard output: {}", errno_text(Errno::BADF)));
        return ExitCode::FAILURE;
    }
    let target = match fstat(&stdout) {
        Ok(stat) => Target { policy: &settings.policy, fd: stdout.as_fd(), stat },
        Err(error) => {
            output.error(&format!("standard output: {}", error.text()));
            return ExitCode::FAILURE;
        }
    };
    let mut formatter = Formatter::new(settings.format);
    let trail = TargetTrail::described(&target.stat, target.policy);
    let mut buffers = Buffers { bytes: Vec::new(), shown: Vec::new(), trail };
    let mut is_complete = true;
    for file in files {
        match one(&target, file, &mut formatter, &mut buffers) {
            Ok(()) => {}
            Err(Failed::Input(text)) => {
                output.error(&format!("{}: {text}", quote_if_needed(file.as_bytes())));
                is_complete = false;
            }
            Err(Failed::Output(text)) => {
                output.error(&format!("write error: {text}"));
                return ExitCode::FAILURE;
            }
        }
    }
    let mut rest = Vec::new();
    formatter.finish(&mut rest);
    let written = write_all(target.fd, &rest, &NEVER)
        .and_then(|()| buffers.trail.finish(target.fd).map_err(StreamError::from));
    if let Err(error) = written {
        output.error(&format!("write error: {error}"));
        return ExitCode::FAILURE;
    }
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Target<'a> {
    /// What becomes of the pages of files.
    policy: &'a DataPolicy,
    fd: BorrowedFd<'a>,
    stat: Stat,
}

/// What is read and formatted at a time, and written, for all files.
struct Buffers {
    bytes: Vec<u8>,
    shown: Vec<u8>,
    /// The pages of the output behind all of them.
    trail: TargetTrail,
}

fn one(
    target: &Target<'_>,
    file: &OsStr,
    formatter: &mut Formatter,
    buffers: &mut Buffers,
) -> Result<(), Failed> {
    let stdin = std::io::stdin();
    let opened;
    let source = if file == "-" {
        stdin.as_fd()
    } else {
        opened = open(file).map_err(Failed::Input)?;
        opened.as_fd()
    };
    let stat = fstat(source).map_err(|error| Failed::Input(error.text()))?;
    if feeds_on_itself((source, &stat), (target.fd, &target.stat)) {
        return Err(Failed::Input("input file is output file".to_owned()));
    }
    // A small file is read and written before its best method were found out.
    let is_small = stat.kind() == Kind::Regular && stat.size <= BUFFER_BYTES as u64;
    if is_small || !formatter.is_idle() {
        return format_all((source, &stat), target, formatter, buffers);
    }
    let pages = PipePages::Shared;
    let mut passing =
        Passing { policy: target.policy, pages, stop: &NEVER, most: None, moved: &mut |_| {} };
    match pass(source, target.fd, &mut passing) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.side {
            Side::Source => Failed::Input(error.error.to_string()),
            Side::Target => Failed::Output(error.error.to_string()),
        }),
    }
}

fn open(file: &OsStr) -> Result<OwnedFd, String> {
    // The kernel hands no argument with a NUL to a program.
    let name = CString::new(file.as_bytes()).unwrap_or_default();
    let how = OpenHow::READ.following(Follow::Yes).waiting();
    openat(CWD, &name, how).map_err(|error| error.text())
}

/// Returns the bytes of a buffer that one read of a small file does not fill: a larger one would be cleared for nothing.
fn buffer_bytes(stat: &Stat) -> usize {
    let own = usize::try_from(stat.size).unwrap_or(BUFFER_BYTES);
    // Files of the kernel have no size.
    let is_told = stat.kind() == Kind::Regular && own > 0 && own < BUFFER_BYTES;
    if is_told { (own + 1).next_multiple_of(PAGE_BYTES) } else { BUFFER_BYTES }
}

fn format_all(
    (source, stat): (BorrowedFd<'_>, &Stat),
    target: &Target<'_>,
    formatter: &mut Formatter,
    buffers: &mut Buffers,
) -> Result<(), Failed> {
    let Buffers { bytes, shown, trail } = buffers;
    let wanted = buffer_bytes(stat);
    if bytes.len() < wanted {
        bytes.resize(wanted, 0);
    }
    let mut source_trail = SourceTrail::described(source, stat, target.policy);
    loop {
        let filled = when_ready(source, Ready::ToRead, || read(source, &mut *bytes))
            .map_err(|error| Failed::Input(error.text()))?;
        if filled == 0 {
            source_trail.finish(source);
            return Ok(());
        }
        let mut written = &bytes[..filled];
        if !formatter.is_idle() {
            shown.clear();
            formatter.feed(written, shown);
            written = shown;
        }
        write_all(target.fd, written, &NEVER)
            .map_err(|error: StreamError| Failed::Output(error.to_string()))?;
        source_trail.after_read_here(source, filled as u64);
        trail
            .after_write_here(target.fd, written.len() as u64)
            .map_err(|error: CallError| Failed::Output(error.text()))?;
    }
}
