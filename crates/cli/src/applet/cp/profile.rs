//! The settings of a profile for one run of `cp`: methods, jobs, messages.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use haul_engine::request::{Policy, Recursion};

use crate::profile::{Wanted, find};

/// The result of looking for a profile.
#[derive(Debug, Default)]
pub(super) struct Advice {
    /// The number of workers, if another than usual is better.
    pub(super) jobs: Option<usize>,
    /// Why the profile cannot be used.
    pub(super) warning: Option<String>,
    /// The line about the profile, for `--debug` and `--explain`.
    pub(super) line: Option<String>,
}

/// The profile of the two file systems, as a value of `--profile`.
pub(super) const AUTO: &str = "auto";

/// No profile.
pub(super) const NONE: &str = "none";

/// Reads the value of `--profile`: a word, or the path of a file.
pub(super) fn wanted(value: Option<&OsStr>) -> Wanted {
    let value = value.unwrap_or_default();
    match value.to_str() {
        Some(AUTO) => Wanted::Auto,
        Some(NONE) => Wanted::None,
        _ => Wanted::File(value.into()),
    }
}

/// Looks for the profile of a run between its first source and its target, and puts what it
/// prefers into the policy.
pub(super) fn advise(
    wanted: &Wanted,
    policy: &mut Policy,
    operands: &[OsString],
    into: Option<&OsString>,
) -> Advice {
    let mut advice = Advice::default();
    let (Some(source), Some(target)) = (operands.first(), into.or(operands.last())) else {
        return advice;
    };
    let (source, target) = (Path::new(source), Path::new(target));
    match find(wanted, source, target) {
        Ok(None) => {}
        Ok(Some(profile)) => {
            // A tree's files are mostly small, and what they want is what many of them want.
            let file_bytes = match policy.recursion {
                Recursion::Yes => 0,
                Recursion::No => std::fs::metadata(source).map_or(0, |found| found.len()),
            };
            advice.jobs = profile.jobs(file_bytes);
            advice.line = Some(profile.line());
            policy.data.preferences = profile.preferences().to_vec();
        }
        Err(why) => {
            advice.warning = Some(format!("warning: {why}; copying as without a profile"));
        }
    }
    advice
}
