//! Shell command lines in which `haul` is the program under test, and bytes for them to move.

use std::path::Path;
use std::process::{Command, Output};

use super::Outcome;
use super::run::haul;

/// Makes bytes without repetitions, so that no two places are equal.
pub(crate) fn noise(count: usize) -> Vec<u8> {
    haul_manifest::noise(0, count)
}

/// Repeats 251 different bytes, a number that is prime to every block size: bytes that compress, and that differ
/// from block to block.
pub(crate) fn cycle(count: usize) -> Vec<u8> {
    let mut bytes = (0..251).collect::<Vec<u8>>().repeat(count / 251 + 1);
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
