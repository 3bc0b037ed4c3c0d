//! `mv --help`, in GNU's shape.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::{EXISTING, OWN_OPTIONS, VALUES};
use crate::option::select::SELECTION;
use crate::page::Page;

/// Returns the page of `--help`.
pub(crate) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... [-T] SOURCE DEST\n  \
         or:  {program} [OPTION]... SOURCE... DIRECTORY\n  \
         or:  {program} [OPTION]... -t DIRECTORY SOURCE...\n\
         Move files and trees: rename them, or copy and remove them.\n\n\
         {VALUES}"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text("\nOf -f, -i and -n the last one counts.\n")
    .text(EXISTING)
    .heading(OWN_OPTIONS)
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(STAYS)
    .text(SAFER)
    .examples([
        ("haul mv photos /mnt/disk", "move a tree, also to another file system"),
        (
            "haul mv --bandwidth=50M --stats photos /mnt/disk",
            "leave some of the disk to others, and print a summary",
        ),
    ])
    .common(COMMON)
    .exit(EXIT)
}

const COMMON: &[(&str, &str)] = &[
    ("force", "replace files without asking"),
    ("interactive", "ask before replacing a file"),
    ("no-clobber", "leave existing files alone"),
    ("target-directory", "move everything into it"),
    ("update", "replace only files that are older"),
    ("verbose", "print each name"),
    ("bandwidth", "leave some of the disk to others: 50M"),
    ("stats", "print a summary"),
];

const STAYS: &str = "
What is not selected stays in SOURCE, with its directories; so does a merge file of
':'. A directory is then copied and removed also within a file system.
";

const EXIT: &str = "\
The exit status is 0 if everything was moved, and 1 if something was not, or the
command line is invalid.";

const SAFER: &str = "
Where this mv is stricter than GNU's: across file systems it copies a source to a
hidden name (.haul-mv-...) in the target's directory, flushes that file system,
gives the copy its name, flushes the directory, and only then removes the source.
So a power cut never loses a file, a replaced file stays until the new one is
complete, and a source that changed during the copy is not removed. Run the same
command again to resume an interrupted move.
";
