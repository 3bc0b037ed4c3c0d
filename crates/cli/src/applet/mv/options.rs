//! The options of `mv`: one table, from which arguments are read and `--help` is written.

use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, opt, own};
use crate::option::config::{CONFIG, NO_CONFIG};
use crate::option::gentle::gentle;
use crate::option::metrics::{JOB, METRICS};
use crate::option::select::{SelectId, select_rows};
use crate::value::{BACKUP_VALUES, UPDATE_VALUES, WHEN_VALUES};

/// An option of `mv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Backup,
    BackupUsual,
    Context,
    Debug,
    Exchange,
    Force,
    HaulJobs,
    HaulBandwidth,
    HaulConfig,
    HaulGentle,
    HaulJob,
    HaulNoConfig,
    HaulJson,
    HaulMetrics,
    HaulProgress,
    HaulStats,
    Help,
    Interactive,
    NoClobber,
    NoCopy,
    NoTargetDirectory,
    Select(SelectId),
    StripSlashes,
    Suffix,
    TargetDirectory,
    Update,
    UpdateOlder,
    Verbose,
    Version,
}

/// Every option, in the order of `--help`.
pub(crate) const OPTIONS: &[Opt<Id>] = select_rows!(&[
    opt(
        Id::Backup,
        ("", "backup"),
        Optional("CONTROL"),
        "keep what DEST replaces, under a backup name.\nSee below",
    )
    .with(BACKUP_VALUES),
    opt(Id::BackupUsual, ("b", ""), Nothing, "--backup without a value"),
    opt(Id::Debug, ("", "debug"), Nothing, "print how each file was moved; implies -v"),
    opt(Id::Exchange, ("", "exchange"), Nothing, "swap the two names in one step"),
    opt(Id::Force, ("f", "force"), Nothing, "replace files without asking"),
    opt(Id::Interactive, ("i", "interactive"), Nothing, "ask before replacing a file"),
    opt(Id::NoClobber, ("n", "no-clobber"), Nothing, "leave existing files alone"),
    opt(Id::NoCopy, ("", "no-copy"), Nothing, "fail where a rename is not enough"),
    opt(
        Id::StripSlashes,
        ("", "strip-trailing-slashes"),
        Nothing,
        "ignore slashes at the end of SOURCE",
    ),
    opt(Id::Suffix, ("S", "suffix"), Required("SUFFIX"), "end the names of backups in SUFFIX"),
    opt(
        Id::TargetDirectory,
        ("t", "target-directory"),
        Required("DIRECTORY"),
        "put every SOURCE into DIRECTORY",
    ),
    opt(
        Id::NoTargetDirectory,
        ("T", "no-target-directory"),
        Nothing,
        "DEST is no directory to move into",
    ),
    opt(
        Id::Update,
        ("", "update"),
        Optional("UPDATE"),
        "which existing files to replace: all, none,\nnone-fail or older (default). See below",
    )
    .with(UPDATE_VALUES),
    opt(Id::UpdateOlder, ("u", ""), Nothing, "stands for --update=older"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "print the names of each file that is moved"),
    opt(Id::Context, ("Z", "context"), Nothing, "label the target with the default SELinux type"),
    opt(Id::Help, ("", "help"), Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Nothing, "show the version and exit"),
    own(
        Id::HaulBandwidth,
        "bandwidth",
        Required("RATE"),
        "across file systems, copy at most RATE bytes a\nsecond, all workers together, as in 50M",
    ).or_default(),
    own(Id::HaulConfig, "config", Nothing, CONFIG),
    gentle(Id::HaulGentle).or_default(),
    own(Id::HaulJob, "job", Required("NAME"), JOB),
    own(
        Id::HaulJobs,
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors for copying, one for \
         each\nfor removing)",
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
        "show a bar on standard error while copying:\nalways, never, or auto (default): if that is \
         a\nterminal and the run is long; with --json,\nalways adds a line each second",
    ).or_default()
    .with(WHEN_VALUES),
    own(
        Id::HaulStats,
        "stats",
        Nothing,
        "print a summary on standard error: what was\nrenamed, copied and removed, bytes, time, rate,\nwaits for each side, and what the devices did",
    ).or_default(),
]);
