//! `haul clean DIR`: removes the hidden files that runs which were killed have left.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use haul_engine::stale::{AGE_SECONDS, Found, Mode, Moves, clean};

use crate::ending::{print_and_end, usage_error};
use crate::escape::quote;
use crate::getopt::{Opt, Origin, Takes, Usage, Word, parse};
use crate::output::Output;

const PROGRAM: &str = "haul clean";

const HELP: &str = "Usage: haul clean [-n] [--moves] DIRECTORY...\n\
    Remove the hidden files (.haul- or .haul-mv- with a checksum at the end) that\n\
    runs which were killed have left in DIRECTORY and below it, on its file system,\n\
    and name each of them. Journals and unfinished files of 'cp --resume' are among\n\
    them; without these it begins anew. What a run is at work on, what is younger\n\
    than a minute and what belongs to others is left alone; so is what the same\n\
    'haul mv' would go on with, unless it is given up.\n\n      \
    --moves                give up interrupted moves: remove directories that\n                             \
    are copied in part, and notes that only a source's\n                             \
    removal is left; no file is only there\n  \
    -n, --dry-run              only name what would be removed\n      \
    --older-than=SECONDS   leave what is younger alone (default: 60)\n      \
    --help                 display this help and exit\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    DryRun,
    Help,
    Moves,
    OlderThan,
}

const OPTIONS: &[Opt<Id>] = &[
    Opt {
        id: Id::DryRun,
        short: "n",
        long: "dry-run",
        takes: Takes::Nothing,
        origin: Origin::Haul,
        help: "only name what would be removed",
    },
    Opt {
        id: Id::Moves,
        short: "",
        long: "moves",
        takes: Takes::Nothing,
        origin: Origin::Haul,
        help: "give up interrupted moves: remove directories that are copied in part, and notes that only a source's removal is left",
    },
    Opt {
        id: Id::OlderThan,
        short: "",
        long: "older-than",
        takes: Takes::Required("SECONDS"),
        origin: Origin::Haul,
        help: "leave what is younger alone (default: 60)",
    },
    Opt {
        id: Id::Help,
        short: "",
        long: "help",
        takes: Takes::Nothing,
        origin: Origin::Haul,
        help: "show this text and exit",
    },
];

/// Runs `clean` with the words behind its name.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let words = match parse(arguments, OPTIONS) {
        Ok(words) => words,
        Err(usage) => return usage_error(&output, &usage),
    };
    let (mut mode, mut moves) = (Mode::Remove, Moves::Keep);
    let (mut age_seconds, mut directories) = (AGE_SECONDS, Vec::new());
    for word in words {
        match word {
            Word::Operand(operand) => directories.push(operand),
            Word::Option { id: Id::DryRun, .. } => mode = Mode::Tell,
            Word::Option { id: Id::Moves, .. } => moves = Moves::GiveUp,
            Word::Option { id: Id::OlderThan, value } => {
                let word = value.unwrap_or_default();
                let seconds = word.to_str().and_then(|text| text.parse().ok());
                match seconds.filter(|seconds: &i64| *seconds >= 0) {
                    Some(seconds) => age_seconds = seconds,
                    None => {
                        let word = crate::escape::quote_word(word.as_encoded_bytes());
                        let text = format!("invalid --older-than {word}: give a number of seconds");
                        return usage_error(&output, &Usage(text));
                    }
                }
            }
            Word::Option { id: Id::Help, .. } => return print_and_end(&output, HELP),
        }
    }
    if directories.is_empty() {
        return usage_error(&output, &Usage("missing directory operand".to_owned()));
    }
    sweep(&output, &directories, (mode, moves, age_seconds))
}

fn sweep(
    output: &Output,
    directories: &[OsString],
    (mode, moves, age): (Mode, Moves, i64),
) -> ExitCode {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let latest = i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(age);
    let mut failed = false;
    for directory in directories {
        let Ok(directory) = CString::new(directory.as_bytes()) else { continue };
        clean(&directory, latest, (mode, moves), &mut |path, found| {
            let shown = quote(path);
            match (found, mode) {
                (Found::Leftover, Mode::Remove) => output.line(&format!("removed {shown}")),
                (Found::Leftover, Mode::Tell) => output.line(&format!("would remove {shown}")),
                (Found::InUse, _) => {
                    output.line(&format!("left {shown}: in use, or younger than {age} seconds"));
                }
                (Found::Foreign, _) => {
                    output.line(&format!("left {shown}: somebody else's, or a directory"));
                }
                (Found::Unfinished, _) => output.line(&format!(
                    "left {shown}: the same mv goes on with it; its source is whole (--moves gives it up)"
                )),
                (Found::Unremoved(Some(source)), _) => output.line(&format!(
                    "left {shown}: {} is moved, and the same mv removes what is left of it",
                    quote(&source)
                )),
                (Found::Unremoved(None), _) => output.line(&format!(
                    "left {shown}: what is left of its source cannot be looked for now (--moves gives it up)"
                )),
                (Found::Failed(error), _) => {
                    failed = true;
                    output.error(&format!("cannot clean {shown}: {}", error.text()));
                }
            }
        });
    }
    let told = output.finish();
    if failed || !told { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
