//! `haul sync --help`.

use super::options::OPTIONS;
use crate::getopt::Origin;
use crate::option::help::VALUES;
use crate::option::select::SELECTION;
use crate::page::Page;

/// Returns the page of `--help`.
pub(crate) fn help(program: &str) -> Page {
    Page::new(format!(
        "Usage: {program} [OPTION]... SOURCE... TARGET\n\
         Make the copy of each SOURCE in the directory TARGET the same as SOURCE. Options\n\
         are those of rsync(1), for trees on this machine.\n\n\
         {VALUES}"
    ))
    .options(OPTIONS, Origin::Gnu)
    .text(NOTES)
    .heading("Options of the selection, and haul's own")
    .options(OPTIONS, Origin::Haul)
    .text(SELECTION)
    .text(DIFFERENCES)
    .examples([
        (
            "haul sync -a --delete photos/ /mnt/backup/photos",
            "make the backup of a directory the same as the directory",
        ),
        ("haul sync -ani --delete photos/ /mnt/backup/photos", "print what that would change"),
        ("haul sync -a --exclude=/.cache/ ~/ /mnt/home", "leave out a directory"),
        (
            "haul sync -a --link-dest=../monday home/ snapshots/tuesday",
            "make a snapshot that shares its files with an earlier one",
        ),
        (
            "haul sync -a --verify --metrics=/var/lib/node_exporter/sync.prom A/ B",
            "read the copies again, and leave figures for Prometheus",
        ),
    ])
    .common(COMMON)
    .exit(EXIT)
}

const COMMON: &[(&str, &str)] = &[
    ("archive", "trees with links, modes, times, owners, devices"),
    ("delete", "remove what SOURCE does not have"),
    ("dry-run", "change nothing; print with -v or -i"),
    ("itemize-changes", "print what changes of each entry"),
    ("checksum", "compare bytes, not times"),
    ("exclude", "leave out what matches a pattern"),
    ("verify", "read each copy again, and compare"),
    ("stats", "print a summary"),
];

const NOTES: &str = "
SOURCE and SOURCE/ differ: with a slash at the end, the entries of the directory
are put into TARGET; without it, the directory itself. TARGET is made if its parent
directory exists.

The letters of -a, and most other options, are taken back by --no-OPTION, as in
-a --no-o --no-g or --no-times; the last one counts. These are accepted because
they change nothing between local trees: -W, -z and --compress..., --no-inc-recursive, -s, -8, -h, -e, --blocking-io, --no-motd, --ignore-errors.
Options of rsync that are missing here are refused by name.

A regular file counts as the same if its size and its modification time are: then
its bytes stay, and its other attributes are set if they differ. A time that has
whole seconds alone in TARGET matches any fraction in SOURCE.

Each line of -i begins with what is done (> a file is copied, c an entry is made or
changed, h it becomes a hard link, . its attributes at most are set, *deleting) and
the kind (f, d, L, D, S). Then, for what differs: c bytes or text, s size, t time (T
if the time becomes the present one), p permissions, o owner, g group, a ACL, x
extended attributes; + in all places for what is new.
";

const DIFFERENCES: &str = "
Where this command is stricter than rsync:
- A file is written under a hidden name and replaces the existing one when it is
  complete; other hard links of that one keep the old contents. --inplace writes
  into it; what is of another kind is replaced all the same.
- --partial keeps the part of a new file alone: what TARGET has is not replaced by
  a part.
- All forms of --delete are one: what a directory of TARGET has and that of SOURCE
  does not is removed before the entries of that directory are copied. What the
  rules leave out is kept, unless --delete-excluded is given.
- Nothing is removed below a directory that could not be read, on either side, or
  for a SOURCE that is an empty directory without --allow-empty (its file system
  may not be mounted), or where another file system is mounted in TARGET. A
  TARGET inside of SOURCE is refused unless rules leave it out.
- The rules of merge files on both sides protect what TARGET has.
- A directory of --backup-dir in TARGET is not removed, and a backup does not replace
  what the run has just made.
- Without -p, a file that is replaced keeps its mode and its owner.
- A file that changed while it was copied is reported.
- Both sides are on this machine: for host:path and rsync:// run rsync itself.
";

const EXIT: &str = "\
The exit status is 0 if TARGET is the same now; 1 if the command line is invalid; 11
if TARGET cannot be made or opened; 20 after SIGINT, SIGTERM or SIGHUP; 23 if
something failed; 24 if all that failed is that entries of SOURCE vanished; 25 if
--max-delete kept entries; 30 if --stop-after or --stop-at ended the run.";
