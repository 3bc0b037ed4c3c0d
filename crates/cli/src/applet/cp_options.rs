//! The options of `cp`: one table, from which arguments are read and `--help` is written.

use super::data_options::DataId;
use crate::getopt::{Opt, Origin, Takes};

/// An option of `cp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Archive,
    AttributesOnly,
    Backup,
    BackupUsual,
    Context,
    ContextDefault,
    Debug,
    Parents,
    Suffix,
    CopyContents,
    Dereference,
    DereferenceOperands,
    Force,
    Help,
    Data(DataId),
    HaulDryRun,
    HaulErrors,
    HaulJson,
    HaulJobs,
    HaulPreflight,
    HaulProgress,
    HaulRetryFailed,
    HaulStats,
    Interactive,
    KeepDirectorySymlink,
    Link,
    NoClobber,
    NoDereference,
    NoDereferenceLinks,
    NoPreserve,
    NoTargetDirectory,
    OneFileSystem,
    Preserve,
    PreserveUsual,
    Recursive,
    Reflink,
    RemoveDestination,
    Sparse,
    StripSlashes,
    Symbolic,
    TargetDirectory,
    Update,
    UpdateOlder,
    Verbose,
    Version,
}

const fn opt(
    id: Id,
    (short, long): (&'static str, &'static str),
    takes: Takes,
    help: &'static str,
) -> Opt<Id> {
    Opt { id, short, long, takes, origin: Origin::Gnu, help }
}

const fn own(id: Id, long: &'static str, takes: Takes, help: &'static str) -> Opt<Id> {
    Opt { id, short: "", long, takes, origin: Origin::Haul, help }
}

use Takes::{Nothing, Optional, Required};

