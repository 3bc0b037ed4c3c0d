//! `mv --help`, in GNU's shape.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::{EXISTING, VALUES, options};

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTION]... [-T] SOURCE DEST\n  \
         or:  {program} [OPTION]... SOURCE... DIRECTORY\n  \
         or:  {program} [OPTION]... -t DIRECTORY SOURCE...\n\
         Move files and trees: rename them, or copy and remove them.\n\n\
         {VALUES}"
    );
    text.push_str(&options(OPTIONS, Origin::Gnu));
    text.push_str("\nOf -f, -i and -n the last one counts.\n");
    text.push_str(EXISTING);
    text.push_str("\nOptions that GNU mv does not have:\n");
    text.push_str(&options(OPTIONS, Origin::Haul));
    text.push_str(SAFER);
    text
}

const SAFER: &str = "
Where this mv is stricter than GNU's: across file systems a source is copied
beside its place under a hidden name (.haul-mv-...), that file system is waited
for, the copy gets its name, that is waited for, too, and only then is the
source removed. So a power cut never loses a file, what was in its place stays
there until its successor is complete, and a source that changed meanwhile stays.
The same command, run again, goes on with a move that was interrupted.
";
