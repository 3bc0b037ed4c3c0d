//! The options of `write`, and `--help`.

use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, own};
use crate::option::stream::{StreamId, shared};
use crate::page::Page;

/// An option of `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Stream(StreamId),
    Atomic,
    Buffer,
    Fsync,
    Size,
    Sparse,
    Watermarks,
}

/// Returns all options.
pub(super) fn all_options() -> Vec<Opt<Id>> {
    let mut all = vec![
        own(
            Id::Atomic,
            "atomic",
            Nothing,
            "give each FILE its name only when it is complete;\nkeep the old file until then",
        ),
        own(
            Id::Buffer,
            "buffer",
            Required("SIZE"),
            "keep up to SIZE bytes in memory between input and\noutput, as in 1G",
        ),
        own(Id::Fsync, "fsync", Nothing, "exit only when the data is on the device"),
        own(
            Id::Size,
            "size",
            Required("N"),
            "reserve N bytes at once; fail if the input has\nanother size",
        ),
        own(Id::Sparse, "sparse", Nothing, "leave out blocks of zeros in regular files"),
        own(
            Id::Watermarks,
            "watermarks",
            Required("LOW,HIGH"),
            "with --buffer: start writing when it is HIGH\npercent full, until it is empty; after it was \
             full,\nread again below LOW percent (default 50,75)",
        ),
    ];
    all.extend(shared(Id::Stream));
    all
}

/// Returns the page of `--help`.
pub(super) fn help(all: &[Opt<Id>]) -> Page {
    Page::new(
        "Usage: haul write [OPTION]... FILE...\n\
         Write standard input to each FILE, with many large writes in flight. FILE - is\n\
         standard output.\n\n",
    )
    .options(all, Origin::Haul)
    .text(
        "\nWith --cache=auto what is larger than 2 MiB goes past the page cache, and\n\
         nothing of it stays there. Digests are printed on standard output, or on\n\
         standard error where that is a FILE, as lines of a check file.\n\n\
         A pipe cannot tell the end of the data from the end of a program that failed:\n\
         haul write publishes what it received, and the shell reports the status of\n\
         the last program. Use 'set -o pipefail' to learn of the failure, and --size\n\
         where the size is known: if the input has any other length, the exit status is\n\
         1 and no digest is printed. With --atomic each FILE then stays as it was;\n\
         without, FILE contains the bytes that came.\n",
    )
    .examples([
        (
            "set -o pipefail; haul read db.sql | zstd | haul write --atomic db.sql.zst",
            "compress a file into one that appears when it is complete",
        ),
        (
            "haul write --buffer=1G --fsync /dev/nst0 < dump.tar",
            "write to a tape that must not stop",
        ),
    ])
    .exit("The exit status is 0 if every FILE received all data, 1 otherwise.")
}
