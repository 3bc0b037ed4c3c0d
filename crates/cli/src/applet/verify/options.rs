//! The options of `verify`, and `--help`.

use crate::getopt::{Opt, Origin, Takes, long};
use crate::option::data::{CACHE_VALUES, DIGEST_VALUES};
use crate::option::gentle::plain;
use crate::option::select::{SELECTION, SelectId, select_rows};
use crate::page::Page;

/// An option of `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Against,
    Algorithm,
    Cache,
    Gentle,
    IgnoreExtra,
    Jobs,
    Json,
    Quiet,
    Select(SelectId),
    Help,
    Version,
}

pub(super) const OPTIONS: &[Opt<Id>] = select_rows!(&[
    long(
        Id::Against,
        "against",
        Takes::Required("WHAT"),
        "a file of checksums, as sha256sum, b3sum and\nthe like write them, or another tree",
    ),
    long(
        Id::Algorithm,
        "algorithm",
        Takes::Required("NAME"),
        "what the checksums are, where the lines do not say\nit and it cannot be found out",
    )
    .with(DIGEST_VALUES),
    long(
        Id::Cache,
        "cache",
        Takes::Required("POLICY"),
        "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
    )
    .with(CACHE_VALUES),
    plain(Id::Gentle),
    long(Id::IgnoreExtra, "ignore-extra", Takes::Nothing, "files without a checksum are all right"),
    long(Id::Jobs, "jobs", Takes::Required("N"), "read with at most N workers"),
    long(Id::Json, "json", Takes::Nothing, "print findings and the summary as JSON lines"),
    Opt { short: "q", ..long(Id::Quiet, "quiet", Takes::Nothing, "print no findings") },
    long(Id::Help, "help", Takes::Nothing, "show this text and exit"),
    long(Id::Version, "version", Takes::Nothing, "show the version and exit"),
]);

/// Returns the names of all algorithms.
pub(super) fn algorithms() -> String {
    let names: Vec<&str> = haul_io::digest::TABLE.iter().map(|algorithm| algorithm.name).collect();
    names.join(", ")
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul verify [OPTION]... TREE --against SUMS\n  or:  haul verify [OPTION]... TREE \
         --against TREE\n\
         Say which files of TREE are missing, extra, or differ in their contents.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(format!(
        "\nLines of SUMS are those of sha256sum and its like ('DIGITS  NAME'), with or\n\
         without --tag, and of b3sum and xxhsum. Their names are relative to TREE, or\n\
         begin with the end of TREE's path, as those of 'haul cp --sum-file' do. Where\n\
         neither the lines nor the name of SUMS tell the algorithm, it is the one that fits\n\
         a file. Files are read from storage, as far as their pages can be dropped from the\n\
         cache. Algorithms are {}.\n",
        algorithms()
    ))
    .heading("Options that select entries")
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text("\nThe root of patterns is that of TREE, without its name.\n")
    .examples([
        (
            "haul cp -r A B --sum-file S && haul verify B --against S",
            "copy a tree, and compare the copy with what was read",
        ),
        ("haul verify B --against A", "compare the files of two trees"),
    ])
    .exit(EXIT)
}

const EXIT: &str = "\
The exit status is 0 if all files match, 1 if something is missing, extra or differs,
2 after an error: a file that cannot be read, or a malformed line.";
