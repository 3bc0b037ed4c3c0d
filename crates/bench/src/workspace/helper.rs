//! Runs the programs that make and mount file systems.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// Runs a program and returns its output. It has a process group of its own, so that a Ctrl-C that
/// stops the benchmark does not stop the cleanup.
pub(super) fn helper<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Result<String> {
    let shown = || {
        let words = arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned());
        std::iter::once(program.to_owned()).chain(words).collect::<Vec<_>>().join(" ")
    };
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .process_group(0)
        .output()
        .map_err(|error| Error::Helper { command: shown(), message: error.to_string() })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let message = if said.is_empty() { output.status.to_string() } else { said };
    Err(Error::Helper { command: shown(), message })
}
