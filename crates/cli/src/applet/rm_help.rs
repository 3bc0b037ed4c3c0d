//! `rm --help`, in GNU's shape.

use super::cp_help::options;
use super::rm_options::OPTIONS;
use crate::getopt::Origin;

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text =
        format!("Usage: {program} [OPTION]... [FILE]...\nRemove (unlink) the FILE(s).\n\n");
    text.push_str(&options(OPTIONS, Origin::Gnu));
    text.push_str(&format!(
        "\n\
         By default, rm does not remove directories.  Use the --recursive (-r or -R)\n\
         option to remove each listed directory, too, along with all of its contents.\n\
         \n\
         Any attempt to remove a file whose last file name component is '.' or '..'\n\
         is rejected with a diagnostic.\n\
         \n\
         To remove a file whose name starts with a '-', for example '-foo',\n\
         use one of these commands:\n  \
         {program} -- -foo\n\n  \
         {program} ./-foo\n\
         \n\
         If you use rm to remove a file, it might be possible to recover\n\
         some of its contents, given sufficient expertise and/or time.  For greater\n\
         assurance that the contents are unrecoverable, consider using shred(1).\n"
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
