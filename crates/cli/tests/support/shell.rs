//! Lines of shell in which `haul` is the program under test, and bytes for them to move.

use std::path::Path;
use std::process::{Command, Output};

use super::Outcome;
use super::run::haul;

/// Bytes that look like no others, and of which no two places are alike.
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

/// Runs a line of shell in a folder, in which `haul` is the program under test.
pub(crate) fn shell(dir: &Path, line: &str) -> Outcome<Output> {
    let line = format!("haul() {{ '{}' \"$@\"; }}; set -o pipefail\n{line}", haul().display());
    Ok(Command::new("bash").args(["-c", &line]).current_dir(dir).env("LC_ALL", "C").output()?)
}

/// Runs a line of shell, of which each command has to succeed without a word.
pub(crate) fn demand(dir: &Path, line: &str) -> Outcome {
    let done = shell(dir, &format!("set -e; {line}"))?;
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && errors.is_empty(), "{line}: {}: {errors}", done.status);
    Ok(())
}
