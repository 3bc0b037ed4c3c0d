//! `haul bench --help`.

use super::options::{OPTIONS, scenarios};
use crate::getopt::Origin;
use crate::page::{Argument, Page};

/// Returns the page of `--help`.
pub(super) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... [SCENARIO]...\n  \
         or:  {program} compare OLD.json NEW.json\n\
         Measure which way of copying or deleting is fastest on this machine: every installed tool,\n\
         and haul with each of its methods, I/O sizes and numbers of jobs; commands as black boxes,\n\
         each in a fresh place, in random order. Without SCENARIO: a tour of small, medium, large\n\
         and huge files, warm and cold, copied and deleted, which takes some minutes.\n\n"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .examples(EXAMPLES)
    .exit(EXIT)
    .operand(Argument::Words(scenarios()))
}

const NOTES: &str = "
The tour uses small corpora, a huge file of 256 MiB, and each series only where it matters; with
--full it uses the full corpora and every series. SCENARIO is a name of --list, with changes to its
recipe after a colon: nested-small, huge:size=4G, flat-small:files=1000,size=16K.

COMMAND runs directly, or by sh -c if it contains characters that are special to a shell.
NAMES and LIST are separated by commas. A pair such as xfs:ext4 copies from XFS to ext4.

With --together each run starts N processes at once, which copy one source to a target each, and the
time is that until the last one has ended. --to with --disk and no --fs makes file systems of the
types of both folders.

Place: without --fs and --here, root measures on fresh file systems of the current folder's type,
held as images in the current folder. Other users measure in fresh folders there, and so does root
where that type cannot be made. Folders are less exact: the history of a file system distorts the
figures, and the report says so. Everything that bench made is removed at the end, also after
Ctrl-C, which still shows the results so far; the next run removes what a killed run left.
";

const EXAMPLES: [(&str, &str); 7] = [
    ("haul bench --out=report", "make the tour, and write tables and plots"),
    (
        "haul bench nested-small huge --fs=ext4,xfs --series=none --rounds=9",
        "measure two scenarios on two fresh file systems, as root",
    ),
    (
        "haul bench huge:size=4G --cold --fsync --disk=/srv --fs=xfs --only=cp,haul",
        "measure the disk of /srv with a file that is not cached",
    ),
    ("haul bench huge --disk=/mnt/a --to=/mnt/b", "copy from one device to another"),
    (
        "haul bench huge --together=8 --only=haul-mmap-write,haul-read-write,cp",
        "measure eight copies at once, with the memory of each",
    ),
    (
        "haul bench large --cold --series=none --bystander=40 --memory=1G",
        "measure what a copy takes from another process",
    ),
    (
        "haul bench large --only=cp --tool new='./haul cp {source} {target}'",
        "compare a build with cp",
    ),
];

const EXIT: &str = "\
The exit status is 0 if everything was measured, 1 if something could not be, 2 if the command line
is invalid. A tool that fails or copies wrongly is a result: it is shown, and never ranked.";
