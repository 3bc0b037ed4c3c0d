//! The options of `cat`, and `--help`.

use crate::getopt::Takes::Nothing;
use crate::getopt::{Opt, Origin};
use crate::option::data::own_cache;
use crate::option::gentle::gentle;
use crate::option::help::{CACHE, STANDARD_INPUT};
use crate::page::Page;

/// An option of `cat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Cache,
    Gentle,
    ShowAll,
    NumberNonblank,
    Vends,
    ShowEnds,
    Number,
    Squeeze,
    Vtabs,
    ShowTabs,
    Ignored,
    Nonprinting,
    Help,
    Version,
}

const fn opt(id: Id, (short, long): (&'static str, &'static str), help: &'static str) -> Opt<Id> {
    crate::getopt::opt(id, (short, long), Nothing, help)
}

pub(super) const OPTIONS: &[Opt<Id>] = &[
    opt(Id::ShowAll, ("A", "show-all"), "stands for -vET"),
    opt(
        Id::NumberNonblank,
        ("b", "number-nonblank"),
        "number the lines that are not empty; overrides -n",
    ),
    opt(Id::Vends, ("e", ""), "stands for -vE"),
    opt(
        Id::ShowEnds,
        ("E", "show-ends"),
        "mark the end of each line: $, or ^M$ behind a\ncarriage return",
    ),
    opt(Id::Number, ("n", "number"), "number every line"),
    opt(
        Id::Squeeze,
        ("s", "squeeze-blank"),
        "print one empty line where several follow each\nother",
    ),
    opt(Id::Vtabs, ("t", ""), "stands for -vT"),
    opt(Id::ShowTabs, ("T", "show-tabs"), "print tabs as ^I"),
    opt(Id::Ignored, ("u", ""), "no effect"),
    opt(
        Id::Nonprinting,
        ("v", "show-nonprinting"),
        "print other control characters as ^X and bytes\nfrom 128 on as M-X; tabs and newlines stay",
    ),
    own_cache(Id::Cache),
    gentle(Id::Gentle),
    opt(Id::Help, ("", "help"), "show this text and exit"),
    opt(Id::Version, ("", "version"), "show the version and exit"),
];

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: cat [OPTION]... [FILE]...\n\
         Write every FILE to standard output, one behind the other.\n\n\
         {STANDARD_INPUT}\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .heading("An option that GNU cat does not have")
    .options(OPTIONS, Origin::Haul)
    .text(CACHE)
    .examples([("haul cat head - tail", "print standard input between two files")])
    .exit("The exit status is 0 if everything was written, 1 otherwise.")
}
