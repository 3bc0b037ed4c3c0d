//! The options of `clean`, and `--help`.

use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, long, opt};
use crate::page::{Argument, Page};

/// An option of `clean`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    DryRun,
    Help,
    Moves,
    OlderThan,
}

pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::DryRun, ("n", "dry-run"), Nothing, "only print what would be removed"),
    long(
        Id::Moves,
        "moves",
        Nothing,
        "abandon interrupted moves: remove partly copied\ndirectories, and the notes of moves that only have\nto remove the source; the source keeps every file",
    ),
    long(
        Id::OlderThan,
        "older-than",
        Required("SECONDS"),
        "keep files younger than this (default: 60)",
    ),
    long(Id::Help, "help", Nothing, "show this text and exit"),
];

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
