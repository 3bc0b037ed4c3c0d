//! The command to run: like `std::process::Command`, but plain data, from which a held child can be
//! started.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use haul_sys::ptrace::SpawnPlan;

use crate::TraceError;

/// A command to trace.
///
/// Streams, environment and directory default to the caller's. `SIGPIPE` and the signal mask are
/// reset in the child, as `std::process::Command` does.
#[derive(Debug)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    environment: Option<Vec<(OsString, OsString)>>,
    directory: Option<OsString>,
    streams: [Option<OwnedFd>; 3],
}

impl Command {
    /// Returns a command without arguments; a name without a slash is searched for in `PATH`.
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        Command {
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: None,
            directory: None,
            streams: [None, None, None],
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Command {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    /// Replaces the whole environment.
    #[must_use]
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Command {
        self.environment = Some(variables.into_iter().collect());
        self
    }

    /// Starts in another directory.
    #[must_use]
    pub fn directory(mut self, directory: impl AsRef<OsStr>) -> Command {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Replaces standard input.
    #[must_use]
    pub fn stdin(mut self, stream: impl Into<OwnedFd>) -> Command {
        self.streams[0] = Some(stream.into());
        self
    }

    /// Replaces standard output.
    #[must_use]
    pub fn stdout(mut self, stream: impl Into<OwnedFd>) -> Command {
        self.streams[1] = Some(stream.into());
        self
    }

    /// Replaces standard error.
    #[must_use]
    pub fn stderr(mut self, stream: impl Into<OwnedFd>) -> Command {
        self.streams[2] = Some(stream.into());
        self
    }

    /// Returns the command as one line, for a title; quoted only where necessary.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = self.program.to_string_lossy().into_owned();
        for argument in &self.arguments {
            let text = argument.to_string_lossy();
            let plain = !text.is_empty() && !text.contains([' ', '\t', '\n', '\'', '"']);
            let quoted = if plain { text } else { format!("'{text}'").into() };
            line = line + " " + &quoted;
        }
        line
    }

    /// Returns the spawn plan for [`haul_sys`].
    pub(crate) fn plan(&self, mark: Option<u64>) -> Result<SpawnPlan, TraceError> {
        let program = c_string(&self.program)?;
        let mut arguments = vec![program.clone()];
        for argument in &self.arguments {
            arguments.push(c_string(argument)?);
        }
        let environment = match &self.environment {
            None => None,
            Some(variables) => {
                let mut strings = Vec::with_capacity(variables.len());
                for (name, value) in variables {
                    let mut variable = name.clone();
                    variable.push("=");
                    variable.push(value);
                    strings.push(c_string(&variable)?);
                }
                Some(strings)
            }
        };
        let mut streams = [None, None, None];
        for (copy, stream) in streams.iter_mut().zip(&self.streams) {
            if let Some(stream) = stream {
                *copy = Some(stream.try_clone().map_err(|_| TraceError::TooManyFiles)?);
            }
        }
        let directory = self.directory.as_deref().map(c_string).transpose()?;
        Ok(SpawnPlan { program, arguments, environment, directory, streams, mark })
    }
}

/// Converts an argument to a C string.
fn c_string(text: &OsStr) -> Result<CString, TraceError> {
    CString::new(text.as_bytes()).map_err(|_| TraceError::NulInCommand)
}
