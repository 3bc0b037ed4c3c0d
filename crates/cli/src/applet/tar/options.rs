//! The options of `tar`: one table, from which arguments are read and `--help` is written.

use haul_archive::create::TagScope;
use haul_archive::extract::Existing;

use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, long, opt, own};
use crate::option::help::VALUES;
use crate::page::Page;

/// An option of `tar`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// GNU's option of this name, which haul refuses.
    Unsupported(&'static str),
    /// Directories with a file of a name, or with the mark of a cache, are left out.
    ExcludeTag(TagScope),
    ExcludeCaches(TagScope),
    GroupMap,
    IgnoreFailedRead,
    OwnerMap,
    RemoveFiles,
    Append,
    Sparse,
    SparseVersion,
    Totals,
    AbsoluteNames,
    Anchored(bool),
    AutoCompress(bool),
    BlockingFactor,
    DelayDirectories,
    BlockNumber,
    Bzip2,
    ClampMtime,
    Compare,
    Create,
    Dereference,
    Directory,
    Exclude,
    Existing(Existing),
    Extract,
    ExcludeBackups,
    ExcludeFrom,
    ExcludeVcs,
    File,
    FilesFrom,
    ForceLocal,
    Frame,
    Format,
    FullTime,
    Group,
    Gzip,
    HardDereference,
    Help,
    Jobs,
    IgnoreCase(bool),
    IgnoreZeros,
    List,
    NoAttributes,
    OldArchive,
    OldOwner,
    OneFileSystem,
    OneTopLevel,
    Owner,
    Posix,
    ReadFullRecords,
    RecordSize,
    Lzma,
    Mode,
    Mtime,
    Null(bool),
    NumericOwner,
    Occurrence,
    Recursion(bool),
    SameOwner(bool),
    SamePermissions(bool),
    Seek(bool),
    ShowTransformed,
    Sort,
    StripComponents,
    ToStdout,
    Touch,
    Transform,
    Unquote(bool),
    UseCompressProgram,
    Utc,
    Verbatim(bool),
    Verbose,
    Version,
    Wildcards(bool),
    WildcardsMatchSlash(bool),
    Xz,
    Zstd,
}

