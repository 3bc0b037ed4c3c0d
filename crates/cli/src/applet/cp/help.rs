//! `cp --help`, in GNU's shape.

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
         Copy files and trees.\n\n\
         {VALUES}"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .text(EXISTING)
    .text(REFLINK)
    .heading(OWN_OPTIONS)
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(SAFER)
    .examples([
        ("haul cp -a photos /mnt/backup", "copy a tree with all its attributes into a directory"),
        (
            "haul cp -aT --resume --verify photos /mnt/backup/photos",
            "copy it, and read the copy again; the same command resumes a broken run",
        ),
        (
            "haul cp -a --metrics=/var/lib/node_exporter/cp.prom --job=night A B",
            "leave figures for Prometheus",
        ),
        (
            "haul cp -r --exclude='*.o' --exclude=/src/.git/ src /mnt",
            "leave out object files and the repository",
        ),
        ("haul cp --cache=drop huge.img /mnt", "copy a file that shall not fill the page cache"),
    ])
    .common(COMMON)
    .exit(EXIT)
}

const COMMON: &[(&str, &str)] = &[
    ("archive", "copy a tree with all attributes"),
    ("recursive", "copy a tree"),
    ("update", "replace only files that are older"),
    ("verify", "read each copy again, and compare"),
    ("resume", "continue when the same command runs again"),
    ("cache", "how to use the page cache: see --help"),
    ("dry-run", "show what would be copied, and why"),
    ("stats", "print a summary"),
];

const EXIT: &str = "\
The exit status is 0 if everything was copied, and 1 if something was not, a file
changed while it was copied, or the command line is invalid.";

const NOTES: &str = "
ATTR_LIST names attributes, with commas between: mode (permission bits and access
control lists), ownership (user and group), timestamps, links (hard links among
the copies), context (SELinux), xattr (extended attributes), flags (those of
chattr(1), and the project), or all of them. -a leaves out the flags i and a, with
which the same command could not replace its copies. Otherwise they are set at the
end, and only if nothing failed, so that a second run can complete the copy.

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
--cache=keep uses the page cache as other programs do. 'drop' removes the pages of
the sources and targets from it. 'direct' bypasses it (O_DIRECT), and reports where
that is not possible. 'restore' keeps the pages that were cached before and removes
the others. 'auto' is 'keep' while memory is free, and until the run has pushed out
an eighth of the memory that is available to it, by the machine and by memory
cgroups; then, and as soon as other processes have to read pages again, it is
'restore'. --stats says so.
--preflight adds up what the copy would allocate in the target: less where it keeps
holes, shares blocks, or overwrites a file. Quotas count as far as the file system
reports them as free space (project quotas). The estimate does not include what
other processes write at the same time.

With --atomic and --durable a file is written without a name, or with a hidden
name (.haul- and a checksum), and gets its name when it is complete. A new file
takes over the owner, permissions, ACL and extended attributes of the file that it
replaces, unless they are preserved from SOURCE, but never setuid and setgid bits.
Other hard links of the replaced file keep the old contents. Where DEST is a
symbolic link, the file behind the link is replaced and the link stays. FIFOs and
devices are written to directly. A file without write permission is replaced only
with -f.
--durable flushes whole file systems (syncfs) where many files are copied.
--verify reports where it could compare only the contents of the page cache. A sum
file has the names of the targets as DEST was given, so that 'b3sum -c FILE' (or
sha256sum and so on, see --hash) finds them from the working directory of cp, and
'haul verify DEST --against FILE' from any directory. It does not list additional
hard links and files that were skipped.

With --resume a journal beside DEST (a hidden file, or FILE) records which files are
finished; run the same command again to resume. A finished file is skipped if size,
times, inode and file system of SOURCE and DEST are still as recorded; all other
files are copied again, as are those of an image (SquashFS, EROFS, ISO 9660) or of
FAT that was mounted anew. Files of 128 MiB and more are written under a hidden name
and continue where they ended, after the existing part has been read again and
compared; but not with --sum-file without --verify, not with --method, and not where
a server makes the copy. Data is flushed every 64 MiB. When the copy is complete,
the journal stays and is marked: the same command then copies what has changed on
either side since, or says that there is nothing to copy. A journal takes about 210
bytes for each file; 'haul clean' removes it and the hidden files. It is refused if
it belongs to another user, to another command that is not complete, or if another
process uses it. Options that affect the result must be the same; -i and -u apply to
the files that are not finished. FIFOs and devices that are read are copied again.

Where this cp is stricter than GNU's: a file that changed while it was copied
is reported and makes the exit status 1, an unfinished copy that this run made
is removed, and a name that another process replaced by a link is not followed.
With -u a newer DEST of another size that has only bytes of SOURCE, and zeros, is
taken for unfinished and copied again, whichever command left it; -n keeps it.
";
