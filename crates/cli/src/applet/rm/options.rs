//! The options of `rm`: one table, from which arguments are read and `--help` is written.

use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Values, opt, own, words_of};
use crate::option::config::{CONFIG, NO_CONFIG};
use crate::option::gentle::gentle;
use crate::option::metrics::{JOB, METRICS};
use crate::option::select::{SelectId, select_rows};
use crate::value::WHEN_VALUES;

/// An option of `rm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Directory,
    Force,
    HaulDryRun,
    HaulErrors,
    HaulGentle,
    HaulJobs,
    HaulConfig,
    HaulJob,
    HaulNoConfig,
    HaulJson,
    HaulMetrics,
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
    Select(SelectId),
    Verbose,
    Version,
}

/// When to ask, according to the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interactive {
    Never,
    /// Before what is write-protected, if standard input is a terminal.
    Sometimes,
    /// That, and once in the beginning.
    Once,
    Always,
}

/// The values of `--interactive`.
pub(super) const INTERACTIVE: &[(&str, Interactive)] = &[
    ("never", Interactive::Never),
    ("no", Interactive::Never),
    ("none", Interactive::Never),
    ("once", Interactive::Once),
    ("always", Interactive::Always),
    ("yes", Interactive::Always),
];

/// The value of `--preserve-root`.
pub(super) const ALL: &str = "all";

/// GNU's undocumented option for its tests: standard input counts as a terminal.
pub(crate) const PRESUME_INPUT_TTY: Opt<Id> =
    opt(Id::PresumeInputTty, ("", "-presume-input-tty"), Nothing, "");

/// All options that `--help` shows.
pub(crate) const OPTIONS: &[Opt<Id>] = select_rows!(&[
    opt(Id::Force, ("f", "force"), Nothing, "never ask, and accept operands that do not exist"),
    opt(Id::Always, ("i", ""), Nothing, "ask about each file and directory"),
    opt(
        Id::Once,
        ("I", ""),
        Nothing,
        "ask one question for the whole command, if it has\nmore than three operands or -r",
    ),
    opt(
        Id::Interactive,
        ("", "interactive"),
        Optional("WHEN"),
        "when to ask: never, once (-I) or always (-i, also\nwithout WHEN)",
    ).with(Values::Words(|| words_of(INTERACTIVE))),
    opt(
        Id::OneFileSystem,
        ("", "one-file-system"),
        Nothing,
        "with -r: leave out directories of another file\nsystem than the operand they are in",
    ),
    opt(Id::NoPreserveRoot, ("", "no-preserve-root"), Nothing, "allow the removal of '/'"),
    opt(
        Id::PreserveRoot,
        ("", "preserve-root"),
        Optional("all"),
        "refuse to remove '/' (default); with all, refuse\nevery operand that is a mount point, too",
    ).with(Values::Words(|| vec![ALL])),
    opt(Id::Recursive, ("rR", "recursive"), Nothing, "remove directories with everything in them"),
    opt(Id::Directory, ("d", "dir"), Nothing, "remove directories that are empty"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "print the name of each file that is removed"),
    opt(Id::Help, ("", "help"), Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Nothing, "show the version and exit"),
    own(Id::HaulConfig, "config", Nothing, CONFIG),
    own(
        Id::HaulDryRun,
        "dry-run",
        Nothing,
        "remove nothing, ask nothing, and print what rm\nwould remove",
    ),
    own(
        Id::HaulErrors,
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names",
    ),
    gentle(Id::HaulGentle).or_default(),
    own(Id::HaulJob, "job", Required("NAME"), JOB),
    own(
        Id::HaulJobs,
        "jobs",
        Required("N"),
        "use at most N workers (default: one for each\nprocessor)",
    ).or_default(),
    own(
        Id::HaulJson,
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ).or_default(),
    own(Id::HaulMetrics, "metrics", Required("FILE"), METRICS),
    own(Id::HaulNoConfig, "no-config", Nothing, NO_CONFIG),
    own(
        Id::HaulProgress,
        "progress",
        Optional("WHEN"),
        "show on standard error how far it is: always,\nnever, or auto (default): if that is a \
         terminal\nand the run is long",
    ).or_default().with(WHEN_VALUES),
    own(Id::HaulRate, "rate", Required("N"), "remove at most N entries a second").or_default(),
    own(
        Id::HaulStats,
        "stats",
        Nothing,
        "print a summary on standard error: entries,\ntime, rate, workers, waits for storage, and what\nthe device did",
    ).or_default(),
]);
