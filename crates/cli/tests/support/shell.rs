//! Shell command lines in which `haul` is the program under test, and bytes for them to move.

use std::path::Path;
use std::process::{Command, Output};

use super::Outcome;
use super::run::haul;

/// Makes bytes without repetitions, so that no two places are equal.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

/// Runs a shell command line in a folder; `haul` in it is the program under test.
pub(crate) fn shell(dir: &Path, line: &str) -> Outcome<Output> {
    let line = format!("haul() {{ '{}' \"$@\"; }}; set -o pipefail\n{line}", haul().display());
    Ok(Command::new("bash").args(["-c", &line]).current_dir(dir).env("LC_ALL", "C").output()?)
}

/// Runs a shell command line and asserts that each command succeeds without output.
pub(crate) fn demand(dir: &Path, line: &str) -> Outcome {
    let done = shell(dir, &format!("set -e; {line}"))?;
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && errors.is_empty(), "{line}: {}: {errors}", done.status);
    Ok(())
}
