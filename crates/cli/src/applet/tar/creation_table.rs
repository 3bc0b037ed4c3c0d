//! The table of GNU's options about new archives.

use haul_archive::format::WriteFormat;
use haul_sys::fs::Follow;

use super::effect::{Effect, nothing, read, set};
use super::reading::Reading;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, long, opt};

/// Options of `-c`.
pub(super) const CREATION: &[Opt<Effect<Reading>>] = &[
    opt(
        read(|tar, name| tar.settings.creation.set_format_named(&name)),
        ("H", "format"),
        Required("FORMAT"),
        "with -c: gnu (default), oldgnu, posix (or pax), ustar\nor v7",
    ),
    long(
        set(|tar| tar.settings.creation.set_format(WriteFormat::Posix)),
        "posix",
        Nothing,
        "--format=posix",
    ),
    long(
        read(|tar, list| tar.settings.creation.add_pax(&list)),
        "pax-option",
        Required("LIST"),
        "change extended headers: KEYWORD=VALUE for the\narchive, KEYWORD:=VALUE for each member,\ndelete=PATTERN, exthdr.name=NAME, exthdr.mtime=TIME\n(and globexthdr.)",
    ),
    long(
        set(|tar| tar.settings.creation.set_format(WriteFormat::V7)),
        "old-archive",
        Nothing,
        "--format=v7",
    ),
    long(set(|tar| tar.settings.creation.set_format(WriteFormat::V7)), "portability", Nothing, ""),
    long(
        read(|tar, order| tar.settings.creation.set_sort(&order)),
        "sort",
        Required("ORDER"),
        "order within a directory: none (default) or name",
    ),
    long(
        read(|tar, name| tar.settings.creation.set_owner(&name)),
        "owner",
        Required("NAME[:UID]"),
        "the owner of all members",
    ),
    long(
        read(|tar, name| tar.settings.creation.set_group(&name)),
        "group",
        Required("NAME[:GID]"),
        "the group of all members",
    ),
    long(
        read(|tar, file| tar.settings.creation.map_owners(&file)),
        "owner-map",
        Required("FILE"),
        "new owners by lines 'OLD NEW', where OLD is NAME or\n+UID, and NEW is NAME[:UID], :UID or +UID",
    ),
    long(
        read(|tar, file| tar.settings.creation.map_groups(&file)),
        "group-map",
        Required("FILE"),
        "new groups likewise",
    ),
    long(
        read(|tar, changes| tar.settings.creation.set_mode(&changes)),
        "mode",
        Required("CHANGES"),
        "change permissions as chmod does",
    ),
    long(
        read(|tar, moment| tar.settings.creation.set_mtime(&moment)),
        "mtime",
        Required("TIME"),
        "the time of all members: @SECONDS, a date in UTC\n('2026-01-31 12:00 UTC'), or that of a file",
    ),
    long(
        set(|tar| tar.settings.creation.clamps_mtime = true),
        "clamp-mtime",
        Nothing,
        "only of members that are younger",
    ),
    opt(
        set(|tar| tar.settings.creation.follow = Follow::Yes),
        ("h", "dereference"),
        Nothing,
        "archive what symbolic links point to",
    ),
    opt(
        set(|tar| tar.settings.creation.keep_holes()),
        ("S", "sparse"),
        Nothing,
        "with -c: store holes of files as holes",
    ),
    long(
        read(|tar, version| tar.settings.creation.set_sparse_version(&version)),
        "sparse-version",
        Required("VERSION"),
        "-S, in the form 1.0 (default), 0.1 or 0.0 of posix",
    ),
    long(
        read(|tar, method| tar.settings.creation.set_holes(&method)),
        "hole-detection",
        Required("METHOD"),
        "find holes by asking the file system (seek, default)\nor by reading the whole file (raw); implies -S",
    ),
    long(
        set(|tar| tar.settings.creation.copies_hard_links = true),
        "hard-dereference",
        Nothing,
        "archive each name of a file as a file",
    ),
    opt(
        set(|tar| tar.settings.creation.checks_links = true),
        ("l", "check-links"),
        Nothing,
        "name the files some of whose names are not archived",
    ),
    opt(
        read(|tar, moment| tar.settings.creation.set_newer(&moment, true)),
        ("N", "newer"),
        Required("TIME"),
        "only files whose data or attributes changed since TIME",
    ),
    long(
        read(|tar, moment| tar.settings.creation.set_newer(&moment, true)),
        "after-date",
        Required("TIME"),
        "",
    ),
    long(
        read(|tar, moment| tar.settings.creation.set_newer(&moment, false)),
        "newer-mtime",
        Required("TIME"),
        "only files whose data changed since TIME",
    ),
    long(
        read(|tar, method| tar.settings.creation.set_atime(&method)),
        "atime-preserve",
        Optional("METHOD"),
        "reading changes no time of access: it is set again\n(replace, default) or never changed (system)",
    ),
    long(
        set(|tar| tar.settings.creation.stays_on_device = true),
        "one-file-system",
        Nothing,
        "do not enter other file systems",
    ),
    long(
        set(|tar| tar.settings.creation.ignores_failed_read = true),
        "ignore-failed-read",
        Nothing,
        "files that cannot be read do not make -c fail",
    ),
    long(
        set(|tar| tar.settings.creation.removes_files = true),
        "remove-files",
        Nothing,
        "with -c: remove what was archived, once the archive\nis complete; what changed meanwhile stays",
    ),
    opt(
        set(|tar| tar.settings.own.verifies = true),
        ("W", "verify"),
        Nothing,
        "with -c, -r and -x: read the archive and the files\nagain, and compare them; see below",
    ),
    opt(
        read(|tar, blocks| tar.settings.creation.set_blocking(&blocks)),
        ("b", "blocking-factor"),
        Required("BLOCKS"),
        "blocks of 512 bytes in a record (default: 20)",
    ),
    long(
        read(|tar, bytes| tar.settings.creation.set_record_bytes(&bytes)),
        "record-size",
        Required("BYTES"),
        "bytes of a record, in another way",
    ),
    opt(
        nothing(),
        ("B", "read-full-records"),
        Nothing,
        "records are read whole (haul always does)",
    ),
];
