//! What the texts of `--help` share: paragraphs that several applets print, and `--version`.

/// The line above the table of options in the help of every drop-in applet.
pub(crate) const VALUES: &str = "Short options require the same values as the long ones.\n";

/// The line for applets that read files or standard input.
pub(crate) const STANDARD_INPUT: &str =
    "Without FILE, and where FILE is -, standard input is read.\n";

/// The heading of the options that the program does not have whose place the applet takes.
pub(crate) const OWN_OPTIONS: &str = "haul's own options";

/// What the values of `--cache` do in the commands that make no requests of their own for files.
pub(crate) const CACHE: &str = "
POLICY: auto leaves the page cache to others when the free memory is used up; keep
uses it as other programs do; drop leaves nothing of the files in it; restore leaves
what was there before; direct bypasses it where this command can, and else is drop.
";

/// How `cp` and `mv` treat existing files.
pub(crate) const EXISTING: &str = "
Names that are taken: --update=all replaces every file, as without --update;
'older' replaces a file whose modification time is before that of SOURCE; 'none'
skips it; 'none-fail' skips it, reports it, and the exit status is 1.

Backups: SUFFIX is that of --suffix, else of SIMPLE_BACKUP_SUFFIX, else '~'.
CONTROL is the value of --backup, else that of VERSION_CONTROL:

  numbered, t     NAME.~1~, NAME.~2~ and so on
  simple, never   NAME and SUFFIX, one for each file
  existing, nil   numbered for files that have such backups, else simple: the
                  default
  none, off       no backup, despite --backup
";

/// Returns the text of `--version`; its first line ends in the version.
pub(crate) fn version(program: &str) -> String {
    format!(
        "{program} (haul) {}\nLicence MIT or Apache-2.0.\n\
         There is NO WARRANTY, to the extent permitted by law.\n",
        env!("CARGO_PKG_VERSION")
    )
}
