//! `cp --help` and `cp --version`, in GNU's shape.

use super::cp_options::OPTIONS;
use crate::getopt::{Opt, Origin, Takes};

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTION]... [-T] SOURCE DEST\n  \
         or:  {program} [OPTION]... SOURCE... DIRECTORY\n  \
         or:  {program} [OPTION]... -t DIRECTORY SOURCE...\n\
         Copy SOURCE to DEST, or multiple SOURCE(s) to DIRECTORY.\n\n\
         Mandatory arguments to long options are mandatory for short options too.\n"
    );
    text.push_str(&options(OPTIONS, Origin::Gnu));
    text.push_str(NOTES);
    text.push_str("\nOptions that GNU cp does not have:\n");
    text.push_str(&options(OPTIONS, Origin::Haul));
    text.push_str(SAFER);
    text
}

const NOTES: &str = "
ATTR_LIST is a comma-separated list of attributes. Attributes are 'mode' for
permissions (including any ACL and xattr permissions), 'ownership' for user
and group, 'timestamps' for file timestamps, 'links' for hard links, 'context'
for security context, 'xattr' for extended attributes, and 'all' for all
attributes.

By default, sparse SOURCE files are detected and the corresponding DEST file
is made sparse as well. That is the behavior selected by --sparse=auto.
Specify --sparse=always to create a sparse DEST file whenever the SOURCE file
contains a long enough sequence of zero bytes.
Use --sparse=never to inhibit creation of sparse files.

UPDATE controls which existing files in the destination are replaced.
'all' is the default operation when an --update option is not specified,
and results in all existing files in the destination being replaced.
'none' is like the --no-clobber option, in that no files in the
destination are replaced, and skipping a file does not induce failure.
'none-fail' also ensures no files are replaced in the destination, but any
skipped files are diagnosed and induce a failure.
'older' is the default operation when --update is specified, and results
in files being replaced if they're older than the corresponding source file.

The backup suffix is '~', unless set with --suffix or SIMPLE_BACKUP_SUFFIX.
The version control method may be selected via the --backup option or through
the VERSION_CONTROL environment variable. Here are the values:

  none, off       never make backups (even if --backup is given)
  numbered, t     make numbered backups
  existing, nil   numbered if numbered backups exist, simple otherwise
  simple, never   always make simple backups

As a special case, cp makes a backup of SOURCE when the force and backup
options are given and SOURCE and DEST are the same name for an existing,
regular file.

When --reflink[=always] is specified, perform a lightweight copy, where the
data blocks are copied only when modified. If this is not possible the copy
fails, or if --reflink=auto is specified, fall back to a standard copy.
Use --reflink=never to ensure a standard copy is performed.
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
in a sum file are those of the targets, as messages give them; further hard links
and files that were left as they are are not in it.

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

/// Formats the options of one origin, two columns, as GNU does.
pub(crate) fn options<I>(options: &[Opt<I>], origin: Origin) -> String {
    const COLUMN: usize = 31;
    let mut text = String::new();
    for option in options.iter().filter(|option| option.origin == origin) {
        let mut left = String::from("  ");
        let shorts: Vec<String> = option.short.chars().map(|letter| format!("-{letter}")).collect();
        left.push_str(&shorts.join(", "));
        if shorts.is_empty() {
            left.push_str("    ");
        }
        if !option.long.is_empty() {
            left.push_str(if shorts.is_empty() { "" } else { ", " });
            left.push_str(&format!("--{}", option.long));
            match option.takes {
                Takes::Nothing | Takes::Digits => {}
                Takes::Required(name) => left.push_str(&format!("={name}")),
                Takes::Optional(name) => left.push_str(&format!("[={name}]")),
            }
        }
        let mut lines = option.help.lines();
        if left.len() + 2 > COLUMN {
            text.push_str(&left);
            text.push('\n');
        } else {
            let first = lines.next().unwrap_or("");
            text.push_str(&format!("{left:COLUMN$}{first}\n"));
        }
        for line in lines {
            text.push_str(&format!("{:COLUMN$}{line}\n", ""));
        }
    }
    text
}

/// Returns the text of `--version`; its first line ends in the version.
pub(crate) fn version(program: &str) -> String {
    format!(
        "{program} (haul) {}\nLicence MIT or Apache-2.0.\n\
         There is NO WARRANTY, to the extent permitted by law.\n",
        env!("CARGO_PKG_VERSION")
    )
}
