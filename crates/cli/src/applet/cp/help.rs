//! `cp --help`, in GNU's shape.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::{EXISTING, VALUES, options};

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTION]... [-T] SOURCE DEST\n  \
         or:  {program} [OPTION]... SOURCE... DIRECTORY\n  \
         or:  {program} [OPTION]... -t DIRECTORY SOURCE...\n\
         Copy files and trees.\n\n\
         {VALUES}"
    );
    text.push_str(&options(OPTIONS, Origin::Gnu));
    text.push_str(NOTES);
    text.push_str(EXISTING);
    text.push_str(REFLINK);
    text.push_str("\nOptions that GNU cp does not have:\n");
    text.push_str(&options(OPTIONS, Origin::Haul));
    text.push_str(SAFER);
    text
}

const NOTES: &str = "
ATTR_LIST names attributes, with commas between: mode (permission bits and access
control lists), ownership (user and group), timestamps, links (hard links among
the copies), context (SELinux), xattr (extended attributes), or all of them.

Holes: with --sparse=auto, the default, a copy has holes where SOURCE has them.
'always' also turns runs of zeros into holes, 'never' writes every zero.

A regular file can be copied onto itself with -f and --backup: that leaves it as
it is, and a backup beside it.
";

const REFLINK: &str = "
Shared blocks: with --reflink=auto, the default, a copy shares the blocks of
SOURCE where the file system can, until one of the two is written to. 'always'
fails where blocks cannot be shared, 'never' writes new ones.
";

const SAFER: &str = "
With --cache=keep the page cache is used as by every program. With 'drop'
nothing of the sources and targets stays in it, with 'direct' it is passed by
(O_DIRECT), which is said where it is not possible, with 'restore' what was
cached before stays and the rest goes. 'auto' keeps, but for files larger than
half of the memory that is available, which are treated as by 'restore'.
--preflight adds up what would be allocated in the target: less where holes are
kept, where blocks can be shared, or where a file is overwritten. Quotas count as
far as the file system tells of them as free space (project quotas). What others
write meanwhile is not foreseen.

With --atomic and --durable a file is written without a name, or with a hidden
one (.haul- and a checksum), and takes its name when it is complete. What it
replaces hands on its owner, permissions, ACL and extended attributes as far as
they are not preserved from SOURCE, but no setuid and setgid bits. Other hard
links of what it replaces keep the old contents; where DEST is a symbolic link,
what that leads to is replaced and the link stays; FIFOs and devices are written
to. A file that may not be written to is not replaced without -f.
--durable flushes whole file systems (syncfs) where many files are copied.
--verify says so where it could only compare what is in the page cache. The names
in a sum file are those of the targets as DEST was given, so that 'b3sum -c FILE'
(or sha256sum and so on, see --hash) finds them from the directory that cp ran in,
and 'haul verify DEST --against FILE' from everywhere. Further hard links and files
that were left as they are are not in it.

With --resume a journal beside DEST (a hidden file, or FILE) tells what is
finished, and the same command goes on from there: a file is left alone if size,
times and inode of SOURCE and DEST are what they were when it was finished, and
everything else is copied again. Files of 128 MiB and more are written with a
hidden name and gone on with where they ended, after what is there was read again
and compared; but not with --sum-file unless there is --verify, not with --method,
and not where a server copies by itself. Every 64 MiB are flushed, and the journal
goes when everything is done. A journal that belongs to another command or user, or
is in use, is refused. 'haul clean' removes it and the hidden files. Options that
decide about the result have to be the same; -i and -u are asked about what is not
finished. FIFOs and devices that are read are copied again.

Where this cp is stricter than GNU's: a file that changed while it was copied
is reported and makes the exit status 1, an unfinished copy that this run made
is removed, and a name that was swapped for a link meanwhile is not followed.
";
