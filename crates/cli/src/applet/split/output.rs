//! Where split's pieces go: files that are made or emptied, or commands that read them.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use haul_io::DataPolicy;
use haul_io::fully::write_whole;
use haul_io::split::{Names, Pieces, Taken};
use haul_io::trail::TargetTrail;
use haul_sys::data::ftruncate;
use haul_sys::fs::{Kind, Stat, fstat};
use haul_sys::{CallError, Errno};

use crate::ending::CommandError;
use crate::escape::{quote, quote_if_needed};
use crate::file_error::describe;
use crate::getopt::Usage;
use crate::output::Output;
use crate::signal_name::signal_name;

/// Why the run ends: the message, and the exit code.
#[derive(Debug)]
pub(super) struct Fatal {
    pub(super) text: String,
    pub(super) code: u8,
    /// Whether it is told how to get help.
    pub(super) usage: bool,
}

impl Fatal {
    pub(super) fn new(text: String) -> Fatal {
        Fatal { text, code: 1, usage: false }
    }

    pub(super) fn usage(text: String) -> Fatal {
        Fatal { text, code: 1, usage: true }
    }

    /// What is wrong with a file that is named first.
    pub(super) fn of(name: &[u8], why: &str) -> Fatal {
        Fatal::new(format!("{}: {why}", quote_if_needed(name)))
    }
}

impl From<Fatal> for CommandError {
    fn from(fatal: Fatal) -> CommandError {
        match fatal.usage {
            true => CommandError::Usage(Usage(fatal.text)),
            false => CommandError::Plain(fatal.text),
        }
    }
}

/// How pieces are made.
pub(super) struct Maker<'a> {
    pub(super) output: &'a Output,
    pub(super) names: Names,
    pub(super) filter: Option<&'a OsStr>,
    pub(super) verbose: bool,
    /// The input, which no piece may be.
    pub(super) input: Stat,
    /// Device and inode of the existing files that have become pieces.
    pub(super) emptied: HashSet<(u64, u64)>,
    /// What becomes of the pages of files.
    pub(super) policy: &'a DataPolicy,
}

/// A piece that is open.
pub(super) struct Piece {
    pub(super) name: Vec<u8>,
    to: To,
}

enum To {
    File(File, TargetTrail),
    Filter(Child),
}

impl Maker<'_> {
    pub(super) fn next_name(&mut self) -> Result<Vec<u8>, Fatal> {
        self.names.next().ok_or_else(|| Fatal::new("output file suffixes exhausted".to_owned()))
    }

    /// Makes the next piece.
    pub(super) fn next(&mut self) -> Result<Piece, Fatal> {
        let name = self.next_name()?;
        self.open(name).map_err(OutputError::fatal)
    }

    /// Makes the next piece, which is a file.
    pub(super) fn next_file(&mut self) -> Result<NamedFile, Fatal> {
        let name = self.next_name()?;
        let file = self.create(&name).map_err(OutputError::fatal)?;
        Ok(NamedFile { name, file })
    }

    /// Opens a piece of this name.
    pub(super) fn open(&mut self, name: Vec<u8>) -> Result<Piece, OutputError> {
        match self.filter {
            Some(command) => {
                let child = self.start(&name, command).map_err(OutputError::Fatal)?;
                Ok(Piece { name, to: To::Filter(child) })
            }
            None => self.create(&name).map(|file| Piece::of_file(name, file, self.policy)),
        }
    }

    /// Makes a file, or empties it unless it is the input.
    fn create(&mut self, name: &[u8]) -> Result<File, OutputError> {
        if self.verbose {
            self.output.line(&format!("creating file {}", quote(name)));
        }
        let path = Path::new(OsStr::from_bytes(name));
        let failed = |error: std::io::Error| OutputError::Open(name.to_vec(), error);
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            answer => return answer.map_err(failed),
        }
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let stat = fstat(&file).map_err(|error| {
            OutputError::Fatal(Fatal::new(format!(
                "failed to stat {}: {}",
                quote(name),
                error.text()
            )))
        })?;
        if stat.same_file(&self.input) {
            let text = format!("{} would overwrite input; aborting", quote(name));
            return Err(OutputError::Fatal(Fatal::new(text)));
        }
        if stat.kind() == Kind::Regular && !self.emptied.insert((stat.dev, stat.ino)) {
            let why = "another name of an earlier piece; aborting";
            return Err(OutputError::Fatal(Fatal::of(name, why)));
        }
        match ftruncate(&file, 0) {
            Err(error) if stat.kind() == Kind::Regular => {
                let why = format!("error truncating: {}", error.text());
                Err(OutputError::Fatal(Fatal::of(name, &why)))
            }
            _ => Ok(file),
        }
    }

    fn start(&mut self, name: &[u8], command: &OsStr) -> Result<Child, Fatal> {
        if self.verbose {
            self.output.line(&format!("executing with FILE={}", quote_if_needed(name)));
        }
        // Earlier lines come before the output of the command.
        self.output.flush();
        let shell = std::env::var_os("SHELL").unwrap_or_else(|| OsString::from("/bin/sh"));
        let base = Path::new(&shell).file_name().unwrap_or(&shell);
        Command::new(&shell)
            .arg0(base)
            .arg("-c")
            .arg(command)
            .env("FILE", OsString::from_vec(name.to_vec()))
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Fatal::new(format!(
                    "failed to run command: \"{} -c {}\": {}",
                    shell.to_string_lossy(),
                    command.to_string_lossy(),
                    describe(&error)
                ))
            })
    }
}

