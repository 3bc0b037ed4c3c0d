//! The options of `write`, and `--help`.

use crate::getopt::Takes::{Command, Nothing, Required};
use crate::getopt::{Opt, Origin, own};
use crate::option::stream::{StreamId, shared};
use crate::page::Page;

/// An option of `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    Stream(StreamId),
    AllowEmpty,
    Atomic,
    Buffer,
    From,
    Fsync,
    Size,
    Sparse,
    Watermarks,
}

/// Returns all options.
pub(super) fn all_options() -> Vec<Opt<Id>> {
    let mut all = vec![
        own(
            Id::AllowEmpty,
            "allow-empty",
            Nothing,
            "with --atomic: also take an input without a byte",
        ),
        own(
            Id::Atomic,
            "atomic",
            Nothing,
            "give each FILE its name only when it is complete;\nkeep the old file until then",
        ).or_default(),
        own(
            Id::Buffer,
            "buffer",
            Required("SIZE"),
            "keep up to SIZE bytes in memory between input and\noutput, as in 1G",
        ).or_default(),
        own(
            Id::From,
            "from",
            Command("COMMAND"),
            "write what COMMAND prints; with --atomic only if\nits exit status is 0. See below",
        ),
        own(Id::Fsync, "fsync", Nothing, "exit only when the data is on the device").or_default(),
        own(
            Id::Size,
            "size",
            Required("N"),
            "reserve N bytes at once; fail if the input has\nanother size",
        ),
        own(Id::Sparse, "sparse", Nothing, "leave out blocks of zeros in regular files").or_default(),
        own(
            Id::Watermarks,
            "watermarks",
            Required("LOW,HIGH"),
            "with --buffer: start writing when it is HIGH\npercent full, until it is empty; after it was \
             full,\nread again below LOW percent (default 50,75)",
        ).or_default(),
    ];
    all.extend(shared(Id::Stream));
    all
}

/// Returns the page of `--help`.
pub(super) fn help(all: &[Opt<Id>]) -> Page {
    Page::new(
        "Usage: haul write [OPTION]... FILE...\n  \
           or:  haul write [OPTION]... FILE... --from -- COMMAND [ARGUMENT]...\n  \
           or:  haul write [OPTION]... FILE... --from='COMMAND | COMMAND...'\n\
         Write standard input, or what a command prints, to each FILE, with many large\n\
         writes in flight. FILE - is standard output.\n\n",
    )
    .options(all, Origin::Haul)
    .text(
        "\nWith --cache=auto what is larger than 2 MiB goes past the page cache, and\n\
         nothing of it stays there. Digests are printed on standard output, or on\n\
         standard error where that is a FILE, as lines of a check file.\n\n\
         A pipe cannot tell the end of the data from the end of a program that failed.\n\
         So with --from haul starts the program itself: if it ends with an exit status\n\
         other than 0, or by a signal, no digest is printed, each FILE of --atomic stays\n\
         as it was, and the exit status is that of the program (128 and the number of\n\
         the signal; 127 if there is no such program, 126 if it cannot be run). All words\n\
         behind '--from --' are the command. One word is a line for bash, or for an sh\n\
         that has 'pipefail': then each program of a pipeline has to succeed. The command\n\
         has the standard input and standard error of haul.\n\n\
         Behind a pipe of the shell's, haul write publishes what it received, and the\n\
         shell reports the status of the last program: 'set -o pipefail' reports the\n\
         failure, but too late to keep the old file. --size helps where the size is\n\
         known: if the input has any other length, the exit status is 1 and no digest is\n\
         printed. With --atomic each FILE then stays as it was; without, FILE contains\n\
         the bytes that came. With --atomic an input without a byte is refused, too,\n\
         unless --allow-empty or --size=0 is given.\n",
    )
    .examples([
        (
            "haul write --atomic db.sql.zst --from 'pg_dump db | zstd'",
            "replace last night's dump only by a complete one",
        ),
        (
            "set -o pipefail; haul read db.sql | zstd | haul write --atomic db.sql.zst",
            "compress a file into one that appears when it is complete",
        ),
        (
            "haul write --buffer=1G --fsync /dev/nst0 < dump.tar",
            "write to a tape that must not stop",
        ),
    ])
    .exit(
        "The exit status is 0 if every FILE received all data, that of COMMAND if it\nfailed, and 1 \
         otherwise.",
    )
}
