//! The options of `rm`: one table, from which arguments are read and `--help` is written.

use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, opt, own};

/// An option of `rm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Directory,
    Force,
    HaulDryRun,
    HaulErrors,
    HaulGentle,
    HaulJobs,
    HaulJson,
    HaulProgress,
    HaulRate,
    HaulStats,
    Help,
    Interactive,
    Always,
    NoPreserveRoot,
    Once,
    OneFileSystem,
    PreserveRoot,
    PresumeInputTty,
    Recursive,
    Verbose,
    Version,
}

/// GNU's option for its tests, which nobody documents: standard input counts as a terminal.
pub(crate) const PRESUME_INPUT_TTY: Opt<Id> =
    opt(Id::PresumeInputTty, ("", "-presume-input-tty"), Nothing, "");

/// All options that `--help` shows.
pub(crate) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Force, ("f", "force"), Nothing, "ignore nonexistent files and arguments, never prompt"),
    opt(Id::Always, ("i", ""), Nothing, "prompt before every removal"),
    opt(
        Id::Once,
        ("I", ""),
        Nothing,
        "prompt once before removing more than three files,\n  or when removing recursively; less \
         intrusive than\n  -i, while still giving protection against most\n  mistakes",
    ),
    opt(
        Id::Interactive,
        ("", "interactive"),
        Optional("WHEN"),
        "prompt according to WHEN: never, once (-I), or\n  always (-i); without WHEN, prompt always",
    ),
    opt(
        Id::OneFileSystem,
        ("", "one-file-system"),
        Nothing,
        "when removing a hierarchy recursively, skip any\n  directory that is on a file system \
         different from\n  that of the corresponding command line argument",
    ),
    opt(Id::NoPreserveRoot, ("", "no-preserve-root"), Nothing, "do not treat '/' specially"),
    opt(
        Id::PreserveRoot,
        ("", "preserve-root"),
        Optional("all"),
        "do not remove '/' (default); with 'all', reject\n  any command line argument on a separate \
         device\n  from its parent",
    ),
    opt(
        Id::Recursive,
        ("rR", "recursive"),
        Nothing,
        "remove directories and their contents recursively",
    ),
    opt(Id::Directory, ("d", "dir"), Nothing, "remove empty directories"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "explain what is being done"),
    opt(Id::Help, ("", "help"), Nothing, "display this help and exit"),
    opt(Id::Version, ("", "version"), Nothing, "output version information and exit"),
    own(
        Id::HaulDryRun,
        "dry-run",
        Nothing,
        "remove nothing, ask nothing, and tell what would\nbe removed",
    ),
    own(
        Id::HaulErrors,
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nnames as they are",
    ),
    own(
        Id::HaulGentle,
        "gentle",
        Nothing,
        "spare the rest of the machine: one worker that\nrests as long as it works, large files given \
         up\nin steps",
    ),
    own(
        Id::HaulJobs,
        "jobs",
        Required("N"),
        "use at most N workers (default: one for each\nprocessor)",
    ),
    own(
        Id::HaulJson,
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ),
    own(
        Id::HaulProgress,
        "progress",
        Optional("WHEN"),
        "show on standard error how far it is: always,\nnever, or auto (default): if that is a \
         terminal\nand the work is long",
    ),
    own(Id::HaulRate, "rate", Required("N"), "remove at most N entries a second"),
    own(
        Id::HaulStats,
        "stats",
        Nothing,
        "print a summary on standard error: entries,\ntime, rate, workers",
    ),
];
