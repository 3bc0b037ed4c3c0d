//! `haul bench --help`.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::options;

/// Returns the text of `--help`.
pub(super) fn help(program: &str) -> String {
    format!(
        "Usage: {program} [OPTION]... [SCENARIO]...\n  \
         or:  {program} compare OLD.json NEW.json\n\
         Measure which way of copying or deleting is fastest here: every tool that is installed,\n\
         and haul with each of its methods, sizes and jobs; commands as black boxes, each on fresh\n\
         ground, in random order. Without SCENARIO: a tour through small, medium, large and huge\n\
         files, warm and cold, copied and deleted, which takes some minutes.\n\n{}{NOTES}",
        options(OPTIONS, Origin::Gnu),
    )
}

const NOTES: &str = "
The tour takes small corpora, a huge file of 256 MiB, and each series where it matters; with --full
it takes the whole of everything. SCENARIO is a name of --list, with changes to its recipe behind a colon: nested-small,
huge:size=4G, flat-small:files=1000,size=16K.

COMMAND is run directly, or by sh -c if it has characters in it that mean something to a shell.
NAMES and LIST are separated by commas. A pair such as xfs:ext4 copies from XFS to ext4.

Ground: without --fs and --here, root measures on fresh file systems of the current folder's kind,
held as images in the current folder; anybody else, and where that kind cannot be made, in fresh
folders there. Folders are second best: what a file system went through distorts figures, and the
report says so. Whatever is made is taken away at the end, also after Ctrl-C, which still shows
what was measured until then; what a killed run left is removed by the next one.

Examples:
  haul bench --out=report
  haul bench nested-small huge --fs=ext4,xfs --series=none --rounds=9
  haul bench huge:size=4G --cold --fsync --disk=/srv --fs=xfs --only=cp,haul,haul-ring
  haul bench large --only=cp --tool new='./target/release/haul cp {source} {target}'

The exit status is 0 if everything was measured, 1 if something could not be, 2 if the command line
makes no sense. A tool that fails or copies wrongly is a result: it is shown, and never ranked.
";
