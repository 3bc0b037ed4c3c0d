//! Errors that end a benchmark, as data, so that the caller formats the message.
//!
//! A tool that fails is a *result* and not an error.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use haul_manifest::Failure;
use haul_sys::CallError;

/// An error that ends a benchmark.
#[derive(Debug)]
pub enum Error {
    /// The session was interrupted.
    Interrupted,
    /// The directory has entries that no run created.
    ForeignFolder {
        /// The directory.
        path: PathBuf,
        /// The sorted names of its entries.
        found: Vec<String>,
    },
    /// A path refers to another file than before: another process replaced it.
    Exchanged(PathBuf),
    /// Another running benchmark uses the directory.
    BusyFolder {
        /// The directory.
        path: PathBuf,
        /// The process that uses it.
        pid: u32,
    },
    /// There is not enough space.
    NoSpace {
        /// Where.
        path: PathBuf,
        /// How many bytes are needed.
        needed_bytes: u64,
        /// Their total number.
        available_bytes: u64,
    },
    /// The request is not supported.
    Unfit(&'static str),
    /// An operation on a file failed.
    File {
        /// The action; follows "cannot".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A kernel call failed.
    Call {
        /// The action; follows "cannot".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The call and its errno.
        error: CallError,
    },
    /// The corpus could not be created or removed.
    Corpus {
        /// Its root.
        path: PathBuf,
        /// The failure.
        failure: Failure,
    },
    /// A helper such as `mount` failed.
    Helper {
        /// The command.
        command: String,
        /// Its message.
        message: String,
    },
}

/// The result of a step of a benchmark.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Adds action and path to an I/O error.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |error| Error::File { action, path, error }
    }

    /// Adds action and path to a failed kernel call.
    pub(crate) fn call(action: &'static str, path: &Path) -> impl FnOnce(CallError) -> Error {
        let path = path.to_owned();
        move |error| Error::Call { action, path, error }
    }

    /// Adds the path to a failure of the corpus.
    pub(crate) fn corpus(path: &Path) -> impl FnOnce(Failure) -> Error {
        let path = path.to_owned();
        move |failure| Error::Corpus { path, failure }
    }

    /// Returns a hint on what to try, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::ForeignFolder { .. } => {
                Some("name an empty folder or a new one, or move away what is in it")
            }
            Error::Exchanged(_) => Some("name a folder in which no other user may rename files"),
            Error::BusyFolder { .. } => Some("wait for it to end, or name another folder"),
            Error::NoSpace { .. } => {
                Some("choose smaller scenarios (nested-small:files=1000), or another place")
            }
            Error::Helper { .. } => {
                Some("fresh file systems need root and loop devices; without them name a folder")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Interrupted => f.write_str("interrupted"),
            Error::ForeignFolder { path, found } => {
                write!(f, "{path:?} is not empty: {} was not made by haul bench", few(found))
            }
            Error::Exchanged(path) => {
                write!(f, "{path:?} was replaced by another process, and is left unchanged")
            }
            Error::BusyFolder { path, pid } => {
                write!(f, "{path:?} is in use by another benchmark (process {pid})")
            }
            Error::NoSpace { path, needed_bytes, available_bytes } => {
                let (needed, available) = (needed_bytes >> 20, available_bytes >> 20);
                write!(f, "{path:?} has {available} MiB of free space, {needed} MiB are needed")
            }
            Error::Unfit(reason) => f.write_str(reason),
            Error::File { action, path, error } => {
                write!(f, "cannot {action} {path:?}: {error}")
            }
            Error::Call { action, path, error } => write!(f, "cannot {action} {path:?}: {error}"),
            Error::Corpus { path, failure } => write!(f, "in {path:?}: {failure}"),
            Error::Helper { command, message } => write!(f, "{command}: {message}"),
        }
    }
}

/// Formats the first of some names, and the number of the others.
fn few(names: &[String]) -> String {
    match names {
        [] => "something".to_owned(),
        [name] => format!("{name:?}"),
        [name, rest @ ..] => format!("{name:?} (and {} more)", rest.len()),
    }
}

impl std::error::Error for Error {}
