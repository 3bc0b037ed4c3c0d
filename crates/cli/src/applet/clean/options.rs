//! The options of `clean`, and `--help`.

use std::ffi::OsStr;

use haul_engine::stale::{AGE_SECONDS, Mode, Moves};

use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, Usage, long, opt};
use crate::option::effect::{Effect, help_row, read, set};
use crate::page::{Argument, Page};

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) mode: Mode,
    pub(super) moves: Moves,
    /// What is younger stays.
    pub(super) age_seconds: i64,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings { mode: Mode::Remove, moves: Moves::Keep, age_seconds: AGE_SECONDS }
    }
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|clean| clean.mode = Mode::Tell),
        ("n", "dry-run"),
        Nothing,
        "only print what would be removed",
    ),
    long(
        set(|clean| clean.moves = Moves::GiveUp),
        "moves",
        Nothing,
        "abandon interrupted moves: remove partly copied\ndirectories, and the notes of moves that only have\nto remove the source; the source keeps every file",
    ),
    long(
        read(|clean, word| {
            clean.age_seconds = age_seconds(&word)?;
            Ok(())
        }),
        "older-than",
        Required("SECONDS"),
        "keep files younger than this (default: 60)",
    ),
    help_row(),
];

fn age_seconds(word: &OsStr) -> Result<i64, Usage> {
    let seconds = word.to_str().and_then(|text| text.parse().ok());
    seconds.filter(|seconds: &i64| *seconds >= 0).ok_or_else(|| {
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("invalid --older-than {word}: give a number of seconds"))
    })
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul clean [OPTION]... DIRECTORY...\n\
         Remove the hidden files (.haul- or .haul-mv- with a checksum at the end) that\n\
         killed runs left in DIRECTORY and below it, on its file system, and print their\n\
         names. They include journals (also of complete copies) and unfinished files of\n\
         'cp --resume', which then starts from the beginning. Files that another run uses,\n\
         files younger than a minute and, unless root cleans, files of other users stay;\n\
         so do files that 'haul mv' needs to resume an interrupted move, unless --moves\n\
         is given. A source that a killed run was about to remove gets its name back.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .examples([("haul clean --dry-run /mnt/backup", "show what killed runs have left")])
    .exit("The exit status is 0 unless a file or directory could not be read or removed.")
    .operand(Argument::Directories)
}
