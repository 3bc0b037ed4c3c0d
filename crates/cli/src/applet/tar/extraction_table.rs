//! The table of GNU's options about extracted files.

use std::os::unix::ffi::OsStrExt as _;

use haul_archive::extract::Existing;

use super::effect::{Effect, nothing, read, set, set_to};
use super::reading::Reading;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, long, opt};

/// Options of `-x`, and attributes, which `-c` has, too.
pub(super) const EXTRACTION: &[Opt<Effect<Reading>>] = &[
    opt(
        set(|tar| tar.settings.extraction.to_stdout = true),
        ("O", "to-stdout"),
        Nothing,
        "write files to standard output",
    ),
    opt(
        set(|tar| tar.settings.extraction.existing = Existing::Keep),
        ("k", "keep-old-files"),
        Nothing,
        "do not replace existing files; that is an error",
    ),
    long(
        set(|tar| tar.settings.extraction.existing = Existing::Skip),
        "skip-old-files",
        Nothing,
        "do not replace existing files, without a word",
    ),
    long(
        set(|tar| tar.settings.extraction.existing = Existing::KeepNewer),
        "keep-newer-files",
        Nothing,
        "nor those that are not older than the member",
    ),
    long(
        set(|tar| tar.settings.extraction.existing = Existing::Overwrite),
        "overwrite",
        Nothing,
        "write into existing files instead of replacing them",
    ),
    opt(
        set(|tar| tar.settings.extraction.existing = Existing::UnlinkFirst),
        ("U", "unlink-first"),
        Nothing,
        "remove existing files before anything is made",
    ),
    long(
        set(|tar| tar.settings.extraction.existing = Existing::Replace),
        "overwrite-dir",
        Nothing,
        "existing directories get new attributes (default)",
    ),
    long(
        set(|tar| tar.settings.extraction.existing = Existing::ReplaceKeepingDirectories),
        "no-overwrite-dir",
        Nothing,
        "they keep their attributes",
    ),
    long(
        set(|tar| tar.settings.extraction.keeps_links = true),
        "keep-directory-symlink",
        Nothing,
        "a link to a directory stays in place of a directory\nof the archive",
    ),
    long(
        set(|tar| tar.settings.extraction.removes_trees = true),
        "recursive-unlink",
        Nothing,
        "a directory that is in the way is removed with all\nthat is in it",
    ),
    opt(
        set(|tar| tar.settings.extraction.same_permissions = Some(true)),
        ("p", "preserve-permissions"),
        Nothing,
        "restore all permission bits (default for root)",
    ),
    long(
        set(|tar| tar.settings.extraction.same_permissions = Some(true)),
        "same-permissions",
        Nothing,
        "",
    ),
    long(
        set(|tar| tar.settings.extraction.same_permissions = Some(false)),
        "no-same-permissions",
        Nothing,
        "apply the umask",
    ),
    long(
        set(|tar| tar.settings.extraction.same_owner = Some(true)),
        "same-owner",
        Nothing,
        "restore owners (default for root)",
    ),
    long(
        set(|tar| tar.settings.extraction.same_owner = Some(false)),
        "no-same-owner",
        Nothing,
        "files belong to you",
    ),
    opt(
        set(Reading::set_old_owner),
        ("o", ""),
        Nothing,
        "with -x: --no-same-owner; with -c: --format=v7",
    ),
    opt(
        set(|tar| tar.settings.extraction.touch = true),
        ("m", "touch"),
        Nothing,
        "do not restore times",
    ),
    long(
        nothing(),
        "delay-directory-restore",
        Nothing,
        "set the attributes of directories at the end\n(haul always does)",
    ),
    long(nothing(), "no-delay-directory-restore", Nothing, ""),
    long(
        set(|tar| tar.set_attributes(|wanted| wanted.acls = true)),
        "acls",
        Nothing,
        "archive or restore access-control lists (in posix\narchives)",
    ),
    long(
        set(|tar| tar.set_attributes(|wanted| wanted.acls = false)),
        "no-acls",
        Nothing,
        "do not (default)",
    ),
    long(
        set(|tar| tar.set_attributes(|wanted| wanted.contexts = true)),
        "selinux",
        Nothing,
        "the same for contexts of SELinux",
    ),
    long(
        set(|tar| tar.set_attributes(|wanted| wanted.contexts = false)),
        "no-selinux",
        Nothing,
        "do not (default)",
    ),
    long(set(|tar| tar.set_xattrs(|_| {})), "xattrs", Nothing, "the same for extended attributes"),
    long(
        set(|tar| tar.set_attributes(|wanted| wanted.xattrs = None)),
        "no-xattrs",
        Nothing,
        "do not (default)",
    ),
    long(
        set_to(|tar, pattern| tar.set_xattrs(|masks| masks.include(pattern.as_bytes()))),
        "xattrs-include",
        Required("PATTERN"),
        "only those that match (default: all are archived,\n'user.*' are restored)",
    ),
    long(
        set_to(|tar, pattern| tar.set_xattrs(|masks| masks.exclude(pattern.as_bytes()))),
        "xattrs-exclude",
        Required("PATTERN"),
        "but not those that match",
    ),
    opt(
        set(|tar| tar.settings.extraction.absolute_names = true),
        ("P", "absolute-names"),
        Nothing,
        "let names begin with '/' and contain '..'",
    ),
    long(
        read(|tar, count| tar.settings.extraction.set_strip(&count)),
        "strip-components",
        Required("N"),
        "remove N directories from the beginning of names",
    ),
    long(
        set_to(|tar, directory| tar.settings.extraction.top_level = Some(directory)),
        "one-top-level",
        Optional("DIR"),
        "put everything into DIR, or into a directory named\nas the archive",
    ),
    long(
        read(|tar, expression| tar.settings.extraction.add_transform(&expression)),
        "transform",
        Required("s/RE/NEW/FLAGS"),
        "change names as sed does (FLAGS: g, i, x, a number;\nr, h, s: of members, hard links, symbolic links;\nR, H, S: not of these)",
    ),
    long(
        read(|tar, expression| tar.settings.extraction.add_transform(&expression)),
        "xform",
        Required("s/RE/NEW/FLAGS"),
        "",
    ),
    long(
        set(|tar| tar.settings.extraction.shows_transformed = true),
        "show-transformed-names",
        Nothing,
        "show names as they are after all changes",
    ),
    long(
        set(|tar| tar.settings.extraction.shows_transformed = true),
        "show-stored-names",
        Nothing,
        "",
    ),
];
