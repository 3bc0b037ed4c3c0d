//! The table of GNU's options that give and select names.

use std::os::unix::ffi::OsStrExt as _;

use haul_archive::create::{Tag, TagScope};

use super::effect::{Effect, for_names, names, read, set, set_to};
use super::names::{BACKUPS, VERSION_CONTROL, without_slashes};
use super::reading::Reading;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, long, opt};

/// Options of all tasks; most hold for the names behind them.
pub(super) const NAMES: &[Opt<Effect<Reading>>] = &[
    for_names(opt(
        set_to(|tar, directory| tar.settings.names.directory(directory.as_bytes())),
        ("C", "directory"),
        Required("DIR"),
        "change to DIR for all names that follow",
    )),
    names(opt(
        read(|tar, file| tar.list(&file)),
        ("T", "files-from"),
        Required("FILE"),
        "read more names from FILE",
    )),
    names(long(
        set_to(|tar, name| tar.settings.names.operand(name.as_bytes())),
        "add-file",
        Required("NAME"),
        "NAME is a name, even if it begins with '-'",
    )),
    for_names(long(
        set(|tar| tar.settings.names.set_null(true)),
        "null",
        Nothing,
        "names in FILE end in NUL; implies the next",
    )),
    for_names(long(
        set(|tar| tar.settings.names.set_null(false)),
        "no-null",
        Nothing,
        "they end in newlines (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.is_verbatim = true),
        "verbatim-files-from",
        Nothing,
        "lines of FILE that begin with '-' are names",
    )),
    for_names(long(
        set(|tar| tar.settings.names.is_verbatim = false),
        "no-verbatim-files-from",
        Nothing,
        "they are options that select names (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.unquotes = true),
        "unquote",
        Nothing,
        "backslashes in FILE are escapes (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.unquotes = false),
        "no-unquote",
        Nothing,
        "they are part of the names",
    )),
    for_names(long(
        set_to(|tar, pattern| tar.settings.names.exclude(pattern.as_bytes())),
        "exclude",
        Required("PATTERN"),
        "leave out what matches PATTERN",
    )),
    for_names(opt(
        read(|tar, file| tar.settings.names.exclude_from(&file)),
        ("X", "exclude-from"),
        Required("FILE"),
        "leave out what matches a line of FILE",
    )),
    for_names(long(
        set(|tar| tar.settings.names.exclude_all(VERSION_CONTROL)),
        "exclude-vcs",
        Nothing,
        "leave out directories of version control",
    )),
    for_names(long(
        read(|tar, file| tar.settings.creation.exclude_tag(&file, TagScope::Contents)),
        "exclude-tag",
        Required("FILE"),
        "leave out what is beside FILE",
    )),
    for_names(long(
        read(|tar, file| tar.settings.creation.exclude_tag(&file, TagScope::Under)),
        "exclude-tag-under",
        Required("FILE"),
        "leave out FILE, too",
    )),
    for_names(long(
        read(|tar, file| tar.settings.creation.exclude_tag(&file, TagScope::All)),
        "exclude-tag-all",
        Required("FILE"),
        "leave out its directory, too",
    )),
    for_names(long(
        set(|tar| tar.settings.creation.tags.push(Tag::cache(TagScope::Contents))),
        "exclude-caches",
        Nothing,
        "the same for directories marked by CACHEDIR.TAG",
    )),
    for_names(long(
        set(|tar| tar.settings.creation.tags.push(Tag::cache(TagScope::Under))),
        "exclude-caches-under",
        Nothing,
        "",
    )),
    for_names(long(
        set(|tar| tar.settings.creation.tags.push(Tag::cache(TagScope::All))),
        "exclude-caches-all",
        Nothing,
        "",
    )),
    for_names(long(
        set(|tar| tar.settings.names.exclude_all(BACKUPS)),
        "exclude-backups",
        Nothing,
        "leave out backup and lock files",
    )),
    for_names(long(
        set(|tar| tar.settings.names.recurses = true),
        "recursion",
        Nothing,
        "a directory stands for all below (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.recurses = false),
        "no-recursion",
        Nothing,
        "it stands for itself alone",
    )),
    for_names(long(
        set(|tar| tar.settings.names.anchored = Some(true)),
        "anchored",
        Nothing,
        "patterns match from the beginning of a name",
    )),
    for_names(long(
        set(|tar| tar.settings.names.anchored = Some(false)),
        "no-anchored",
        Nothing,
        "also behind any '/' (default for --exclude)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.ignores_case = true),
        "ignore-case",
        Nothing,
        "patterns ignore case",
    )),
    for_names(long(
        set(|tar| tar.settings.names.ignores_case = false),
        "no-ignore-case",
        Nothing,
        "they do not (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.wildcards = Some(true)),
        "wildcards",
        Nothing,
        "use wildcards (default for --exclude)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.wildcards = Some(false)),
        "no-wildcards",
        Nothing,
        "compare literally",
    )),
    for_names(long(
        set(|tar| tar.settings.names.match_slash = true),
        "wildcards-match-slash",
        Nothing,
        "'*' matches '/' (default)",
    )),
    for_names(long(
        set(|tar| tar.settings.names.match_slash = false),
        "no-wildcards-match-slash",
        Nothing,
        "it does not",
    )),
    long(
        read(|tar, number| tar.set_occurrence(&number)),
        "occurrence",
        Optional("N"),
        "only the Nth member of each name (default: the first)",
    ),
    opt(
        set(|tar| tar.has_same_order = true),
        ("s", "preserve-order"),
        Nothing,
        "names are in the order of the archive (any will do)",
    ),
    long(set(|tar| tar.has_same_order = true), "same-order", Nothing, ""),
    opt(
        set_to(|tar, name| {
            tar.settings.names.starting = Some(without_slashes(name.as_bytes()).to_vec());
        }),
        ("K", "starting-file"),
        Required("NAME"),
        "begin at the member of this name",
    ),
];
