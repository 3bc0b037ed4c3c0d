//! `haul clean DIR`: removes the hidden files that runs which were killed have left.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use haul_engine::stale::{Found, Mode, clean};

use super::options::{OPTIONS, Settings, help};
use crate::ending::{print_and_end, refused, usage_error};
use crate::escape::quote;
use crate::getopt::{Usage, parse};
use crate::option::effect::{Asked, read_words};
use crate::output::Output;

const PROGRAM: &str = "haul clean";

/// Runs `clean` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let mut settings = Settings::new();
    match read_words(parse(arguments, OPTIONS), &mut settings, PROGRAM, help) {
        Ok(Asked::Print(text)) => print_and_end(&output, &text),
        Ok(Asked::Work(directories)) if directories.is_empty() => {
            usage_error(&output, &Usage("missing directory operand".to_owned()))
        }
        Ok(Asked::Work(directories)) => sweep(&output, &directories, &settings),
        Err(error) => refused(&output, &error),
    }
}

fn sweep(output: &Output, directories: &[OsString], settings: &Settings) -> ExitCode {
    let Settings { mode, moves, age_seconds } = *settings;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let latest = i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(age_seconds);
    let mut failed = false;
    for directory in directories {
        let Ok(directory) = CString::new(directory.as_bytes()) else { continue };
        clean(&directory, latest, mode, moves, &mut |path, found| {
            let shown = quote(path);
            match (found, mode) {
                (Found::Stale, Mode::Remove) => output.line(&format!("removed {shown}")),
                (Found::Stale, Mode::Tell) => output.line(&format!("would remove {shown}")),
                (Found::InUse, _) => {
                    output.line(&format!("left {shown}: a running command uses it"));
                }
                (Found::Young, _) => output.line(&format!(
                    "left {shown}: younger than {age_seconds} seconds; --older-than=0 removes it, if no command \
                     runs that may have made it"
                )),
                (Found::Foreign, _) => output.line(&format!(
                    "left {shown}: it belongs to another user, who can remove it, as can root"
                )),
                (Found::Directory, _) => output.line(&format!(
                    "left {shown}: a directory, which no command of haul makes under such a name; see what is in \
                     it before 'rm -r' removes it"
                )),
                (Found::Unfinished, _) => output.line(&format!(
                    "left {shown}: run the same mv again to resume; the source is complete (--moves abandons the move)"
                )),
                (Found::Unremoved(Some(source)), _) => output.line(&format!(
                    "left {shown}: {} is moved; run the same mv again to remove the rest of it",
                    quote(&source)
                )),
                (Found::Unremoved(None), _) => output.line(&format!(
                    "left {shown}: cannot find the rest of its source now (--moves abandons the move)"
                )),
                (Found::SetAside(own), Mode::Remove) => output.line(&format!(
                    "renamed {shown} to {}: a run was about to remove it when it was killed",
                    quote(&own)
                )),
                (Found::SetAside(own), Mode::Tell) => output.line(&format!(
                    "would rename {shown} to {}: a run was about to remove it when it was killed",
                    quote(&own)
                )),
                (Found::Failed(error), _) => {
                    failed = true;
                    output.error(&format!("cannot clean {shown}: {}", error.text()));
                }
            }
        });
    }
    let written = output.finish();
    if failed || !written { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
