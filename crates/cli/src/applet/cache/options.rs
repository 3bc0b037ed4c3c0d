//! The options of `cache`, and `--help`.

use std::ffi::OsStr;

use super::drop::Changed;
use super::show::Shown;
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Origin, Usage, long, opt};
use crate::option::data::size;
use crate::option::effect::{Effect, help_row, read, read_optional, set, version_row};
use crate::option::gentle::plain;
use crate::page::Page;
use crate::value::{WHEN_VALUES, When, jobs, when};

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) shown: Shown,
    pub(super) changed: Changed,
    pub(super) limit: Option<u64>,
    pub(super) gentle: bool,
    pub(super) progress: Option<When>,
    pub(super) jobs: Option<usize>,
    pub(super) json: bool,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            shown: Shown { all: false, depth_max: usize::MAX },
            changed: Changed::Stay,
            limit: None,
            gentle: false,
            progress: None,
            jobs: None,
            json: false,
        }
    }
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    opt(
        set(|cache| cache.shown.all = true),
        ("a", "all"),
        Nothing,
        "show also files of which nothing is cached",
    ),
    opt(
        read(|cache, word| {
            cache.shown.depth_max = depth(&word)?;
            Ok(())
        }),
        ("d", "max-depth"),
        Required("N"),
        "show only what is at most N levels below a PATH;\nthe sums have everything",
    ),
    long(
        set(|cache| cache.changed = Changed::Written),
        "sync",
        Nothing,
        "with drop: write changed pages to storage first,\nso that they can be dropped, too",
    ),
    long(
        read(|cache, bytes| {
            cache.limit = Some(size("--limit", &bytes)?);
            Ok(())
        }),
        "limit",
        Required("SIZE"),
        "with warm and restore: read at most SIZE bytes\n(default: the memory that is available)",
    ),
    plain(set(|cache| cache.gentle = true)),
    long(
        read_optional(|cache: &mut Settings, word| {
            cache.progress = Some(when("--progress", word.as_deref())?);
            Ok(())
        }),
        "progress",
        Optional("WHEN"),
        "with warm and restore: show progress: always,\nnever, auto",
    )
    .with(WHEN_VALUES),
    long(
        read(|cache, count| {
            cache.jobs = Some(jobs(Some(&count))?);
            Ok(())
        }),
        "jobs",
        Required("N"),
        "use at most N workers (default: 32 to read,\none more than processors otherwise)",
    ),
    long(set(|cache| cache.json = true), "json", Nothing, "print everything as JSON lines"),
    help_row(),
    version_row(),
];

fn depth(word: &OsStr) -> Result<usize, Usage> {
    let depth = word.to_str().and_then(|text| text.parse().ok());
    depth.ok_or_else(|| {
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("invalid --max-depth {word}: give a number of levels"))
    })
}

const NOTES: &str = "
Without an action the command shows, for each file of which pages are cached and for
each directory, how many bytes are cached, how many of these are changed and not on
storage yet, and the size. A PATH is a file or a directory with everything below it;
one that is called like an action is written as ./drop.

drop     drops the pages that can be read again; what was changed and is not on
         storage yet stays, and so does what another program has mapped: no byte
         is lost. The files that keep pages are listed.
warm     reads what is not cached yet, by many workers.
         Holes are not read. With --gentle, fewer and smaller
         requests while other processes wait.
save     writes the ranges of TREE that are cached to FILE, as JSON lines.
restore  reads these ranges of TREE again, so that a database is warm after a
         restart. A file with another size or modification time is skipped. Only
         files that are found in TREE are read, whatever the names in FILE are.

A file that is reached by several names, or by several PATHs, counts once in each sum.
On tmpfs the pages are the files: they are shown, and never dropped.

The kernel tells what is cached only to a file's owner, to root, and to those who may
write the file. Of other files it is unknown; they are counted as that.
";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul cache [OPTION]... PATH...\n  \
         or:  haul cache drop [OPTION]... PATH...\n  \
         or:  haul cache warm [OPTION]... PATH...\n  \
         or:  haul cache save [OPTION]... FILE TREE\n  \
         or:  haul cache restore [OPTION]... FILE TREE\n\
         Show what of files is in the page cache, or change it.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .examples([
        ("haul cache --max-depth=1 /srv", "show what is cached, in all and for each folder"),
        ("haul cache warm --limit=8G /srv/db", "read a database into memory"),
        ("haul cache save db.cache /srv/db", "note what is cached before a restart"),
        ("haul cache restore db.cache /srv/db", "read the same after it"),
        ("haul cache drop --sync /mnt/backup", "give the memory of a backup to others"),
    ])
    .exit(
        "The exit status is 0, or 1 if a file could not be read or the command line is\n\
         invalid. Files that were skipped or left out, and pages that stay, are no error.",
    )
}
