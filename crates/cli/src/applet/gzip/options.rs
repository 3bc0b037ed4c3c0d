//! The options of `gzip`, `gunzip` and `zcat`, and `--help`.

use crate::getopt::Takes::{Digits, Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, opt, own};
use crate::option::data::{CACHE_VALUES, DIGEST_VALUES};
use crate::option::gentle::gentle;
use crate::option::help::{OWN_OPTIONS, STANDARD_INPUT, VALUES};
use crate::option::metrics::{JOB, METRICS};
use crate::page::Page;
use crate::value::WHEN_VALUES;

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Ascii,
    Bits,
    Stdout,
    Decompress,
    Force,
    Help,
    Keep,
    List,
    Licence,
    NoTime,
    Time,
    NoName,
    Name,
    PresumeTerminal,
    Quiet,
    Recursive,
    Rsyncable,
    Suffix,
    Synchronous,
    Test,
    Verbose,
    Version,
    Lzw,
    Level,
    Fast,
    Best,
    Atomic,
    Cache,
    Gentle,
    Durable,
    Index,
    Job,
    Jobs,
    Metrics,
    Progress,
    Sum,
}

/// All options. One without help is not shown.
pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::Stdout, ("c", "stdout"), Nothing, "write to standard output; inputs stay"),
    opt(Id::Stdout, ("", "to-stdout"), Nothing, ""),
    opt(Id::Decompress, ("d", "decompress"), Nothing, "restore the original data"),
    opt(Id::Decompress, ("", "uncompress"), Nothing, ""),
    opt(
        Id::Force,
        ("f", "force"),
        Nothing,
        "replace outputs that exist; also compress links and\nfiles with several names; allow terminals",
    ),
    opt(Id::Help, ("hH", "help"), Nothing, "show this text and exit"),
    opt(Id::Keep, ("k", "keep"), Nothing, "let inputs stay"),
    opt(Id::List, ("l", "list"), Nothing, "show sizes and ratio of compressed files"),
    opt(Id::Licence, ("L", "license"), Nothing, "show the licence and exit"),
    opt(Id::NoName, ("n", "no-name"), Nothing, "neither store nor restore name and time"),
    opt(Id::Name, ("N", "name"), Nothing, "store or restore name and time"),
    opt(Id::Quiet, ("q", "quiet"), Nothing, "print no warnings"),
    opt(Id::Quiet, ("", "silent"), Nothing, ""),
    opt(Id::Recursive, ("r", "recursive"), Nothing, "enter directories; several files at once"),
    opt(
        Id::Rsyncable,
        ("", "rsyncable"),
        Nothing,
        "let the data decide where blocks end, so that a\nsmall change of the input changes little",
    ),
    opt(Id::Suffix, ("S", "suffix"), Required("SUF"), "use SUF in place of .gz"),
    opt(
        Id::Synchronous,
        ("", "synchronous"),
        Nothing,
        "remove an input only when its output is on stable\nstorage",
    ),
    opt(Id::Test, ("t", "test"), Nothing, "decompress, compare sums and lengths, write nothing"),
    opt(Id::Verbose, ("v", "verbose"), Nothing, "print name and ratio of every file"),
    opt(Id::Version, ("V", "version"), Nothing, "show the version and exit"),
    opt(Id::Fast, ("", "fast"), Nothing, "stands for -1"),
    opt(Id::Best, ("", "best"), Nothing, "stands for -9"),
    opt(Id::Level, ("123456789", ""), Digits, "level: -1 is fast, -9 small, -6 the default"),
    opt(Id::Ascii, ("a", "ascii"), Nothing, ""),
    opt(Id::Bits, ("b", "bits"), Required("BITS"), ""),
    opt(Id::NoTime, ("m", ""), Nothing, ""),
    opt(Id::Time, ("M", ""), Nothing, ""),
    opt(Id::PresumeTerminal, ("", "-presume-input-tty"), Nothing, ""),
    opt(Id::Lzw, ("Z", "lzw"), Nothing, ""),
    own(
        Id::Atomic,
        "atomic",
        Nothing,
        "give outputs their names when they are complete\n(always so; refused with -c)",
    ),
    own(
        Id::Cache,
        "cache",
        Required("POLICY"),
        "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
    )
    .with(CACHE_VALUES),
    own(Id::Durable, "durable", Nothing, "the same as --synchronous"),
    gentle(Id::Gentle),
    own(
        Id::Index,
        "index",
        Required("FILE"),
        "decompress one file on all processors by the index in\nFILE, which is written where it does not exist",
    ),
    own(Id::Job, "job", Required("NAME"), JOB),
    own(Id::Jobs, "jobs", Required("N"), "workers (default: one for each processor)"),
    own(Id::Metrics, "metrics", Required("FILE"), METRICS),
    own(
        Id::Progress,
        "progress",
        Optional("WHEN"),
        "show progress on standard error: always, never, auto",
    )
    .with(WHEN_VALUES),
    own(
        Id::Sum,
        "sum",
        Required("ALGORITHM"),
        "print a digest of the original data on standard\nerror: blake3, xxh3-64, sha256, md5, ...",
    )
    .with(DIGEST_VALUES),
];

/// Returns the page of `--help`.
pub(super) fn help(program: &str) -> Page {
    let shown: Vec<Opt<Id>> =
        OPTIONS.iter().filter(|option| !option.help.is_empty()).copied().collect();
    let replaces = "An output has its name only\nwhen it is complete, and owner, mode, times and \
                    attributes of the input.";
    let (does, examples) = match program {
        "gunzip" => (
            format!("Replace every FILE by its original. {replaces}"),
            [
                ("haul gunzip dump.sql.gz", "replace a file by its original"),
                ("haul gunzip -t *.gz", "check files, and write nothing"),
            ],
        ),
        "zcat" => (
            "Write the originals of all FILEs to standard output.".to_owned(),
            [
                ("haul zcat log.2.gz log.1.gz | sort", "sort what two files contain"),
                ("haul zcat --cache=drop dump.sql.gz | psql", "leave no pages in the page cache"),
            ],
        ),
        _ => (
            format!("Replace every FILE by a compressed one. {replaces}"),
            [
                ("haul gzip -9 dump.sql", "replace a file by a compressed one"),
                (
                    "haul gzip -k --cache=drop dump.sql",
                    "keep the file, and not its pages in memory",
                ),
            ],
        ),
    };
    Page::new(format!(
        "Usage: {program} [OPTION]... [FILE]...\n{does}\n\n{VALUES}{STANDARD_INPUT}\n"
    ))
    .options(&shown, Origin::Gnu)
    .heading(OWN_OPTIONS)
    .options(&shown, Origin::Haul)
    .text("\nThe output is the same for any number of workers.\n")
    .examples(examples)
    .exit("The exit status is 0 for success, 1 for an error, 2 for a warning.")
}

/// Returns the text of `--license` and `--version`. Scripts look for the word of its second line in that of gzip.
pub(super) fn licence(program: &str) -> String {
    let text = crate::option::help::version(program);
    text.replacen('\n', "\nCopyright (c) the haul authors.\n", 1)
}