/// Why a piece is not open.
pub(super) enum OutputError {
    Open(Vec<u8>, std::io::Error),
    Fatal(Fatal),
}

impl OutputError {
    pub(super) fn fatal(self) -> Fatal {
        match self {
            OutputError::Open(name, error) => Fatal::of(&name, &describe(&error)),
            OutputError::Fatal(fatal) => fatal,
        }
    }
}

impl Piece {
    /// A file that was open before.
    pub(super) fn of_file(name: Vec<u8>, file: File, policy: &DataPolicy) -> Piece {
        let trail = TargetTrail::new(file.as_fd(), policy);
        Piece { name, to: To::File(file, trail) }
    }

    /// Returns device and inode of a file.
    pub(super) fn identity(&self) -> Option<(u64, u64)> {
        match &self.to {
            To::File(file, _) => fstat(file).ok().map(|stat| (stat.dev, stat.ino)),
            To::Filter(_) => None,
        }
    }

    /// Writes to it. A command that reads no more is no error.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<Taken, Fatal> {
        let written = match &mut self.to {
            To::File(file, trail) => write_whole(&*file, bytes)
                .and_then(|()| trail.after_write_here(file.as_fd(), bytes.len() as u64)),
            To::Filter(Child { stdin: Some(stdin), .. }) => write_whole(&*stdin, bytes),
            To::Filter(_) => return Ok(Taken::Refused),
        };
        self.judge(written.err())
    }

    pub(super) fn judge(&self, error: Option<CallError>) -> Result<Taken, Fatal> {
        match (error, &self.to) {
            (None, _) => Ok(Taken::All),
            (Some(error), To::Filter(_)) if error.errno == Errno::PIPE => Ok(Taken::Refused),
            (Some(error), _) => Err(Fatal::of(&self.name, &error.text())),
        }
    }

    /// Closes it, and waits for the command.
    pub(super) fn close(self, filter: Option<&OsStr>) -> Result<(), Fatal> {
        let mut child = match self.to {
            To::File(file, mut trail) => {
                return trail
                    .finish(file.as_fd())
                    .and_then(|()| haul_sys::fs::close(OwnedFd::from(file)))
                    .map_err(|error| Fatal::of(&self.name, &error.text()));
            }
            To::Filter(child) => child,
        };
        drop(child.stdin.take());
        let status = child.wait().map_err(|error| {
            Fatal::new(format!("waiting for child process: {}", describe(&error)))
        })?;
        let shown = quote_if_needed(&self.name);
        let command = filter.unwrap_or_default().to_string_lossy();
        match (status.signal(), status.code()) {
            (Some(PIPE_SIGNAL), _) | (_, Some(0)) => Ok(()),
            (Some(signal), _) => Err(Fatal {
                text: format!(
                    "with FILE={shown}, signal {} from command: {command}",
                    signal_name(signal)
                ),
                code: u8::try_from(signal + 128).unwrap_or(u8::MAX),
                usage: false,
            }),
            (None, code) => {
                let code = code.unwrap_or(1);
                Err(Fatal {
                    text: format!("with FILE={shown}, exit {code} from command: {command}"),
                    code: u8::try_from(code).unwrap_or(u8::MAX),
                    usage: false,
                })
            }
        }
    }
}

/// A piece that is a file, for those who move bytes by descriptor.
pub(super) struct NamedFile {
    pub(super) name: Vec<u8>,
    file: File,
}

impl NamedFile {
    pub(super) fn close(self) -> Result<(), Fatal> {
        haul_sys::fs::close(OwnedFd::from(self.file))
            .map_err(|error| Fatal::of(&self.name, &error.text()))
    }
}

impl AsFd for NamedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// The error for a pipe without a reader.
const PIPE_SIGNAL: i32 = 13;

/// Pieces one after the other, of which one is open.
pub(super) struct InOrder<'m, 'a> {
    pub(super) maker: &'m mut Maker<'a>,
    open: Option<Piece>,
}

impl<'m, 'a> InOrder<'m, 'a> {
    pub(super) fn new(maker: &'m mut Maker<'a>) -> InOrder<'m, 'a> {
        InOrder { maker, open: None }
    }

    /// Ends the last piece.
    pub(super) fn end(&mut self) -> Result<(), Fatal> {
        match self.open.take() {
            Some(piece) => piece.close(self.maker.filter),
            None => Ok(()),
        }
    }
}

impl Pieces for InOrder<'_, '_> {
    type Error = Fatal;

    fn begin(&mut self) -> Result<(), Fatal> {
        self.end()?;
        self.open = Some(self.maker.next()?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<Taken, Fatal> {
        self.open.as_mut().map_or(Ok(Taken::Refused), |piece| piece.write(bytes))
    }
}
