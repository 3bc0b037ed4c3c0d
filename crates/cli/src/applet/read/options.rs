//! The options of `read`, and `--help`.

use crate::getopt::Takes::Required;
use crate::getopt::{Opt, Origin, own};
use crate::option::stream::{StreamId, shared};
use crate::page::Page;

/// An option of `read`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Stream(StreamId),
    Offset,
    Length,
}

/// Returns all options.
pub(super) fn all_options() -> Vec<Opt<Id>> {
    let mut all = vec![
        own(Id::Offset, "offset", Required("N"), "begin at byte N of each FILE"),
        own(Id::Length, "length", Required("N"), "read at most N bytes of each FILE"),
    ];
    all.extend(shared(Id::Stream));
    all
}

/// Returns the page of `--help`.
pub(super) fn help(all: &[Opt<Id>]) -> Page {
    Page::new(
        "Usage: haul read [OPTION]... FILE...\n\
         Write FILEs to standard output, one after the other, with many large reads in\n\
         flight. FILE - is standard input.\n\n",
    )
    .options(all, Origin::Haul)
    .text(
        "\nWith --cache=auto haul reads cached pages from the cache and keeps them there; of\n\
         files of 8 MiB and more it adds no pages. Holes are written as zeros without reads.\n\
         Digests go to standard error, as lines of a check file.\n",
    )
    .examples([
        ("haul read dump.sql | zstd | haul write dump.sql.zst", "compress a large file"),
        (
            "haul read --bandwidth=50M --sum=sha256 dump.sql | ssh host 'cat > dump.sql'",
            "send a file, and print its digest",
        ),
    ])
    .exit("The exit status is 0 if every FILE was written out completely, 1 otherwise.")
}
