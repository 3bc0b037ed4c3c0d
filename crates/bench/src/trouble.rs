//! Why a benchmark cannot go on: data, not text, so that the caller decides how to say it.
//!
//! A tool that fails is a *result* and is not found here.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use haul_manifest::Failure;
use haul_sys::CallError;

/// What stopped a benchmark.
#[derive(Debug)]
pub enum Trouble {
    /// Somebody asked to stop.
    Interrupted,
    /// The folder has something in it that is not ours.
    ForeignFolder {
        /// The folder.
        path: PathBuf,
        /// The names of what is in it, in order.
        found: Vec<String>,
    },
    /// A path means something else than a moment ago: somebody else exchanged it.
    Exchanged(PathBuf),
    /// Another benchmark, which still runs, has the folder.
    BusyFolder {
        /// The folder.
        path: PathBuf,
        /// The process that has it.
        pid: u32,
    },
    /// There is not enough room.
    NoSpace {
        /// Where.
        path: PathBuf,
        /// How many bytes are needed.
        needed_bytes: u64,
        /// How many there are.
        available_bytes: u64,
    },
    /// What was asked for cannot be done.
    Unfit(&'static str),
    /// Something could not be done with a file.
    File {
        /// What was being done; follows "cannot".
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A kernel call failed.
    Call {
        /// What was being done; follows "cannot".
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The call and its errno.
        error: CallError,
    },
    /// The corpus could not be made or taken away.
    Corpus {
        /// Its root.
        path: PathBuf,
        /// What failed.
        failure: Failure,
    },
    /// A helper such as `mount` failed.
    Helper {
        /// The command.
        command: String,
        /// What it said.
        message: String,
    },
}

/// The result of a step of a benchmark.
pub type Result<T> = std::result::Result<T, Trouble>;

impl Trouble {
    /// Adds action and path to an I/O error.
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Trouble {
        let path = path.to_owned();
        move |error| Trouble::File { action, path, error }
    }

    /// Adds action and path to a failed kernel call.
    pub(crate) fn call(action: &'static str, path: &Path) -> impl FnOnce(CallError) -> Trouble {
        let path = path.to_owned();
        move |error| Trouble::Call { action, path, error }
    }

    /// Adds the path to a failure of the corpus.
    pub(crate) fn corpus(path: &Path) -> impl FnOnce(Failure) -> Trouble {
        let path = path.to_owned();
        move |failure| Trouble::Corpus { path, failure }
    }

    /// Says what to try, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Trouble::ForeignFolder { .. } => Some(
                "name an empty folder or one that is not there yet, or move away what is in it",
            ),
            Trouble::Exchanged(_) => Some("name a folder in which nobody else may rename things"),
            Trouble::BusyFolder { .. } => Some("wait for it to end, or name another folder"),
            Trouble::NoSpace { .. } => {
                Some("choose smaller scenarios (nested-small:files=1000), or another place")
            }
            Trouble::Helper { .. } => {
                Some("fresh file systems need root and loop devices; without them name a folder")
            }
            _ => None,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Interrupted => f.write_str("interrupted"),
            Trouble::ForeignFolder { path, found } => {
                write!(f, "{path:?} is not empty: {} was not made by haul bench", few(found))
            }
            Trouble::Exchanged(path) => {
                write!(f, "{path:?} was exchanged by somebody else, and is left alone")
            }
            Trouble::BusyFolder { path, pid } => {
                write!(f, "{path:?} is in use by another benchmark (process {pid})")
            }
            Trouble::NoSpace { path, needed_bytes, available_bytes } => {
                let (needed, available) = (needed_bytes >> 20, available_bytes >> 20);
                write!(f, "{path:?} has {available} MiB of room, {needed} MiB are needed")
            }
            Trouble::Unfit(reason) => f.write_str(reason),
            Trouble::File { action, path, error } => {
                write!(f, "cannot {action} {path:?}: {error}")
            }
            Trouble::Call { action, path, error } => write!(f, "cannot {action} {path:?}: {error}"),
            Trouble::Corpus { path, failure } => write!(f, "in {path:?}: {failure}"),
            Trouble::Helper { command, message } => write!(f, "{command}: {message}"),
        }
    }
}

/// Shows the first of some names, and how many more there are.
fn few(names: &[String]) -> String {
    match names {
        [] => "something".to_owned(),
        [name] => format!("{name:?}"),
        [name, rest @ ..] => format!("{name:?} (and {} more)", rest.len()),
    }
}

impl std::error::Error for Trouble {}
