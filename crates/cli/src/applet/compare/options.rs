//! The options of `compare`, and `--help`.

use haul_manifest::Aspect;

use crate::getopt::{Opt, Origin, Takes, Values, opt};
use crate::option::color::color;
use crate::option::data::CACHE_VALUES;
use crate::option::gentle::plain;
use crate::option::select::{SELECTION, SelectId, select_rows};
use crate::page::Page;

/// An option of `compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Contents,
    Only,
    Ignore,
    Cache,
    Color,
    Gentle,
    Exact,
    Json,
    Quiet,
    Select(SelectId),
    Help,
    Version,
}

pub(super) const OPTIONS: &[Opt<Id>] = select_rows!(&[
    opt(Id::Contents, ("c", "contents"), Takes::Nothing, "compare names, kinds and contents alone"),
    opt(Id::Only, ("", "only"), Takes::Required("ASPECTS"), "compare these aspects alone")
        .with(Values::List(aspects)),
    opt(Id::Ignore, ("", "ignore"), Takes::Required("ASPECTS"), "do not compare these aspects")
        .with(Values::List(aspects)),
    opt(
        Id::Cache,
        ("", "cache"),
        Takes::Required("POLICY"),
        "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
    )
    .with(CACHE_VALUES),
    color(Id::Color),
    plain(Id::Gentle),
    opt(
        Id::Exact,
        ("", "exact"),
        Takes::Nothing,
        "report also what one file system cannot store as\nthe other does",
    ),
    opt(Id::Json, ("", "json"), Takes::Nothing, "print differences and the summary as JSON lines"),
    opt(Id::Quiet, ("q", "quiet"), Takes::Nothing, "print nothing; the exit status says it"),
    opt(Id::Help, ("", "help"), Takes::Nothing, "show this text and exit"),
    opt(Id::Version, ("", "version"), Takes::Nothing, "show the version and exit"),
]);

fn aspects() -> Vec<&'static str> {
    Aspect::ALL.iter().map(|aspect| aspect.name()).collect()
}

const STORED: &str = "
Without --exact, times are compared as the file system with the coarser ones stores
them (FAT even seconds, exFAT hundredths), owners, permission bits, flags and
projects where both have them, and allocation between file systems of one kind. A list of NFS 4
that says no more than the permission bits is no difference. A line says what was
left out.
";

const BOTH: &str = "
The root of patterns is that of each tree, without its name. Merge files are those of
A. A name counts if its entry is selected in A or in B.
";

/// Returns the names of all aspects.
pub(super) fn names() -> String {
    aspects().join(", ")
}

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul compare [OPTION]... A B\n\
         Compare the trees (or files) A and B, and say what differs.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(format!("\nSeparate ASPECTS by commas; there are {}.\n", names()))
    .text(STORED)
    .heading("Options that select entries")
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(BOTH)
    .examples([
        ("haul compare photos /mnt/backup/photos", "compare two trees in everything"),
        ("haul compare --exclude='*.o' A B", "leave out object files"),
        ("haul compare --ignore=mtime,owner,group A B", "leave out times and owners"),
    ])
    .exit("The exit status is 0 if nothing differs, 1 if something does, 2 after an error.")
}
