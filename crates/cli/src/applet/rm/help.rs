//! `rm --help`, in GNU's shape.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::OWN_OPTIONS;
use crate::option::select::SELECTION;
use crate::page::Page;

/// Returns the page of `--help`.
pub(crate) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... [FILE]...\nRemove files, and with -r whole trees.\n\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text(format!(
        "\n\
         Directories need -r, or -d if they are empty. '.' and '..' are refused at the\n\
         end of a FILE. A FILE that begins with '-' goes behind '--', or gets a directory\n\
         in front:\n\n  \
         {program} -- -x\n  \
         {program} ./-x\n\
         \n\
         rm does not erase data: the bytes stay on the device until the blocks are used\n\
         again. See shred(1).\n"
    ))
    .heading(OWN_OPTIONS)
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(EMPTIED)
    .text(SAFER)
    .examples([
        ("haul rm -r --dry-run old", "show what would be removed"),
        ("haul rm -r --older-than='30 days ago' logs", "remove files that are older"),
        ("haul rm -rI --stats old", "ask once, remove a tree, and print a summary"),
    ])
    .common(COMMON)
    .exit(EXIT)
}

const COMMON: &[(&str, &str)] = &[
    ("recursive", "remove trees"),
    ("force", "never ask; missing files are no error"),
    ("interactive", "ask: never, once, or always"),
    ("dir", "remove empty directories"),
    ("one-file-system", "leave what is mounted inside"),
    ("verbose", "print each name"),
    ("dry-run", "show what would be removed"),
    ("stats", "print a summary"),
];

const EMPTIED: &str = "
With a selection, rm -r removes a directory only if it became empty, and never a
merge file of ':', so that the same command has the same rules again.
";

const EXIT: &str = "\
The exit status is 0 if everything was removed, or did not exist with -f, and 1 if
something was not removed, or the command line is invalid.";

const SAFER: &str = "
Where this rm is stricter than GNU's: '/' is also preserved where it is mounted
somewhere inside a tree, --one-file-system also stops at bind mounts of the same
file system, and -d never removes anything from a directory. 'haul rm' also refuses
operands that are mount points, bind mounts included: they could only be emptied, and
their data may have another name. Under the name rm, and with --preserve-root, they
are emptied as GNU's rm does; with =all they are refused under each name.
";
