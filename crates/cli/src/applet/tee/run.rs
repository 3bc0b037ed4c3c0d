//! `haul tee`: GNU tee's command line, with one reader and as many writers as there is work for.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use haul_io::DataPolicy;
use haul_io::tee::{Failed, Tee, Then};
use haul_start::Standard;
use haul_sys::fs::{Kind, fstat};
use haul_sys::process::{Ignorable, ignore};
use haul_sys::{Errno, errno_text};

use super::options::{OPTIONS, OnError, Settings, help};
use crate::ending::{print_and_end, refused};
use crate::escape::quote_if_needed;
use crate::file_error::describe;
use crate::getopt::parse;
use crate::option::effect::{Asked, read_words};
use crate::output::Output;
use crate::standard::{demand, leads_to};

const PROGRAM: &str = "tee";

impl OnError {
    fn ends(self) -> bool {
        matches!(self, OnError::Exit | OnError::ExitNoPipe)
    }
}

/// Runs `tee` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut settings = Settings::default();
    match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => print_and_end(&output, &text),
        Ok(Asked::Work(names)) => tee(&output, &settings, &names),
        Err(error) => refused(&output, &error),
    }
}

/// What is known of the run apart from the bytes.
struct Run<'a> {
    output: &'a Output,
    on_error: Option<OnError>,
    ok: bool,
}

impl Run<'_> {
    fn complain(&mut self, name: &[u8], reason: &str) {
        self.output.error(&format!("{}: {reason}", quote_if_needed(name)));
        self.ok = false;
    }

    /// Judges an output that failed, as GNU does: a pipe without a reader is no error unless it was
    /// asked for as one.
    fn judge(&mut self, name: &[u8], errno: Errno) -> Then {
        let counts =
            errno != Errno::PIPE || matches!(self.on_error, Some(OnError::Warn | OnError::Exit));
        if !counts {
            return Then::GoOn;
        }
        self.complain(name, &errno_text(errno));
        self.then()
    }

    fn then(&self) -> Then {
        if self.on_error.is_some_and(OnError::ends) { Then::Stop } else { Then::GoOn }
    }
}

fn tee(output: &Output, settings: &Settings, names: &[OsString]) -> ExitCode {
    if settings.ignores_interrupts {
        ignore(Ignorable::Interrupt);
    }
    if settings.on_error.is_some() {
        ignore(Ignorable::BrokenPipe);
    }
    let mut run = Run { output, on_error: settings.on_error, ok: true };
    // Before a file is emptied for what cannot come.
    if let Err(error) = demand(Standard::Input) {
        output.error(&format!("read error: {}", error.text()));
        return ExitCode::FAILURE;
    }
    let Some(files) = open(&mut run, settings, names) else { return ExitCode::FAILURE };
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    let mut names: Vec<&[u8]> = vec![b"standard output"];
    names.extend(files.iter().map(|(name, _)| name.as_bytes()));
    let mut outputs = vec![stdout.as_fd()];
    outputs.extend(files.iter().map(|(_, file)| file.as_fd()));
    let nopipe = matches!(settings.on_error, Some(OnError::WarnNoPipe | OnError::ExitNoPipe));
    let always_ready =
        fstat(&stdin).is_ok_and(|stat| matches!(stat.kind(), Kind::Regular | Kind::BlockDevice));
    let tee = Tee {
        input: stdin.as_fd(),
        outputs,
        watches_readers: nopipe && !always_ready,
        policy: DataPolicy { cache: settings.cache, ..DataPolicy::of_run() },
    };
    let mut failed = vec![false; names.len()];
    let ended = tee.copy(&mut |Failed { output, errno }| {
        if let Some(failed) = failed.get_mut(output) {
            *failed = true;
        }
        run.judge(names.get(output).copied().unwrap_or_default(), errno)
    });
    drop(tee);
    if let Err(error) = ended {
        run.output.error(&format!("read error: {}", error.text()));
        run.ok = false;
    }
    // Written without a buffer, so only closing can still report an error.
    let failed = failed.into_iter().skip(1);
    for ((name, file), _) in files.into_iter().zip(failed).filter(|(_, failed)| !failed) {
        if let Err(error) = haul_sys::fs::close(OwnedFd::from(file)) {
            run.complain(name.as_bytes(), &error.text());
        }
    }
    if run.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Opens the files that can be opened; `None` if a failure ends the run.
fn open<'n>(
    run: &mut Run<'_>,
    settings: &Settings,
    names: &'n [OsString],
) -> Option<Vec<(&'n OsStr, File)>> {
    let mut how = OpenOptions::new();
    how.create(true);
    if settings.appends {
        how.append(true)
    } else {
        how.write(true).truncate(true)
    };
    // An output that is the input would be emptied before a byte of it is read.
    let input = fstat(std::io::stdin())
        .ok()
        .filter(|input| input.kind() == Kind::Regular && input.size > 0 && !settings.appends);
    let mut files = Vec::new();
    for name in names {
        let why = if input.is_some_and(|input| leads_to(name, &input)) {
            "input file is output file".to_owned()
        } else {
            match how.open(name) {
                Ok(file) => {
                    files.push((name.as_os_str(), file));
                    continue;
                }
                Err(error) => describe(&error),
            }
        };
        run.complain(name.as_bytes(), &why);
        if run.then() == Then::Stop {
            return None;
        }
    }
    Some(files)
}
