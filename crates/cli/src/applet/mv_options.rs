//! The options of `mv`: one table, from which arguments are read and `--help` is written.

use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, opt, own};

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
    HaulJson,
    HaulProgress,
    HaulStats,
    Help,
    Interactive,
    NoClobber,
    NoCopy,
    NoTargetDirectory,
    StripSlashes,
    Suffix,
    TargetDirectory,
    Update,
    UpdateOlder,
    Verbose,
    Version,
}

/// Every option, in the order of `--help`.
pub(crate) const OPTIONS: &[Opt<Id>] = &[
    opt(
        Id::Backup,
        ("", "backup"),
        Optional("CONTROL"),
        "make a backup of each existing destination file",
    ),
    opt(Id::BackupUsual, ("b", ""), Nothing, "like --backup but does not accept an argument"),
    opt(Id::Debug, ("", "debug"), Nothing, "explain how a file is copied.  Implies -v"),
    opt(Id::Exchange, ("", "exchange"), Nothing, "exchange source and destination"),
    opt(Id::Force, ("f", "force"), Nothing, "do not prompt before overwriting"),
    opt(Id::Interactive, ("i", "interactive"), Nothing, "prompt before overwrite"),
    opt(Id::NoClobber, ("n", "no-clobber"), Nothing, "do not overwrite an existing file"),
    opt(Id::NoCopy, ("", "no-copy"), Nothing, "do not copy if renaming fails"),
    opt(
        Id::StripSlashes,
        ("", "strip-trailing-slashes"),
        Nothing,
        "remove any trailing slashes from each SOURCE\n  argument",
    ),
    opt(Id::Suffix, ("S", "suffix"), Required("SUFFIX"), "override the usual backup suffix"),
    opt(
        Id::TargetDirectory,
        ("t", "target-directory"),
        Required("DIRECTORY"),
        "move all SOURCE arguments into DIRECTORY",
    ),
    opt(
        Id::NoTargetDirectory,
        ("T", "no-target-directory"),
        Nothing,
        "treat DEST as a normal file",
    ),
    opt(
        Id::Update,
        ("", "update"),
        Optional("UPDATE"),
        "control which existing files are updated;\n  UPDATE={all,none,none-fail,older(default)}",
    ),
    opt(Id::UpdateOlder, ("u", ""), Nothing, "equivalent to --update[=older].  See below"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "explain what is being done"),
    opt(
        Id::Context,
        ("Z", "context"),
        Nothing,
        "set SELinux security context of destination\n  file to default type",
    ),
    opt(Id::Help, ("", "help"), Nothing, "display this help and exit"),
    opt(Id::Version, ("", "version"), Nothing, "output version information and exit"),
    own(
        Id::HaulJobs,
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors for copying, one for \
         each\nfor removing)",
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
        "show a bar on standard error while copying:\nalways, never, or auto (default): if that is \
         a\nterminal and the work is long; always with\n--json adds a line each second",
    ),
    own(
        Id::HaulStats,
        "stats",
        Nothing,
        "print a summary on standard error: what was\nrenamed, copied and removed, bytes, time, rate",
    ),
];
