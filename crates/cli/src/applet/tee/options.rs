//! The options of `tee`, and `--help`.

use std::ffi::OsStr;

use haul_io::Cache;

use crate::getopt::{Opt, Origin, Takes, Usage, Values, choose, opt, words_of};
use crate::option::data::{cache, own_cache};
use crate::option::effect::{Effect, help_row, read, read_optional, set, version_row};
use crate::option::gentle::{begins, gentle};
use crate::option::help::CACHE;
use crate::page::Page;

/// What the options change.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) appends: bool,
    pub(super) cache: Cache,
    pub(super) ignores_interrupts: bool,
    pub(super) on_error: Option<OnError>,
}

impl Settings {
    fn set_on_error(&mut self, mode: Option<&OsStr>) -> Result<(), Usage> {
        let mode =
            mode.map_or(Ok(OnError::WarnNoPipe), |word| choose("--output-error", word, MODES));
        self.on_error = Some(mode?);
        Ok(())
    }
}

/// The mode of `--output-error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnError {
    Warn,
    WarnNoPipe,
    Exit,
    ExitNoPipe,
}

/// The values of `--output-error`.
const MODES: &[(&str, OnError)] = &[
    ("warn", OnError::Warn),
    ("warn-nopipe", OnError::WarnNoPipe),
    ("exit", OnError::Exit),
    ("exit-nopipe", OnError::ExitNoPipe),
];

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|tee| tee.appends = true),
        ("a", "append"),
        Takes::Nothing,
        "add to the end of each FILE",
    ),
    opt(
        set(|tee| tee.ignores_interrupts = true),
        ("i", "ignore-interrupts"),
        Takes::Nothing,
        "do not end at SIGINT",
    ),
    opt(
        set(|tee| tee.on_error = Some(OnError::WarnNoPipe)),
        ("p", ""),
        Takes::Nothing,
        "--output-error without a value",
    ),
    opt(
        read_optional(|tee: &mut Settings, mode| Ok(tee.set_on_error(mode.as_deref())?)),
        ("", "output-error"),
        Takes::Optional("MODE"),
        "what to do when a write fails. See below",
    )
    .with(Values::Words(|| words_of(MODES))),
    own_cache(read(|tee, policy| {
        tee.cache = cache(&policy)?;
        Ok(())
    })),
    gentle(begins()),
    help_row(),
    version_row(),
];

const NOTES: &str = "
MODE says which failed writes are reported, and whether one ends the run:
  warn           all; the run continues with the other outputs
  warn-nopipe    all but those to pipes without a reader; it continues (-p)
  exit           all; the first ends the run
  exit-nopipe    all but those to pipes without a reader; the first ends the run
A run ends when all its outputs are pipes without readers. Without -p and
--output-error a pipe without a reader ends the run by SIGPIPE, and other
failures are reported. Without -a a FILE that is standard input is refused: it
would be empty before it is read.
";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: tee [OPTION]... [FILE]...\n\
         Write standard input to standard output and to every FILE.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .heading("An option that GNU tee does not have")
    .options(OPTIONS, Origin::Haul)
    .text(CACHE)
    .text(NOTES)
    .examples([("make 2>&1 | haul tee -a build.log", "show what a command prints, and add it to a file")])
    .exit("The exit status is 0 if everything was written, 1 if a file could not be opened,\na read or a write failed, or the command line is invalid.")
}
