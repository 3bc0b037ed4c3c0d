//! The options of `split`: one table, from which arguments are read and `--help` is written.

use super::cp_help::options;
use crate::getopt::Takes::{Digits, Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, opt};

/// An option of `split`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    AdditionalSuffix,
    Bytes,
    Digits,
    Elide,
    Filter,
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
        "generate suffixes of length N (default 2)",
    ),
    opt(
        Id::AdditionalSuffix,
        ("", "additional-suffix"),
        Required("SUFFIX"),
        "append an additional SUFFIX to file names",
    ),
    opt(Id::Bytes, ("b", "bytes"), Required("SIZE"), "put SIZE bytes per output file"),
    opt(
        Id::LineBytes,
        ("C", "line-bytes"),
        Required("SIZE"),
        "put at most SIZE bytes of records per output file",
    ),
    opt(Id::Numeric, ("d", ""), Nothing, "use numeric suffixes starting at 0, not alphabetic"),
    opt(
        Id::Numeric,
        ("", "numeric-suffixes"),
        Optional("FROM"),
        "same as -d, but allow setting the start value",
    ),
    opt(Id::Hexadecimal, ("x", ""), Nothing, "use hex suffixes starting at 0, not alphabetic"),
    opt(
        Id::Hexadecimal,
        ("", "hex-suffixes"),
        Optional("FROM"),
        "same as -x, but allow setting the start value",
    ),
    opt(
        Id::Elide,
        ("e", "elide-empty-files"),
        Nothing,
        "do not generate empty output files with '-n'",
    ),
    opt(
        Id::Filter,
        ("", "filter"),
        Required("COMMAND"),
        "write to shell COMMAND; file name is $FILE",
    ),
    opt(Id::Lines, ("l", "lines"), Required("NUMBER"), "put NUMBER lines/records per output file"),
    opt(
        Id::Number,
        ("n", "number"),
        Required("CHUNKS"),
        "generate CHUNKS output files; see explanation below",
    ),
    opt(
        Id::Separator,
        ("t", "separator"),
        Required("SEP"),
        "use SEP instead of newline as the record separator;\n  '\\0' (zero) specifies the NUL \
         character",
    ),
    opt(
        Id::Unbuffered,
        ("u", "unbuffered"),
        Nothing,
        "immediately copy input to output with '-n r/...'",
    ),
    opt(
        Id::Verbose,
        ("", "verbose"),
        Nothing,
        "print a diagnostic just before each\n  output file is opened",
    ),
    opt(Id::Help, ("", "help"), Nothing, "display this help and exit"),
    opt(Id::Version, ("", "version"), Nothing, "output version information and exit"),
];

const NOTES: &str = "
The SIZE argument is an integer and optional unit (example: 10K is 10*1024).
Units are K,M,G,T,P,E,Z,Y,R,Q (powers of 1024) or KB,MB,... (powers of 1000).
Binary prefixes can be used, too: KiB=K, MiB=M, and so on.

CHUNKS may be:
  N       split into N files based on size of input
  K/N     output Kth of N to stdout
  l/N     split into N files without splitting lines/records
  l/K/N   output Kth of N to stdout without splitting lines/records
  r/N     like 'l' but use round robin distribution
  r/K/N   likewise but only output Kth of N to stdout

Regular files are split by -b, -n N and -n l/N on several processors, and share
their blocks with the pieces where the file system can.
";

/// Returns the text of `--help`.
pub(super) fn help(program: &str) -> String {
    format!(
        "Usage: {program} [OPTION]... [FILE [PREFIX]]\n\
         Output pieces of FILE to PREFIXaa, PREFIXab, ...;\n\
         default size is 1000 lines, and default PREFIX is 'x'.\n\n\
         With no FILE, or when FILE is -, read standard input.\n\n\
         Mandatory arguments to long options are mandatory for short options too.\n{}{NOTES}",
        options(OPTIONS, Origin::Gnu)
    )
}
