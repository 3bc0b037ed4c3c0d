//! The options of `doctor`, and `--help`.

use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Origin, long};
use crate::option::color::{COLOR, color};
use crate::option::effect::{Effect, help_row, read_optional, set, version_row};
use crate::page::Page;
use crate::value::{When, when};

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) is_json: bool,
    pub(super) color: When,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings { is_json: false, color: When::Auto }
    }
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    color(read_optional(|doctor, word| {
        doctor.color = when(COLOR, word.as_deref())?;
        Ok(())
    })),
    long(
        set(|doctor| doctor.is_json = true),
        "json",
        Nothing,
        "print one JSON object instead of text",
    ),
    help_row(),
    version_row(),
];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul doctor [OPTION]... [PATH]...\n\
         Show what the kernel, this process's limits and the file system of each PATH (the\n\
         working directory without PATH) offer, what haul uses of it, and what is missing\n\
         and why. Everything is tried, nothing is looked up: in the directory of PATH haul\n\
         makes files without a name, of up to 8 MiB, and copies one to another. Nothing\n\
         remains of them.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(
        "\nIn front of a line, '+' marks what is there, '-' what is missing, '?' what could\n\
         not be tried.\n",
    )
    .examples([
        ("haul doctor /mnt/backup", "show what haul can use in a copy to /mnt/backup"),
        ("haul doctor --json . > doctor.json", "write what a report of a defect should have"),
    ])
    .exit(
        "The exit status is 0 if every PATH was examined, whatever is missing, and 1\n\
         otherwise.",
    )
}
