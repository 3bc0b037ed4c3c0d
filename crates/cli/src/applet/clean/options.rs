//! The options of `clean`, and `--help`.

use crate::getopt::{Opt, Origin, Takes};
use crate::page::Page;

/// An option of `clean`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    DryRun,
    Help,
    Moves,
    OlderThan,
}

pub(super) const OPTIONS: &[Opt<Id>] = &[
    Opt {
        id: Id::DryRun,
        short: "n",
        long: "dry-run",
        takes: Takes::Nothing,
        origin: Origin::Haul,
        help: "only print what would be removed",
    },
    Opt {
        id: Id::Moves,
        short: "",
        long: "moves",
        takes: Takes::Nothing,
        origin: Origin::Haul,
        help: "abandon interrupted moves: remove partly copied\ndirectories, and the notes of moves that only have\nto remove the source; the source keeps every file",
    },
    Opt {
        id: Id::OlderThan,
        short: "",
        long: "older-than",
        takes: Takes::Required("SECONDS"),
        origin: Origin::Haul,
        help: "keep files younger than this (default: 60)",
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

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul clean [OPTION]... DIRECTORY...\n\
         Remove the hidden files (.haul- or .haul-mv- with a checksum at the end) that\n\
         killed runs left in DIRECTORY and below it, on its file system, and print their\n\
         names. They include journals and unfinished files of 'cp --resume', which then\n\
         starts from the beginning. Files that another run uses, files younger than a\n\
         minute and files of other users stay; so do files that 'haul mv' needs to resume\n\
         an interrupted move, unless --moves is given.\n\n",
    )
    .options(OPTIONS, Origin::Haul)
    .exit("The exit status is 0 unless a file or directory could not be read or removed.")
}
