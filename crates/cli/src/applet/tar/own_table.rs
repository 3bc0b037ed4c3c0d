//! The table of the options that only haul has.

use super::effect::{Effect, read, read_optional, set};
use super::reading::Reading;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, own};
use crate::option::data::{
    CACHE_VALUES, DIGEST_VALUES, REFLINK_VALUES, cache, marks, reflink, size,
};
use crate::option::gentle;
use crate::option::metrics::{job, metrics};
use crate::option::trust::algorithm;
use crate::value::{Dash, WHEN_VALUES, file, when};

/// All of them.
pub(super) const OWN: &[Opt<Effect<Reading>>] = &[
    own(
        set(|tar| tar.settings.own.atomic = true),
        "atomic",
        Nothing,
        "with -c: give the archive its name only when it is\ncomplete; with -x: likewise each file; keep an old\none until then",
    ),
    own(
        read(|tar, bytes| { tar.settings.own.buffer_bytes = Some(size("--buffer", &bytes)?); Ok(()) }),
        "buffer",
        Required("SIZE"),
        "keep up to SIZE bytes (at least 4M) in memory between\nthe archive and the files, so that a tape keeps\nstreaming; for archives that are no regular files,\nor with -c",
    ),
    own(
        read(|tar: &mut Reading, policy| { tar.settings.own.cache = cache(&policy)?; Ok(()) }),
        "cache",
        Required("POLICY"),
        "how to use the page cache for the files and the\narchive: auto (default), keep, drop, direct, restore",
    )
    .with(CACHE_VALUES),
    own(set(|tar| tar.settings.extraction.devices = true), "devices", Nothing, "with -x: make devices (default only with -p)"),
    own(
        set(|tar| tar.settings.own.is_dry = true),
        "dry-run",
        Nothing,
        "with -c and -x: write nothing; print each member, for\n-x with what would become of it, and for -c how large\nthe archive would be",
    ),
    own(
        set(|tar| tar.settings.own.durable = true),
        "durable",
        Nothing,
        "like --atomic, but publish a file only when it is on\nstable storage; at exit all names are there, too",
    ),
    own(
        read_optional(|tar, name| { tar.settings.own.errors = Some(file("--errors", name, Dash::NoOutput)?); Ok(()) }),
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names",
    ),
    own(
        read(|tar, bytes| tar.settings.creation.set_frame(&bytes)),
        "frame",
        Required("SIZE"),
        "with --zstd -c: bytes of the frames that can be\ndecompressed at the same time (default: 16M);\n0 for one frame",
    ),
    gentle::gentle(read(|_, _| Ok(gentle::begin()?))),
    own(
        read(|tar: &mut Reading, name| { tar.settings.own.algorithm = Some(algorithm("--hash", &name)?); Ok(()) }),
        "hash",
        Required("ALGO"),
        "use ALGO for --sum-file: blake3 (default), sha256,\nmd5, or another of those that 'haul hash --help' lists",
    )
    .with(DIGEST_VALUES),
    job(read_optional(|tar, name| Ok(tar.settings.own.metrics.set_job(name.as_deref())?))),
    own(read(|tar, count| tar.settings.extraction.set_jobs(&count)), "jobs", Required("N"), "number of workers (default: one for each processor, more on a server)"),
    own(
        set(|tar| tar.settings.own.is_json = true),
        "json",
        Nothing,
        "report members, differences, failures and the\nsummary as JSON lines on standard output",
    ),
    own(
        read(|tar, count| tar.settings.limits.set_entries(&count)),
        "max-entries",
        Required("N"),
        "with -x, -t, -d: stop after N members and the\ndirectories that their names need",
    ),
    own(
        read(|tar, bytes| tar.settings.limits.set_bytes(&bytes)),
        "max-size",
        Required("SIZE"),
        "with -x, -t, -d: stop before a member whose file,\nholes included, makes more than SIZE bytes of all,\nor when the decompressed archive is longer",
    ),
    own(
        read(|tar, bytes| { tar.settings.own.memory_bytes = Some(size("--memory", &bytes)?); Ok(()) }),
        "memory",
        Required("SIZE"),
        "with -x, -t, -d: let decompressing take SIZE bytes for\nwhat a Zstandard frame refers to (default: 128M, as\nzstd), and as much for frames at the same time",
    ),
    metrics(read_optional(|tar, file| Ok(tar.settings.own.metrics.set_file(file)?))),
    own(
        read_optional(|tar: &mut Reading, word| { tar.settings.own.progress = when("--progress", word.as_deref())?; Ok(()) }),
        "progress",
        Optional("WHEN"),
        "show bytes, rate and the side that is waited for on\nstandard error: always, never, or auto (default): if\nthat is a terminal and -c or -x is long",
    )
    .with(WHEN_VALUES),
    own(
        read_optional(|tar: &mut Reading, word| { tar.settings.own.reflink = Some(reflink(word.as_deref())?); Ok(()) }),
        "reflink",
        Optional("WHEN"),
        "share blocks of files and the archive: always, auto\n(default of -x) or never. See below",
    )
    .with(REFLINK_VALUES),
    own(
        set(|tar| tar.settings.own.resumes = true),
        "resume",
        Nothing,
        "with -x: go on after a run that did not finish: a\nfile with the size, time, mode, owner and bytes of\nthe archive stays, all others are made again",
    ),
    own(
        set(|tar| tar.settings.own.shows_stats = true),
        "stats",
        Nothing,
        "print a summary on standard error: members, bytes,\ntime, rate, and how long each side was waited for",
    ),
    own(
        read_optional(|tar, name| { tar.settings.own.sum_file = Some(file("--sum-file", name, Dash::NoOutput)?); Ok(()) }),
        "sum-file",
        Required("FILE"),
        "with -c, -r and -x: write the digest of each regular\nfile to FILE, as b3sum -c, sha256sum -c and so on\nread it",
    ),
    own(
        set(|tar| tar.settings.own.trusts_index = true),
        "trust-index",
        Nothing,
        "with -x, -t, -d and names: read only the frames that\nhold these members by the index of a Zstandard archive",
    ),
    own(
        read(|tar, percents| { tar.settings.own.marks = Some(marks(&percents)?); Ok(()) }),
        "watermarks",
        Required("LOW,HIGH"),
        "with --buffer: start emptying when it is HIGH percent\nfull, until it is empty; after it was full, fill again\nbelow LOW percent (default 50,75)",
    ),
];
