//! The options of `tune`, and `--help`.

use crate::applet::bench::scenarios;
use crate::getopt::{Opt, Origin, Takes, Values, long};
use crate::page::{Argument, Page};

/// An option of `tune`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    FileSystems,
    Minutes,
    Print,
    Rounds,
    Scenario,
    Seed,
    Help,
    Version,
}

pub(super) const OPTIONS: &[Opt<Id>] = &[
    long(
        Id::FileSystems,
        "fs",
        Takes::Required("NAME"),
        "tune for this fresh file system, or pair of source\nand target such as xfs:ext4, held as images in\nPATH (as root)",
    ),
    long(Id::Rounds, "rounds", Takes::Required("N"), "count N rounds, 5 at least (default: 7)"),
    long(
        Id::Minutes,
        "minutes",
        Takes::Required("N"),
        "end after this time, with what was measured until\nthen",
    ),
    long(Id::Print, "print", Takes::Nothing, "print the profile, and write nothing"),
    long(
        Id::Scenario,
        "scenario",
        Takes::Required("SCENARIO"),
        "copy this instead of the four below: a name of\n'haul bench --list' with changes after a colon; may\nbe repeated",
    ).with(Values::Words(scenarios)),
    long(Id::Seed, "seed", Takes::Required("N"), "seed of contents and order (default: 1)"),
    long(Id::Help, "help", Takes::Nothing, "show this text and exit"),
    long(Id::Version, "version", Takes::Nothing, "show the version and exit"),
];

const NOTES: &str = "
PATH is a folder on the file system to measure (default: the current one). haul makes a scratch
folder there, and for root fresh file systems of the same type in it; it removes them at the end.

haul is compared with itself: with each copy method that uses the page cache, and with several
numbers of jobs, for files of 1 KiB, 1 MiB, 32 MiB and 256 MiB, or for the scenarios of --scenario,
as in --scenario=huge:size=8G. The profile names a method or a number of jobs only where the
measurement shows that it saves a twentieth of the time. It is a text file that can be edited, in
haul/profiles below $XDG_CONFIG_HOME (or ~/.config). Its name says what it is for: two file systems
on their devices (ext4@sda--ext4@sda.toml, with what the disk says about itself if it does), or, if
you rename it so, two file systems on any devices (ext4--ext4.toml). The first one wins. 'haul
doctor' and 'haul cp --debug' show which is used, --profile=none uses none. haul does not use a
profile that is invalid, or of another haul, kernel or number of processors, and warns once.
";

const EXIT: &str =
    "The exit status is 0 if a profile was written, 1 if not, 2 if the command line is invalid.";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul tune [OPTION]... [PATH]\n\
         Measure what is fastest between the file systems here, and write a profile that 'haul cp'\n\
         uses from then on. It takes some minutes.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .examples([
        ("haul tune /mnt/backup", "measure a file system, and write its profile"),
        ("haul tune --print --scenario=huge:size=8G", "show what is fastest for a huge file"),
    ])
    .exit(EXIT)
    .operand(Argument::Directories)
}
