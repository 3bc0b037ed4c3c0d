//! `rm --help`, in GNU's shape.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::options;

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTION]... [FILE]...\nRemove files, and with -r whole trees.\n\n"
    );
    text.push_str(&options(OPTIONS, Origin::Gnu));
    text.push_str(&format!(
        "\n\
         Directories need -r, or -d if they are empty. '.' and '..' are refused at the\n\
         end of a FILE. A FILE that begins with '-' goes behind '--', or gets a directory\n\
         in front:\n\n  \
         {program} -- -x\n  \
         {program} ./-x\n\
         \n\
         rm does not erase data: the bytes stay on the device until the blocks are used\n\
         again. See shred(1).\n"
    ));
    text.push_str("\nOptions that GNU rm does not have:\n");
    text.push_str(&options(OPTIONS, Origin::Haul));
    text.push_str(SAFER);
    text
}

const SAFER: &str = "
Where this rm is stricter than GNU's: '/' is also preserved where it is mounted
somewhere inside a tree, --one-file-system also stops at bind mounts of the same
file system, and -d never removes anything from a directory.
";
