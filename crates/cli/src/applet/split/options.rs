//! The options of `split`: one table, from which arguments are read and `--help` is written.

use std::os::unix::ffi::OsStrExt as _;

use haul_io::split::Alphabet;

use super::settings::Settings;
use crate::getopt::Takes::{Digits, Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, opt};
use crate::option::data::{cache, own_cache};
use crate::option::effect::{Effect, help_row, read, read_optional, set, set_to, version_row};
use crate::option::gentle::{begins, gentle};
use crate::option::help::{CACHE, STANDARD_INPUT, VALUES};
use crate::page::Page;

/// What GNU understands and does not document: the old form of `-l`, and for its tests the size of
/// a read.
pub(super) const UNDOCUMENTED: &[Opt<Effect<Settings>>] = &[
    opt(read(|split, digits| Ok(split.old_lines(&digits)?)), ("0123456789", ""), Digits, ""),
    opt(
        read(|split, bytes| Ok(split.set_buffer_bytes(&bytes)?)),
        ("", "-io-blksize"),
        Required("SIZE"),
        "",
    ),
];

/// All options that `--help` shows.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        read(|split, length| Ok(split.set_suffix_length(&length)?)),
        ("a", "suffix-length"),
        Required("N"),
        "characters of a suffix (default: 2, more if needed)",
    ),
    opt(
        read(|split, suffix| Ok(split.set_additional(suffix)?)),
        ("", "additional-suffix"),
        Required("SUFFIX"),
        "end each name in SUFFIX, behind the counter",
    ),
    opt(
        read(|split, bytes| Ok(split.cut_by_bytes(&bytes)?)),
        ("b", "bytes"),
        Required("SIZE"),
        "SIZE bytes for each piece",
    ),
    opt(
        read(|split, bytes| Ok(split.cut_by_line_bytes(&bytes)?)),
        ("C", "line-bytes"),
        Required("SIZE"),
        "whole lines, up to SIZE bytes for each piece",
    ),
    opt(
        set(|split| split.alphabet = Alphabet::Decimal),
        ("d", ""),
        Nothing,
        "count in decimal digits",
    ),
    opt(
        read_optional(|split, from| Ok(split.suffix(Alphabet::Decimal, from.as_deref())?)),
        ("", "numeric-suffixes"),
        Optional("FROM"),
        "-d; begin at FROM",
    ),
    opt(
        set(|split| split.alphabet = Alphabet::Hexadecimal),
        ("x", ""),
        Nothing,
        "count in hexadecimal digits",
    ),
    opt(
        read_optional(|split, from| Ok(split.suffix(Alphabet::Hexadecimal, from.as_deref())?)),
        ("", "hex-suffixes"),
        Optional("FROM"),
        "-x; begin at FROM",
    ),
    opt(
        set(|split| split.elide = true),
        ("e", "elide-empty-files"),
        Nothing,
        "with -n: make no empty pieces",
    ),
    opt(
        set_to(|split, command| split.filter = Some(command)),
        ("", "filter"),
        Required("COMMAND"),
        "start COMMAND for each piece and write to it; $FILE\nis the name of the piece",
    ),
    opt(
        read(|split, lines| Ok(split.cut_by_lines(&lines)?)),
        ("l", "lines"),
        Required("NUMBER"),
        "NUMBER lines for each piece",
    ),
    opt(
        read(|split, chunks| Ok(split.cut_by_number(&chunks)?)),
        ("n", "number"),
        Required("CHUNKS"),
        "make this many pieces, or one of them. See below",
    ),
    opt(
        read(|split, separator| Ok(split.separate(separator.as_bytes())?)),
        ("t", "separator"),
        Required("SEP"),
        "lines end in SEP, a character or '\\0' for NUL",
    ),
    opt(
        set(|split| split.unbuffered = true),
        ("u", "unbuffered"),
        Nothing,
        "with -n r/N: write each line as soon as it is read",
    ),
    opt(
        set(|split| split.verbose = true),
        ("", "verbose"),
        Nothing,
        "print the name of each piece before it is opened",
    ),
    own_cache(read(|split, policy| {
        split.policy.cache = cache(&policy)?;
        Ok(())
    })),
    gentle(begins()),
    help_row(),
    version_row(),
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
