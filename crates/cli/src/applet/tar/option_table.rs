//! The tables of GNU's options, from which arguments are read and `--help` is written: the task and the archive.

use haul_archive::filter::Filter;
use haul_archive::format::Zeros;
use haul_sys::process::Zone;

use super::creation_table::CREATION;
use super::effect::{Answer, Effect, answer, nothing, read, set, set_to};
use super::extraction_table::EXTRACTION;
use super::names_table::NAMES;
use super::reading::Reading;
use super::task::{Compression, Mode};
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, long, opt};

/// What `--show-defaults` prints.
const DEFAULTS: &str = "--format=gnu -f- -b20 --quoting-style=escape\n";

/// Options about the task, the archive and what is shown.
pub(super) const TASK: &[Opt<Effect<Reading>>] = &[
    opt(
        read(|tar, _| tar.set_mode(Mode::Create)),
        ("c", "create"),
        Nothing,
        "create an archive of the named files",
    ),
    opt(
        read(|tar, _| tar.set_mode(Mode::Append)),
        ("r", "append"),
        Nothing,
        "add the named files at the end of an archive",
    ),
    opt(
        read(|tar, _| tar.set_mode(Mode::List)),
        ("t", "list"),
        Nothing,
        "list the members of an archive",
    ),
    opt(
        read(|tar, _| tar.set_mode(Mode::Extract)),
        ("x", "extract"),
        Nothing,
        "extract the members of an archive",
    ),
    long(read(|tar, _| tar.set_mode(Mode::Extract)), "get", Nothing, ""),
    opt(
        read(|tar, _| tar.set_mode(Mode::Compare)),
        ("d", "diff"),
        Nothing,
        "tell how members and files differ",
    ),
    long(read(|tar, _| tar.set_mode(Mode::Compare)), "compare", Nothing, ""),
    opt(
        read(Reading::set_file),
        ("f", "file"),
        Required("ARCHIVE"),
        "the archive; '-' is standard input or output, and the\ndefault (or the file that TAPE names)",
    ),
    long(nothing(), "force-local", Nothing, "a colon in ARCHIVE does not name a host"),
    opt(
        set(|tar| tar.settings.verbosity += 1),
        ("v", "verbose"),
        Nothing,
        "name each member; with -t, or twice, describe it",
    ),
    long(
        read(|tar, signal| tar.show_totals(&signal)),
        "totals",
        Optional("SIGNAL"),
        "show the number of bytes and the speed at the end\n(SIGNAL is not supported)",
    ),
    opt(
        set(|tar| tar.settings.shows_blocks = true),
        ("R", "block-number"),
        Nothing,
        "show the block of each member",
    ),
    long(
        read(|tar, every| tar.settings.checkpoints.set_every(&every.to_string_lossy())),
        "checkpoint",
        Optional("N"),
        "act after each Nth record (default: 10; '.N' prints dots)",
    ),
    long(
        read(|tar, action| tar.settings.checkpoints.add(&action.to_string_lossy())),
        "checkpoint-action",
        Required("ACTION"),
        "echo[=TEXT] (default), dot, bell, ttyout=TEXT, totals,\nsleep=SECONDS, exec=COMMAND or wait=SIGNAL; in TEXT,\n%u is the number, %s the kind, %T the totals, %d the\nseconds so far, %t the time",
    ),
    long(
        set_to(|tar, file| tar.settings.index_file = Some(file)),
        "index-file",
        Required("FILE"),
        "write what is shown to FILE",
    ),
    long(
        read(|tar, keyword| tar.settings.warnings.set(&keyword.to_string_lossy())),
        "warning",
        Required("KEYWORD"),
        "print the warnings of KEYWORD; do not: no-KEYWORD; all,\nnone",
    ),
    long(
        set(|tar| tar.settings.shows_omitted = true),
        "show-omitted-dirs",
        Nothing,
        "name directories that are not selected",
    ),
    long(
        answer(Answer::Text(|| DEFAULTS.to_owned())),
        "show-defaults",
        Nothing,
        "show the defaults and exit",
    ),
    long(
        set(|tar| tar.settings.shows_full_time = true),
        "full-time",
        Nothing,
        "show times to the nanosecond",
    ),
    long(set(|tar| tar.settings.zone = Zone::Utc), "utc", Nothing, "show times in UTC"),
    long(
        set(|tar| tar.settings.numeric_owner = true),
        "numeric-owner",
        Nothing,
        "use numbers of users and groups, not names",
    ),
    opt(
        set(|tar| tar.settings.zeros = Zeros::Skip),
        ("i", "ignore-zeros"),
        Nothing,
        "do not stop at blocks of zeros",
    ),
    opt(set(|tar| tar.settings.may_seek = true), ("n", "seek"), Nothing, "the archive is seekable"),
    long(
        set(|tar| tar.settings.may_seek = false),
        "no-seek",
        Nothing,
        "read the archive from beginning to end",
    ),
    opt(
        read(|tar, _| tar.compress(Compression::Known(Filter::Gzip))),
        ("z", "gzip"),
        Nothing,
        "the archive is compressed with gzip",
    ),
    long(read(|tar, _| tar.compress(Compression::Known(Filter::Gzip))), "gunzip", Nothing, ""),
    long(read(|tar, _| tar.compress(Compression::Known(Filter::Gzip))), "ungzip", Nothing, ""),
    opt(
        read(|tar, _| tar.compress(Compression::Known(Filter::Bzip2))),
        ("j", "bzip2"),
        Nothing,
        "with bzip2 (-c: by the program bzip2)",
    ),
    opt(
        set(|tar| tar.settings.creation.by_name = true),
        ("a", "auto-compress"),
        Nothing,
        "with -c: compress as the ending of ARCHIVE says",
    ),
    long(
        set(|tar| tar.settings.creation.by_name = false),
        "no-auto-compress",
        Nothing,
        "do not (default)",
    ),
    opt(
        read(|tar, _| tar.compress(Compression::Known(Filter::Xz))),
        ("J", "xz"),
        Nothing,
        "with xz",
    ),
    long(
        read(|tar, _| tar.compress(Compression::Known(Filter::Lzma))),
        "lzma",
        Nothing,
        "with lzma",
    ),
    long(
        read(|tar, _| tar.compress(Compression::Known(Filter::Zstd))),
        "zstd",
        Nothing,
        "with zstd",
    ),
    long(read(|tar, _| tar.compress_by("lzip")), "lzip", Nothing, "with the program lzip"),
    long(read(|tar, _| tar.compress_by("lzop")), "lzop", Nothing, "with the program lzop"),
    opt(
        read(|tar, _| tar.compress_by("compress")),
        ("Z", "compress"),
        Nothing,
        "with the program compress",
    ),
    long(read(|tar, _| tar.compress_by("compress")), "uncompress", Nothing, ""),
    opt(
        read(|tar, command| tar.compress_by(&command.to_string_lossy())),
        ("I", "use-compress-program"),
        Required("COMMAND"),
        "with COMMAND, which decompresses if given -d",
    ),
];

/// How to get help.
pub(super) const HELP: &[Opt<Effect<Reading>>] = &[
    opt(answer(Answer::Help), ("?", "help"), Nothing, "show this text and exit"),
    long(answer(Answer::Version), "version", Nothing, "show the version and exit"),
];

/// All options of GNU tar that haul has, in the order of `--help`.
pub(super) const TABLES: [&[Opt<Effect<Reading>>]; 5] = [TASK, EXTRACTION, CREATION, NAMES, HELP];
