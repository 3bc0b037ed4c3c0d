//! The options of `spare`, and `--help`.

use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Origin, long, opt};
use crate::option::data::size;
use crate::option::effect::{Effect, help_row, read, set, version_row};
use crate::page::{Argument, Page};

/// What the options change.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// Bytes of page cache that the command may use.
    pub(super) cache_bytes: Option<u64>,
    pub(super) is_quiet: bool,
}

pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = &[
    long(
        read(|spare, bytes| {
            spare.cache_bytes = Some(size("--memory", &bytes)?);
            Ok(())
        }),
        "memory",
        Required("SIZE"),
        "bytes of the page cache that COMMAND may use (default:\nan eighth of what is available, 32M to 1G)",
    ),
    opt(
        set(|spare| spare.is_quiet = true),
        ("q", "quiet"),
        Nothing,
        "do not say how the page cache is bounded",
    ),
    help_row(),
    version_row(),
];

const NOTES: &str = "
COMMAND runs in a memory cgroup of its own. Its files take at most SIZE of the page
cache, and what is left of them is dropped when it has ended; its own memory is not
bounded. Pages that were cached before stay: they belong to another group.

Options come before COMMAND; all words after it belong to it. It inherits standard
input, output and error, and the terminal. haul passes SIGTERM and SIGHUP on to it.

This needs the right to make a memory cgroup: that of root, or of a group that was
delegated to the user (cgroups(7)). Without it COMMAND is not run. Within a user's
systemd session such a group is made by
  systemd-run --user --scope -p Delegate=yes haul spare COMMAND
";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(
        "Usage: haul spare [OPTION]... [--] COMMAND [ARGUMENT]...\n\
         Run COMMAND so that the pages of its files do not push out those of others.\n\n",
    )
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .examples([
        (
            "haul spare -- rsync -a photos/ /mnt/backup/",
            "copy with a program that opens its own files",
        ),
        ("haul spare --memory=256M -- sort -o out in", "also for sort's temporary files"),
    ])
    .exit(
        "The exit status is that of COMMAND (128+N where signal N killed it);\n  \
         127  if the command cannot be found\n  \
         126  if it cannot be run\n  \
         125  if haul itself fails, or its command line is invalid.",
    )
    .operand(Argument::Command)
}
