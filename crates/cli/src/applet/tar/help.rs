//! `tar --help`, written from the table of options.

use super::creation_table::CREATION;
use super::extraction_table::EXTRACTION;
use super::names_table::NAMES;
use super::option_table::{HELP, TASK};
use super::own_table::OWN;
use crate::getopt::Origin;
use crate::option::help::{OWN_OPTIONS, VALUES};
use crate::page::Page;

const NOTES: &str = "
The letters may also stand first without a dash: 'tar tvf ARCHIVE'. Words of the
environment variable TAR_OPTIONS are read before those of the command line.

Nothing outside the target directory is touched without -P: symbolic links are
followed only where they lead to a place in it. A file that could not be written
completely is removed. Files are made in no particular order. Where the kernel has
landlock, it refuses every write outside the target directories and the one of
--metrics, without -P.
Devices are made only with -p or --devices.

--max-size and --max-entries stop at the first member that goes beyond them, before
it is made; the members before it stay. The bytes of a sparse file count with its
holes, because programs that copy or read it may fill them.

Compressed archives are recognised without an option. Archives of -c --zstd have an
index of their members, which other programs skip. With --trust-index only the frames
that hold the named members are read. An index that was made to be wrong shows other
bytes than the archive has for every other reader, so this is for archives from people
whom you trust. Headers that other programs read in another way than haul are
refused, with the name of the member.

The other options of GNU tar are refused by name.

With -c --reflink the data of files of 32 KiB and more begin at a block of the
archive, by a comment in an extended header (--format=posix, which it implies), so
that XFS and btrfs can share the blocks of the archive and of the files, both when it
is made and when it is extracted. 'always' fails where they cannot; with 'auto' the
data are copied there, and the archive is the same. Other programs read it as any
archive.

With -c --atomic the old archive stays if the new one cannot be written. Files that
could not be read do not prevent it; the exit status tells. With -x --atomic each
regular file stays as it was until the new one is complete; with --durable also until
it is on stable storage. Links, directories and devices are made in their place.

With -x --resume an extraction goes on that was interrupted. Sparse files, those with
extended attributes, and files larger than 1 MiB of compressed archives are made again.

--sum-file has the digests of the bytes in the archive, and names as they are below the
directory of -C, where 'haul hash -c' finds the files. A further name of a file that the
archive has as a hard link has no line, and a member that comes twice has two, of which
the first does not match any more. The list of an earlier run is replaced, also by -r.

An archive in /dev/null is not written, and its files are not read, as with --dry-run, unless --sum-file needs them.
With -x --dry-run each member is looked at by itself: what an earlier member would make
or remove is not known.

With --verify everything is read a second time: after -c the archive from storage and
the files as they are, after -x the files from storage and the archive. Kinds, sizes,
bytes and targets of links are compared. A difference makes the run fail; with --atomic
the old archive stays, and --remove-files removes nothing then. Where pages cannot be
dropped from memory, as on tmpfs, a warning says so. An extraction whose members replace
each other through links may be found to differ from the archive.

The bytes of an archive do not depend on --jobs or on timing.
";

const EXIT: &str = "\
The exit status is 0 if all went well; 1 if files changed while they were archived,
or if -d found differences; 2 if something failed.";

/// Returns the page of `--help`.
pub(super) fn help() -> Page {
    Page::new(format!(
        "Usage: tar [OPTION]... [NAME]...\n\
         Create, append to, list, extract and compare tar archives.\n\n{VALUES}"
    ))
    .options(TASK, Origin::Gnu)
    .heading("Options of -x, and attributes")
    .options(EXTRACTION, Origin::Gnu)
    .heading("Options of -c")
    .options(CREATION, Origin::Gnu)
    .heading("Options about names")
    .options(NAMES, Origin::Gnu)
    .heading("Help")
    .options(HELP, Origin::Gnu)
    .heading(OWN_OPTIONS)
    .options(OWN, Origin::Haul)
    .text(NOTES)
    .examples([
        ("haul tar -cf photos.tar.zst --zstd photos", "create a compressed archive"),
        ("haul tar -tvf photos.tar.zst", "list it"),
        ("haul tar -xf photos.tar.zst --trust-index photos/1.jpg", "extract one member"),
    ])
    .exit(EXIT)
}
