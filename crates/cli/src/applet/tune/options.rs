//! The options of `tune`, and `--help`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use crate::applet::bench::scenarios;
use crate::escape::quote_word;
use crate::getopt::{Opt, Origin, Takes, Usage, Values, long};
use crate::option::effect::{Effect, help_row, read, set, set_to, version_row};
use crate::page::{Argument, Page};

/// What the options and the operand change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) path: PathBuf,
    pub(super) file_systems: Option<String>,
    pub(super) scenarios: Vec<String>,
    pub(super) rounds: u32,
    pub(super) budget: Option<Duration>,
    pub(super) print: bool,
    pub(super) seed: u64,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            path: PathBuf::from("."),
            file_systems: None,
            scenarios: Vec::new(),
            rounds: 7,
            budget: None,
            print: false,
            seed: 1,
        }
    }

    fn set_rounds(&mut self, word: &OsStr) -> Result<(), Usage> {
        let rounds = number("--rounds", word, 5, 1000)?;
        self.rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        Ok(())
    }

    fn set_minutes(&mut self, word: &OsStr) -> Result<(), Usage> {
        self.budget = Some(Duration::from_secs(60 * number("--minutes", word, 1, 10_000)?));
        Ok(())
    }
}

fn number(option: &str, word: &OsStr, least: u64, most: u64) -> Result<u64, Usage> {
    let number = word.to_str().and_then(|text| text.parse().ok());
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("invalid {option} {word}: give a number from {least} to {most}"))
    })
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    long(
        set_to(|tune, name| tune.file_systems = Some(name.to_string_lossy().into_owned())),
        "fs",
        Takes::Required("NAME"),
        "tune for this fresh file system, or pair of source\nand target such as xfs:ext4, held as images in\nPATH (as root)",
    ),
    long(
        read(|tune, count| Ok(tune.set_rounds(&count)?)),
        "rounds",
        Takes::Required("N"),
        "count N rounds, 5 at least (default: 7)",
    ),
    long(
        read(|tune, minutes| Ok(tune.set_minutes(&minutes)?)),
        "minutes",
        Takes::Required("N"),
        "end after this time, with what was measured until\nthen",
    ),
    long(
        set(|tune| tune.print = true),
        "print",
        Takes::Nothing,
        "print the profile, and write nothing",
    ),
    long(
        set_to(|tune: &mut Settings, name| tune.scenarios.push(name.to_string_lossy().into_owned())),
        "scenario",
        Takes::Required("SCENARIO"),
        "copy this instead of the four below: a name of\n'haul bench --list' with changes after a colon; may\nbe repeated",
    ).with(Values::Words(scenarios)),
    long(
        read(|tune, word| { tune.seed = number("--seed", &word, 0, u64::MAX)?; Ok(()) }),
        "seed",
        Takes::Required("N"),
        "seed of contents and order (default: 1)",
    ),
    help_row(),
    version_row(),
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