/// Every option, in the order of `--help`.
pub(crate) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Archive, ("a", "archive"), Nothing, "same as -dR --preserve=all"),
    opt(
        Id::AttributesOnly,
        ("", "attributes-only"),
        Nothing,
        "don't copy the file data, just the attributes",
    ),
    opt(
        Id::Backup,
        ("", "backup"),
        Optional("CONTROL"),
        "make a backup of each existing destination file",
    ),
    opt(Id::BackupUsual, ("b", ""), Nothing, "like --backup but does not accept an argument"),
    opt(
        Id::CopyContents,
        ("", "copy-contents"),
        Nothing,
        "copy contents of special files when recursive",
    ),
    opt(Id::Debug, ("", "debug"), Nothing, "explain how a file is copied. Implies -v"),
    opt(Id::NoDereferenceLinks, ("d", ""), Nothing, "same as --no-dereference --preserve=links"),
    opt(
        Id::Force,
        ("f", "force"),
        Nothing,
        "if an existing destination file cannot be\nopened, remove it and try again (this option\nis ignored when the -n option is also used)",
    ),
    opt(
        Id::Interactive,
        ("i", "interactive"),
        Nothing,
        "prompt before overwrite (overrides a previous -n\noption)",
    ),
    opt(
        Id::DereferenceOperands,
        ("H", ""),
        Nothing,
        "follow command-line symbolic links in SOURCE",
    ),
    opt(Id::Link, ("l", "link"), Nothing, "hard link files instead of copying"),
    opt(Id::Dereference, ("L", "dereference"), Nothing, "always follow symbolic links in SOURCE"),
    opt(
        Id::NoClobber,
        ("n", "no-clobber"),
        Nothing,
        "silently skip existing files (overrides a\nprevious -i option); see also --update",
    ),
    opt(
        Id::NoDereference,
        ("P", "no-dereference"),
        Nothing,
        "never follow symbolic links in SOURCE",
    ),
    opt(Id::PreserveUsual, ("p", ""), Nothing, "same as --preserve=mode,ownership,timestamps"),
    opt(Id::Preserve, ("", "preserve"), Optional("ATTR_LIST"), "preserve the specified attributes"),
    opt(
        Id::NoPreserve,
        ("", "no-preserve"),
        Required("ATTR_LIST"),
        "don't preserve the specified attributes",
    ),
    opt(Id::Parents, ("", "parents"), Nothing, "use full source file name under DIRECTORY"),
    opt(Id::Recursive, ("Rr", "recursive"), Nothing, "copy directories recursively"),
    opt(
        Id::RemoveDestination,
        ("", "remove-destination"),
        Nothing,
        "remove each existing destination file before\nattempting to open it (contrast with --force)",
    ),
    opt(Id::Reflink, ("", "reflink"), Optional("WHEN"), "control clone/CoW copies. See below"),
    opt(
        Id::Sparse,
        ("", "sparse"),
        Required("WHEN"),
        "control creation of sparse files. See below",
    ),
    opt(
        Id::StripSlashes,
        ("", "strip-trailing-slashes"),
        Nothing,
        "remove any trailing slashes from each SOURCE\nargument",
    ),
    opt(Id::Symbolic, ("s", "symbolic-link"), Nothing, "make symbolic links instead of copying"),
    opt(Id::Suffix, ("S", "suffix"), Required("SUFFIX"), "override the usual backup suffix"),
    opt(
        Id::TargetDirectory,
        ("t", "target-directory"),
        Required("DIRECTORY"),
        "copy all SOURCE arguments into DIRECTORY",
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
        "control which existing files are updated;\nUPDATE={all,none,none-fail,older(default)}",
    ),
    opt(Id::UpdateOlder, ("u", ""), Nothing, "equivalent to --update[=older]. See below"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "explain what is being done"),
    opt(
        Id::KeepDirectorySymlink,
        ("", "keep-directory-symlink"),
        Nothing,
        "follow existing symlinks to directories",
    ),
    opt(Id::OneFileSystem, ("x", "one-file-system"), Nothing, "stay on this file system"),
    opt(
        Id::ContextDefault,
        ("Z", ""),
        Nothing,
        "set SELinux security context of destination\nfile to default type",
    ),
    opt(
        Id::Context,
        ("", "context"),
        Optional("CTX"),
        "like -Z, or if CTX is specified then set the\nSELinux or SMACK security context to CTX",
    ),
    opt(Id::Help, ("", "help"), Nothing, "display this help and exit"),
    opt(Id::Version, ("", "version"), Nothing, "output version information and exit"),
    own(
        Id::Data(DataId::Atomic),
        "atomic",
        Nothing,
        "give each file its name when it is complete, and\nkeep the old one until then. See below",
    ),
    own(
        Id::Data(DataId::Bandwidth),
        "bandwidth",
        Required("RATE"),
        "move at most RATE bytes a second, all workers\ntogether; suffixes as for --io-size",
    ),
    own(
        Id::Data(DataId::Cache),
        "cache",
        Required("WHAT"),
        "what becomes of the page cache: keep, drop,\ndirect, restore, or auto (default). See below",
    ),
    own(
        Id::HaulDryRun,
        "dry-run",
        Nothing,
        "copy nothing; tell for each entry what would be\ndone and why, and what it would need",
    ),
    own(
        Id::Data(DataId::Durable),
        "durable",
        Nothing,
        "the same as --atomic, and complete means: on\nstable storage; the names are before the end",
    ),
    own(
        Id::HaulErrors,
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nnames as they are; see --retry-failed",
    ),
    own(
        Id::Data(DataId::Explain),
        "explain",
        Nothing,
        "say for each file which method moved it, why not\nthe others, and what was cached before and after",
    ),
    own(
        Id::Data(DataId::Fsync),
        "fsync",
        Nothing,
        "wait until each file, and its directory, is on\nstable storage",
    ),
    own(
        Id::Data(DataId::IoSize),
        "io-size",
        Required("SIZE"),
        "bytes of one request (default: what is best for\nthe method, 256K to 8M); K, M, G are powers of\n1024, kB, MB, GB of 1000",
    ),
    own(
        Id::HaulJobs,
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors)",
    ),
    own(
        Id::HaulJson,
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ),
    own(
        Id::Data(DataId::LimitMemory),
        "limit-memory",
        Required("SIZE"),
        "use at most SIZE bytes for I/O buffers, all\nworkers together",
    ),
    own(
        Id::Data(DataId::ListMethods),
        "list-methods",
        Nothing,
        "list the methods, best first, and exit",
    ),
    own(
        Id::Data(DataId::Method),
        "method",
        Required("NAME"),
        "move bytes with this method or not at all, or\nauto (default): the first that fits",
    ),
    own(
        Id::HaulPreflight,
        "preflight",
        Nothing,
        "first look at everything, and copy nothing if not\neverything can be: space, inodes, limits, \
         what\ncannot be read. See below",
    ),
    own(
        Id::HaulProgress,
        "progress",
        Optional("WHEN"),
        "show a bar on standard error: always, never, or\nauto (default): if that is a terminal and the\nwork is long",
    ),
    own(
        Id::Data(DataId::QueueDepth),
        "queue-depth",
        Required("N"),
        "keep up to N requests in flight, where the\nmethod has a queue (default: 16)",
    ),
    own(
        Id::HaulRetryFailed,
        "retry-failed",
        Required("FILE"),
        "copy again what FILE lists (see --errors), with\nthe options of that run and those given now; hard\nlinks are kept among what is copied again",
    ),
    own(
        Id::HaulStats,
        "stats",
        Nothing,
        "print a summary on standard error: files, bytes,\ntime, rate, methods, and what was cached before\nand after",
    ),
];
