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
Where this mv is stricter than GNU's: across file systems it copies a source to a
hidden name (.haul-mv-...) in the target's directory, flushes that file system,
gives the copy its name, flushes the directory, and only then removes the source.
So a power cut never loses a file, a replaced file stays until the new one is
complete, and a source that changed during the copy is not removed. Run the same
command again to resume an interrupted move.
";
