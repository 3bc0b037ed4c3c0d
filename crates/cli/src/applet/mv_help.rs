//! `mv --help`, in GNU's shape.

use super::cp_help::options;
use super::mv_options::OPTIONS;
use crate::getopt::Origin;

/// Returns the text of `--help`.
pub(crate) fn help(program: &str) -> String {
    let mut text = format!(
        "Usage: {program} [OPTION]... [-T] SOURCE DEST\n  \
         or:  {program} [OPTION]... SOURCE... DIRECTORY\n  \
         or:  {program} [OPTION]... -t DIRECTORY SOURCE...\n\
         Rename SOURCE to DEST, or move SOURCE(s) to DIRECTORY.\n\n\
         Mandatory arguments to long options are mandatory for short options too.\n"
    );
    let options_text = options(OPTIONS, Origin::Gnu);
    // GNU says this in the middle of the list, below the options that it is about.
    let line = "do not overwrite an existing file\n";
    let note = "If you specify more than one of -i, -f, -n, only the final one takes effect.\n";
    text.push_str(&options_text.replace(line, &format!("{line}{note}")));
    text.push_str(NOTES);
    text.push_str("\nOptions that GNU mv does not have:\n");
    text.push_str(&options(OPTIONS, Origin::Haul));
    text.push_str(SAFER);
    text
}

const NOTES: &str = "
UPDATE controls which existing files in the destination are replaced.
'all' is the default operation when an --update option is not specified,
and results in all existing files in the destination being replaced.
'none' is like the --no-clobber option, in that no files in the
destination are replaced, and skipped files do not induce a failure.
'none-fail' also ensures no files are replaced in the destination,
but any skipped files are diagnosed and induce a failure.
'older' is the default operation when --update is specified, and results
in files being replaced if they're older than the corresponding source file.

The backup suffix is '~', unless set with --suffix or SIMPLE_BACKUP_SUFFIX.
The version control method may be selected via the --backup option or through
the VERSION_CONTROL environment variable.  Here are the values:

  none, off       never make backups (even if --backup is given)
  numbered, t     make numbered backups
  existing, nil   numbered if numbered backups exist, simple otherwise
  simple, never   always make simple backups
";

const SAFER: &str = "
Where this mv is stricter than GNU's: across file systems a source is copied
beside its place under a hidden name (.haul-mv-...), that file system is waited
for, the copy gets its name, that is waited for, too, and only then is the
source removed. So a power cut never loses a file, what was in its place stays
there until its successor is complete, and a source that changed meanwhile stays.
The same command, run again, goes on with a move that was interrupted.
";
