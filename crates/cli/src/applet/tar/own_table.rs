//! The table of the options that only haul has.

use super::options::{Id, OwnId};
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, own};
use crate::option::data::{CACHE_VALUES, DIGEST_VALUES, REFLINK_VALUES};
use crate::option::gentle::gentle;
use crate::option::metrics::{JOB, METRICS};
use crate::value::WHEN_VALUES;

/// All of them.
pub(super) const OWN: &[Opt<Id>] = &[
    own(
        Id::Own(OwnId::Atomic),
        "atomic",
        Nothing,
        "with -c: give the archive its name only when it is\ncomplete; with -x: likewise each file; keep an old\none until then",
    ),
    own(
        Id::Own(OwnId::Buffer),
        "buffer",
        Required("SIZE"),
        "keep up to SIZE bytes (at least 4M) in memory between\nthe archive and the files, so that a tape keeps\nstreaming; for archives that are no regular files,\nor with -c",
    ),
    own(
        Id::Own(OwnId::Cache),
        "cache",
        Required("POLICY"),
        "how to use the page cache for the files and the\narchive: auto (default), keep, drop, direct, restore",
    )
    .with(CACHE_VALUES),
    own(Id::Devices, "devices", Nothing, "with -x: make devices (default only with -p)"),
    own(
        Id::Own(OwnId::DryRun),
        "dry-run",
        Nothing,
        "with -c and -x: write nothing; print each member, for\n-x with what would become of it, and for -c how large\nthe archive would be",
    ),
    own(
        Id::Own(OwnId::Durable),
        "durable",
        Nothing,
        "like --atomic, but publish a file only when it is on\nstable storage; at exit all names are there, too",
    ),
    own(
        Id::Own(OwnId::Errors),
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names",
    ),
    own(
        Id::Frame,
        "frame",
        Required("SIZE"),
        "with --zstd -c: bytes of the frames that can be\ndecompressed at the same time (default: 16M);\n0 for one frame",
    ),
    gentle(Id::Own(OwnId::Gentle)),
    own(
        Id::Own(OwnId::Hash),
        "hash",
        Required("ALGO"),
        "use ALGO for --sum-file: blake3 (default), sha256,\nmd5, or another of those that 'haul hash --help' lists",
    )
    .with(DIGEST_VALUES),
    own(Id::Own(OwnId::Job), "job", Required("NAME"), JOB),
    own(Id::Jobs, "jobs", Required("N"), "number of workers (default: one for each processor, more on a server)"),
    own(
        Id::Own(OwnId::Json),
        "json",
        Nothing,
        "report members, differences, failures and the\nsummary as JSON lines on standard output",
    ),
    own(
        Id::MaxEntries,
        "max-entries",
        Required("N"),
        "with -x, -t, -d: stop after N members and the\ndirectories that their names need",
    ),
    own(
        Id::MaxSize,
        "max-size",
        Required("SIZE"),
        "with -x, -t, -d: stop before a member whose file,\nholes included, makes more than SIZE bytes of all,\nor when the decompressed archive is longer",
    ),
    own(
        Id::Own(OwnId::Memory),
        "memory",
        Required("SIZE"),
        "with -x, -t, -d: let decompressing take SIZE bytes for\nwhat a Zstandard frame refers to (default: 128M, as\nzstd), and as much for frames at the same time",
    ),
    own(Id::Own(OwnId::Metrics), "metrics", Required("FILE"), METRICS),
    own(
        Id::Own(OwnId::Progress),
        "progress",
        Optional("WHEN"),
        "show bytes, rate and the side that is waited for on\nstandard error: always, never, or auto (default): if\nthat is a terminal and -c or -x is long",
    )
    .with(WHEN_VALUES),
    own(
        Id::Own(OwnId::Reflink),
        "reflink",
        Optional("WHEN"),
        "share blocks of files and the archive: always, auto\n(default of -x) or never. See below",
    )
    .with(REFLINK_VALUES),
    own(
        Id::Own(OwnId::Resume),
        "resume",
        Nothing,
        "with -x: go on after a run that did not finish: a\nfile with the size, time, mode, owner and bytes of\nthe archive stays, all others are made again",
    ),
    own(
        Id::Own(OwnId::Stats),
        "stats",
        Nothing,
        "print a summary on standard error: members, bytes,\ntime, rate, and how long each side was waited for",
    ),
    own(
        Id::Own(OwnId::SumFile),
        "sum-file",
        Required("FILE"),
        "with -c, -r and -x: write the digest of each regular\nfile to FILE, as b3sum -c, sha256sum -c and so on\nread it",
    ),
    own(
        Id::Own(OwnId::TrustIndex),
        "trust-index",
        Nothing,
        "with -x, -t, -d and names: read only the frames that\nhold these members by the index of a Zstandard archive",
    ),
    own(
        Id::Own(OwnId::Watermarks),
        "watermarks",
        Required("LOW,HIGH"),
        "with --buffer: start emptying when it is HIGH percent\nfull, until it is empty; after it was full, fill again\nbelow LOW percent (default 50,75)",
    ),
];
