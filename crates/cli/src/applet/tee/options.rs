//! The options of `tee`, and `--help`.

use crate::getopt::{Opt, Origin, Takes, Values, opt, words_of};
use crate::option::data::own_cache;
use crate::option::gentle::gentle;
use crate::option::help::CACHE;
use crate::page::Page;

/// An option of `tee`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Append,
    Cache,
    Gentle,
    Help,
    IgnoreInterrupts,
    OutputError,
    Version,
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
pub(super) const MODES: &[(&str, OnError)] = &[
    ("warn", OnError::Warn),
    ("warn-nopipe", OnError::WarnNoPipe),
    ("exit", OnError::Exit),
    ("exit-nopipe", OnError::ExitNoPipe),
];

pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Append, ("a", "append"), Takes::Nothing, "add to the end of each FILE"),
    opt(Id::IgnoreInterrupts, ("i", "ignore-interrupts"), Takes::Nothing, "do not end at SIGINT"),
    opt(Id::OutputError, ("p", ""), Takes::Nothing, "--output-error without a value"),
    opt(
        Id::OutputError,
        ("", "output-error"),
        Takes::Optional("MODE"),
        "what to do when a write fails. See below",
    )
    .with(Values::Words(|| words_of(MODES))),
    own_cache(Id::Cache),
    gentle(Id::Gentle),
    opt(Id::Help, ("", "help"), Takes::Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Takes::Nothing, "show the version and exit"),
];

const NOTES: &str = "
MODE says which failed writes are reported, and whether one ends the run:
  warn           all; the run continues with the other outputs
  warn-nopipe    all but those to pipes without a reader; it continues (-p)
  exit           all; the first ends the run
  exit-nopipe    all but those to pipes without a reader; the first ends the run
A run ends when all its outputs are pipes without readers. Without -p and
--output-error a pipe without a reader ends the run by SIGPIPE, and other
failures are reported.
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