/// All options that haul has.
pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Create, ("c", "create"), Nothing, "create an archive of the named files"),
    opt(Id::Append, ("r", "append"), Nothing, "add the named files at the end of an archive"),
    opt(Id::List, ("t", "list"), Nothing, "list the members of an archive"),
    opt(Id::Extract, ("x", "extract"), Nothing, "extract the members of an archive"),
    long(Id::Extract, "get", Nothing, ""),
    opt(Id::Compare, ("d", "diff"), Nothing, "tell how members and files differ"),
    long(Id::Compare, "compare", Nothing, ""),
    opt(
        Id::File,
        ("f", "file"),
        Required("ARCHIVE"),
        "the archive; '-' is standard input or output, and the\ndefault (or the file that TAPE names)",
    ),
    long(Id::ForceLocal, "force-local", Nothing, "a colon in ARCHIVE does not name a host"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "name each member; with -t, or twice, describe it"),
    long(
        Id::Totals,
        "totals",
        Optional("SIGNAL"),
        "show the number of bytes and the speed at the end\n(SIGNAL is not supported)",
    ),
    opt(Id::BlockNumber, ("R", "block-number"), Nothing, "show the block of each member"),
    long(Id::FullTime, "full-time", Nothing, "show times to the nanosecond"),
    long(Id::Utc, "utc", Nothing, "show times in UTC"),
    long(Id::NumericOwner, "numeric-owner", Nothing, "use numbers of users and groups, not names"),
    opt(Id::IgnoreZeros, ("i", "ignore-zeros"), Nothing, "do not stop at blocks of zeros"),
    opt(Id::Seek(true), ("n", "seek"), Nothing, "the archive is seekable"),
    long(
        Id::Seek(false),
        "no-seek",
        Nothing,
        "read the archive from beginning to end, without its\nmember index",
    ),
    opt(Id::Gzip, ("z", "gzip"), Nothing, "the archive is compressed with gzip"),
    long(Id::Gzip, "gunzip", Nothing, ""),
    long(Id::Gzip, "ungzip", Nothing, ""),
    opt(Id::Bzip2, ("j", "bzip2"), Nothing, "with bzip2 (only read)"),
    opt(
        Id::AutoCompress(true),
        ("a", "auto-compress"),
        Nothing,
        "with -c: compress as the ending of ARCHIVE says",
    ),
    long(Id::AutoCompress(false), "no-auto-compress", Nothing, "do not (default)"),
    opt(Id::Xz, ("J", "xz"), Nothing, "with xz"),
    long(Id::Lzma, "lzma", Nothing, "with lzma"),
    long(Id::Zstd, "zstd", Nothing, "with zstd"),
    opt(
        Id::UseCompressProgram,
        ("I", "use-compress-program"),
        Required("COMMAND"),
        "with COMMAND, which decompresses if given -d",
    ),
    opt(Id::ToStdout, ("O", "to-stdout"), Nothing, "write files to standard output"),
    opt(
        Id::Existing(Existing::Keep),
        ("k", "keep-old-files"),
        Nothing,
        "do not replace existing files; that is an error",
    ),
    long(
        Id::Existing(Existing::Skip),
        "skip-old-files",
        Nothing,
        "do not replace existing files, without a word",
    ),
    long(
        Id::Existing(Existing::KeepNewer),
        "keep-newer-files",
        Nothing,
        "nor those that are not older than the member",
    ),
    long(
        Id::Existing(Existing::Overwrite),
        "overwrite",
        Nothing,
        "write into existing files instead of replacing them",
    ),
    opt(
        Id::Existing(Existing::UnlinkFirst),
        ("U", "unlink-first"),
        Nothing,
        "remove existing files before anything is made",
    ),
    long(
        Id::Existing(Existing::Replace),
        "overwrite-dir",
        Nothing,
        "existing directories get new attributes (default)",
    ),
    long(
        Id::Existing(Existing::ReplaceKeepingDirectories),
        "no-overwrite-dir",
        Nothing,
        "they keep their attributes",
    ),
    opt(
        Id::SamePermissions(true),
        ("p", "preserve-permissions"),
        Nothing,
        "restore all permission bits (default for root)",
    ),
    long(Id::SamePermissions(true), "same-permissions", Nothing, ""),
    long(Id::SamePermissions(false), "no-same-permissions", Nothing, "apply the umask"),
    long(Id::SameOwner(true), "same-owner", Nothing, "restore owners (default for root)"),
    long(Id::SameOwner(false), "no-same-owner", Nothing, "files belong to you"),
    opt(Id::OldOwner, ("o", ""), Nothing, "with -x: --no-same-owner; with -c: --format=v7"),
    opt(Id::Touch, ("m", "touch"), Nothing, "do not restore times"),
    long(
        Id::DelayDirectories,
        "delay-directory-restore",
        Nothing,
        "set the attributes of directories at the end\n(haul always does)",
    ),
    long(Id::DelayDirectories, "no-delay-directory-restore", Nothing, ""),
    long(Id::NoAttributes, "no-acls", Nothing, "do not restore access-control lists (default)"),
    long(Id::NoAttributes, "no-selinux", Nothing, "nor contexts (default)"),
    long(Id::NoAttributes, "no-xattrs", Nothing, "nor extended attributes (default)"),
    opt(
        Id::AbsoluteNames,
        ("P", "absolute-names"),
        Nothing,
        "let names begin with '/' and contain '..'",
    ),
    long(
        Id::StripComponents,
        "strip-components",
        Required("N"),
        "remove N directories from the beginning of names",
    ),
    long(
        Id::OneTopLevel,
        "one-top-level",
        Optional("DIR"),
        "put everything into DIR, or into a directory named\nas the archive",
    ),
    long(
        Id::Transform,
        "transform",
        Required("s/RE/NEW/FLAGS"),
        "change names as sed does (FLAGS: g, i, x, a number;\nr, h, s: of members, hard links, symbolic links;\nR, H, S: not of these)",
    ),
    long(Id::Transform, "xform", Required("s/RE/NEW/FLAGS"), ""),
    long(
        Id::ShowTransformed,
        "show-transformed-names",
        Nothing,
        "show names as they are after all changes",
    ),
    long(Id::ShowTransformed, "show-stored-names", Nothing, ""),
    opt(
        Id::Directory,
        ("C", "directory"),
        Required("DIR"),
        "change to DIR for all names that follow",
    ),
    opt(
        Id::Format,
        ("H", "format"),
        Required("FORMAT"),
        "with -c: gnu (default), oldgnu, posix (or pax), ustar\nor v7",
    ),
    long(Id::Posix, "posix", Nothing, "--format=posix"),
    long(Id::OldArchive, "old-archive", Nothing, "--format=v7"),
    long(Id::OldArchive, "portability", Nothing, ""),
    long(Id::Sort, "sort", Required("ORDER"), "order within a directory: none (default) or name"),
    long(Id::Owner, "owner", Required("NAME[:UID]"), "the owner of all members"),
    long(Id::Group, "group", Required("NAME[:GID]"), "the group of all members"),
    long(
        Id::OwnerMap,
        "owner-map",
        Required("FILE"),
        "new owners by lines 'OLD NEW', where OLD is NAME or\n+UID, and NEW is NAME[:UID], :UID or +UID",
    ),
    long(Id::GroupMap, "group-map", Required("FILE"), "new groups likewise"),
    long(Id::Mode, "mode", Required("CHANGES"), "change permissions as chmod does"),
    long(
        Id::Mtime,
        "mtime",
        Required("TIME"),
        "the time of all members: @SECONDS, a date in UTC\n('2026-01-31 12:00 UTC'), or that of a file",
    ),
    long(Id::ClampMtime, "clamp-mtime", Nothing, "only of members that are younger"),
    opt(Id::Dereference, ("h", "dereference"), Nothing, "archive what symbolic links point to"),
    opt(Id::Sparse, ("S", "sparse"), Nothing, "with -c: store holes of files as holes"),
    long(
        Id::SparseVersion,
        "sparse-version",
        Required("VERSION"),
        "-S, in the form 1.0 (default), 0.1 or 0.0 of posix",
    ),
    long(Id::HardDereference, "hard-dereference", Nothing, "archive each name of a file as a file"),
    long(Id::OneFileSystem, "one-file-system", Nothing, "do not enter other file systems"),
    long(
        Id::IgnoreFailedRead,
        "ignore-failed-read",
        Nothing,
        "files that cannot be read do not make -c fail",
    ),
    long(
        Id::RemoveFiles,
        "remove-files",
        Nothing,
        "with -c: remove what was archived, once the archive\nis complete; what changed meanwhile stays",
    ),
    opt(
        Id::BlockingFactor,
        ("b", "blocking-factor"),
        Required("BLOCKS"),
        "blocks of 512 bytes in a record (default: 20)",
    ),
    long(Id::RecordSize, "record-size", Required("BYTES"), "bytes of a record, in another way"),
    opt(
        Id::ReadFullRecords,
        ("B", "read-full-records"),
        Nothing,
        "records are read whole (haul always does)",
    ),
    opt(Id::FilesFrom, ("T", "files-from"), Required("FILE"), "read more names from FILE"),
    long(Id::Null(true), "null", Nothing, "names in FILE end in NUL; implies the next"),
    long(Id::Null(false), "no-null", Nothing, "they end in newlines (default)"),
    long(
        Id::Verbatim(true),
        "verbatim-files-from",
        Nothing,
        "lines of FILE that begin with '-' are names",
    ),
    long(Id::Verbatim(false), "no-verbatim-files-from", Nothing, "they are -C DIR (default)"),
    long(Id::Unquote(true), "unquote", Nothing, "backslashes in FILE are escapes (default)"),
    long(Id::Unquote(false), "no-unquote", Nothing, "they are part of the names"),
    long(Id::Exclude, "exclude", Required("PATTERN"), "leave out what matches PATTERN"),
    opt(
        Id::ExcludeFrom,
        ("X", "exclude-from"),
        Required("FILE"),
        "leave out what matches a line of FILE",
    ),
    long(Id::ExcludeVcs, "exclude-vcs", Nothing, "leave out directories of version control"),
    long(
        Id::ExcludeTag(TagScope::Contents),
        "exclude-tag",
        Required("FILE"),
        "leave out what is beside FILE",
    ),
    long(
        Id::ExcludeTag(TagScope::Under),
        "exclude-tag-under",
        Required("FILE"),
        "leave out FILE, too",
    ),
    long(
        Id::ExcludeTag(TagScope::All),
        "exclude-tag-all",
        Required("FILE"),
        "leave out its directory, too",
    ),
    long(
        Id::ExcludeCaches(TagScope::Contents),
        "exclude-caches",
        Nothing,
        "the same for directories marked by CACHEDIR.TAG",
    ),
    long(Id::ExcludeCaches(TagScope::Under), "exclude-caches-under", Nothing, ""),
    long(Id::ExcludeCaches(TagScope::All), "exclude-caches-all", Nothing, ""),
    long(Id::ExcludeBackups, "exclude-backups", Nothing, "leave out backup and lock files"),
    long(Id::Recursion(true), "recursion", Nothing, "a directory stands for all below (default)"),
    long(Id::Recursion(false), "no-recursion", Nothing, "it stands for itself alone"),
    long(Id::Anchored(true), "anchored", Nothing, "patterns match from the beginning of a name"),
    long(
        Id::Anchored(false),
        "no-anchored",
        Nothing,
        "also behind any '/' (default for --exclude)",
    ),
    long(Id::IgnoreCase(true), "ignore-case", Nothing, "patterns ignore case"),
    long(Id::IgnoreCase(false), "no-ignore-case", Nothing, "they do not (default)"),
    long(Id::Wildcards(true), "wildcards", Nothing, "use wildcards (default for --exclude)"),
    long(Id::Wildcards(false), "no-wildcards", Nothing, "compare literally"),
    long(
        Id::WildcardsMatchSlash(true),
        "wildcards-match-slash",
        Nothing,
        "'*' matches '/' (default)",
    ),
    long(Id::WildcardsMatchSlash(false), "no-wildcards-match-slash", Nothing, "it does not"),
    long(
        Id::Occurrence,
        "occurrence",
        Optional("N"),
        "only the Nth member of each name (default: the first)",
    ),
    own(
        Id::Frame,
        "frame",
        Required("SIZE"),
        "with --zstd -c: bytes of the frames that can be\ndecompressed at the same time (default: 16M);\n0 for one frame",
    ),
    own(Id::Jobs, "jobs", Required("N"), "number of workers (default: one for each processor)"),
    opt(Id::Help, ("?", "help"), Nothing, "show this text and exit"),
    long(Id::Version, "version", Nothing, "show the version and exit"),
];

const NOTES: &str = "
The letters may also stand first without a dash: 'tar tvf ARCHIVE'. Words of the
environment variable TAR_OPTIONS are read before those of the command line.

Nothing outside the target directory is touched without -P: symbolic links are
followed only where they lead to a place in it. A file that could not be written
completely is removed. Files are made in no particular order.

Compressed archives are recognised without an option. Archives of -c --zstd have an
index, by which -x and -t read only the frames that hold the named members; other
programs skip it. Headers that other programs
read in another way than haul are refused, with the name of the member.

The other options of GNU tar are refused by name.

The bytes of an archive do not depend on --jobs or on timing.
";

const EXIT: &str = "\
The exit status is 0 if all went well; 1 if files changed while they were archived,
or if -d found differences; 2 if something failed.";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: tar [OPTION]... [NAME]...\n\
         Create, append to, list, extract and compare tar archives.\n\n{VALUES}"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading("Only haul has")
    .options(OPTIONS, Origin::Haul)
    .text(NOTES)
    .exit(EXIT)
}
