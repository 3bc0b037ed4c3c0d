//! The options of `split`: one table, from which arguments are read and `--help` is written.

use crate::getopt::Takes::{Digits, Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, opt};
use crate::option::data::own_cache;
use crate::option::gentle::gentle;
use crate::option::help::{CACHE, STANDARD_INPUT, VALUES};
use crate::page::Page;

/// An option of `split`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    AdditionalSuffix,
    Bytes,
    Cache,
    Digits,
    Elide,
    Filter,
    Gentle,
    Help,
    Hexadecimal,
    IoBlockSize,
    LineBytes,
    Lines,
    Number,
    Numeric,
    Separator,
    SuffixLength,
    Unbuffered,
    Verbose,
    Version,
}

/// What GNU understands and does not document: the old form of `-l`, and for its tests the size of
/// a read.
pub(super) const UNDOCUMENTED: &[Opt<Id>] = &[
    opt(Id::Digits, ("0123456789", ""), Digits, ""),
    opt(Id::IoBlockSize, ("", "-io-blksize"), Required("SIZE"), ""),
];

/// All options that `--help` shows.
pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(
        Id::SuffixLength,
        ("a", "suffix-length"),
        Required("N"),
        "characters of a suffix (default: 2, more if needed)",
    ),
    opt(
        Id::AdditionalSuffix,
        ("", "additional-suffix"),
        Required("SUFFIX"),
        "end each name in SUFFIX, behind the counter",
    ),
    opt(Id::Bytes, ("b", "bytes"), Required("SIZE"), "SIZE bytes for each piece"),
    opt(
        Id::LineBytes,
        ("C", "line-bytes"),
        Required("SIZE"),
        "whole lines, up to SIZE bytes for each piece",
    ),
    opt(Id::Numeric, ("d", ""), Nothing, "count in decimal digits"),
    opt(Id::Numeric, ("", "numeric-suffixes"), Optional("FROM"), "-d; begin at FROM"),
    opt(Id::Hexadecimal, ("x", ""), Nothing, "count in hexadecimal digits"),
    opt(Id::Hexadecimal, ("", "hex-suffixes"), Optional("FROM"), "-x; begin at FROM"),
    opt(Id::Elide, ("e", "elide-empty-files"), Nothing, "with -n: make no empty pieces"),
    opt(
        Id::Filter,
        ("", "filter"),
        Required("COMMAND"),
        "start COMMAND for each piece and write to it; $FILE\nis the name of the piece",
    ),
    opt(Id::Lines, ("l", "lines"), Required("NUMBER"), "NUMBER lines for each piece"),
    opt(
        Id::Number,
        ("n", "number"),
        Required("CHUNKS"),
        "make this many pieces, or one of them. See below",
    ),
    opt(
        Id::Separator,
        ("t", "separator"),
        Required("SEP"),
        "lines end in SEP, a character or '\\0' for NUL",
    ),
    opt(
        Id::Unbuffered,
        ("u", "unbuffered"),
        Nothing,
        "with -n r/N: write each line as soon as it is read",
    ),
    opt(Id::Verbose, ("", "verbose"), Nothing, "print the name of each piece before it is opened"),
    own_cache(Id::Cache),
    gentle(Id::Gentle),
    opt(Id::Help, ("", "help"), Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Nothing, "show the version and exit"),
];

const NOTES: &str = "
SIZE is a number and a unit: K, M, G and so on up to Q, or KiB, MiB and so on, are
powers of 1024; KB, MB and so on are powers of 1000.

CHUNKS is one of:
  N       N pieces of the same size
  l/N     N pieces of about the same size, cut between lines
  r/N     N pieces that get the lines by turns
  K/N, l/K/N, r/K/N
          the K-th of these pieces alone, on standard output

Regular files are split by -b, -n N and -n l/N on several processors, and share
their blocks with the pieces where the file system can.
";

/// Returns the page of `--help`.
pub(super) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... [FILE [PREFIX]]\n\
         Cut FILE into pieces PREFIXaa, PREFIXab and so on: of 1000 lines, and with the\n\
         PREFIX x, by default.\n\n\
         {STANDARD_INPUT}\n{VALUES}"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading("An option that GNU split does not have")
    .options(OPTIONS, Origin::Haul)
    .text(CACHE)
    .text(NOTES)
    .examples([
        ("haul split -b 1G dump.sql dump.sql.", "cut a file into pieces of 1 GiB"),
        (
            "haul split -n l/8 --additional-suffix=.txt words",
            "cut a file into 8 pieces of whole lines",
        ),
    ])
    .exit("The exit status is 0 if all pieces were written, 1 otherwise.")
}
