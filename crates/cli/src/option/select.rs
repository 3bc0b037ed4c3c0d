//! The options that select entries: their rows for every command that has them, and the selection.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use haul_engine::select::{Builder, Limits, Purpose, Selection, parse_size};
use haul_sys::fs::Time;

use crate::date;
use crate::ending::CommandError;
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Takes, own};

/// An option of a selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SelectId {
    Exclude,
    ExcludeFrom,
    FilesFrom,
    Filter,
    From0,
    Include,
    IncludeFrom,
    MaxSize,
    MinSize,
    NewerThan,
    OlderThan,
}

impl SelectId {
    /// Returns the name, the argument and the help of the option.
    const fn row(self) -> (&'static str, Takes, &'static str) {
        match self {
            SelectId::Exclude => (
                "exclude",
                Required("PATTERN"),
                "leave out what matches PATTERN, as rsync does; the\nfirst rule that matches decides",
            ),
            SelectId::ExcludeFrom => {
                ("exclude-from", Required("FILE"), "--exclude for each line of FILE")
            }
            SelectId::FilesFrom => (
                "files-from",
                Required("FILE"),
                "with -r: only the names in FILE, below the\noperand; '-' is standard input",
            ),
            SelectId::Filter => (
                "filter",
                Required("RULE"),
                "one of rsync's filter rules: '- PATTERN',\n'+ PATTERN', '. FILE', ': NAME' for a file of\nrules in each directory",
            ),
            SelectId::From0 => {
                ("from0", Nothing, "names in all these files end in NUL, not newline")
            }
            SelectId::Include => {
                ("include", Required("PATTERN"), "do not leave out what matches PATTERN")
            }
            SelectId::IncludeFrom => {
                ("include-from", Required("FILE"), "--include for each line of FILE")
            }
            SelectId::MaxSize => {
                ("max-size", Required("SIZE"), "no files larger than SIZE, as in 10M or 1.5GB")
            }
            SelectId::MinSize => ("min-size", Required("SIZE"), "no files smaller than SIZE"),
            SelectId::NewerThan => (
                "newer-than",
                Required("DATE"),
                "no files modified at DATE or before, which is as\nfor 'date -d': '2 days ago', '2026-01-31'",
            ),
            SelectId::OlderThan => {
                ("older-than", Required("DATE"), "no files modified at DATE or later")
            }
        }
    }

    /// Returns the name as the user gives it.
    const fn name(self) -> &'static str {
        match self {
            SelectId::Exclude => "--exclude",
            SelectId::ExcludeFrom => "--exclude-from",
            SelectId::FilesFrom => "--files-from",
            SelectId::Filter => "--filter",
            SelectId::From0 => "--from0",
            SelectId::Include => "--include",
            SelectId::IncludeFrom => "--include-from",
            SelectId::MaxSize => "--max-size",
            SelectId::MinSize => "--min-size",
            SelectId::NewerThan => "--newer-than",
            SelectId::OlderThan => "--older-than",
        }
    }
}

/// All options, in the order of `--help`.
pub(crate) const IDS: [SelectId; 11] = [
    SelectId::Exclude,
    SelectId::ExcludeFrom,
    SelectId::FilesFrom,
    SelectId::Filter,
    SelectId::From0,
    SelectId::Include,
    SelectId::IncludeFrom,
    SelectId::MaxSize,
    SelectId::MinSize,
    SelectId::NewerThan,
    SelectId::OlderThan,
];

/// Returns what a command refuses that several processes carry out, behind its own refused options.
pub(crate) fn refused_too(own: &[&'static str]) -> Vec<&'static str> {
    own.iter().copied().chain(IDS.map(SelectId::name)).collect()
}

/// Returns the row of an option in the table of a command, which names it `id`.
pub(crate) const fn row<I>(id: I, which: SelectId) -> Opt<I> {
    let (name, takes, help) = which.row();
    own(id, name, takes, help)
}

/// Makes the table of a command whose options are `Id` from its own rows and those of a selection.
macro_rules! select_rows {
    ($own:expr) => {{
        // The names must not be those of a command's own tables.
        const OWN_ROWS: &[Opt<Id>] = $own;
        const SELECT_ROWS: [Opt<Id>; $crate::option::select::IDS.len()] = {
            let mut rows = [$crate::option::select::row(Id::Select(IDS[0]), IDS[0]); IDS.len()];
            let mut at = 0;
            while at < IDS.len() {
                rows[at] = $crate::option::select::row(Id::Select(IDS[at]), IDS[at]);
                at += 1;
            }
            rows
        };
        use $crate::option::select::IDS;
        const ALL_ROWS: [Opt<Id>; OWN_ROWS.len() + SELECT_ROWS.len()] = {
            let mut all = [SELECT_ROWS[0]; OWN_ROWS.len() + SELECT_ROWS.len()];
            let mut at = 0;
            while at < all.len() {
                all[at] = if at < OWN_ROWS.len() {
                    OWN_ROWS[at]
                } else {
                    SELECT_ROWS[at - OWN_ROWS.len()]
                };
                at += 1;
            }
            all
        };
        &ALL_ROWS
    }};
}
pub(crate) use select_rows;

/// The options of a selection in their order, which decides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Select {
    words: Vec<(SelectId, OsString)>,
}

impl Select {
    /// Adds an option.
    pub(crate) fn set(&mut self, id: SelectId, value: Option<OsString>) {
        self.words.push((id, value.unwrap_or_default()));
    }

    /// Returns the options as words of a command line.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> {
        self.words.iter().map(|(id, value)| {
            let mut word = OsString::from(id.name());
            if *id != SelectId::From0 {
                word.push("=");
                word.push(value);
            }
            word
        })
    }

    /// Returns the name of the first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        self.words.first().map(|(id, _)| id.name())
    }

    /// Returns the selection that the options mean for a command with so many operands; `None` if there are
    /// no options. Reads the files that they name, and fails if one cannot be read.
    pub(crate) fn selection(
        &self,
        purpose: Purpose,
        operands: usize,
    ) -> Result<Option<Arc<Selection>>, CommandError> {
        if self.words.is_empty() {
            return Ok(None);
        }
        // Where the current directory has no path, only absolute patterns lose their meaning.
        let here = std::env::current_dir().unwrap_or_default().into_os_string().into_vec();
        let mut builder = Builder::new(purpose, here);
        builder.ignore_for_cvs(cvs_words());
        // The order on the command line matters for rules alone.
        if self.words.iter().any(|(id, _)| *id == SelectId::From0) {
            builder.separate_by_nul();
        }
        let mut limits = Limits::default();
        for (id, word) in &self.words {
            let bytes = word.as_bytes();
            let added = match id {
                SelectId::Exclude => builder.pattern(id.name(), false, bytes),
                SelectId::Include => builder.pattern(id.name(), true, bytes),
                SelectId::Filter => builder.rule(bytes),
                SelectId::ExcludeFrom => builder.patterns_of(false, bytes),
                SelectId::IncludeFrom => builder.patterns_of(true, bytes),
                SelectId::FilesFrom if operands != 1 => {
                    return plain("--files-from needs one operand that has the names".to_owned());
                }
                SelectId::FilesFrom => builder.list(bytes),
                SelectId::From0 => Ok(()),
                SelectId::MaxSize | SelectId::MinSize => {
                    let Some(size) = parse_size(bytes) else {
                        let word = quote_word(bytes);
                        let name = id.name();
                        return plain(format!(
                            "invalid {name} {word}: give a size, as in 10M, 1.5GB or 512K-1"
                        ));
                    };
                    let is_most = *id == SelectId::MaxSize;
                    *(if is_most { &mut limits.most_bytes } else { &mut limits.least_bytes }) =
                        Some(size);
                    Ok(())
                }
                SelectId::NewerThan => {
                    limits.newer_than = Some(time(*id, word)?);
                    Ok(())
                }
                SelectId::OlderThan => {
                    limits.older_than = Some(time(*id, word)?);
                    Ok(())
                }
            };
            added.map_err(|error| CommandError::Plain(error.to_string()))?;
        }
        builder.limit(limits);
        Ok(Some(Arc::new(builder.finish())))
    }
}

fn plain<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Plain(text))
}

fn time(id: SelectId, word: &OsStr) -> Result<Time, CommandError> {
    match word.to_str().and_then(date::parse) {
        Some((seconds, nanoseconds)) => Ok(Time { seconds, nanoseconds }),
        None => plain(format!(
            "invalid {} {}: give a date as for 'date -d', as in '2 days ago' or 2026-01-31",
            id.name(),
            quote_word(word.as_bytes())
        )),
    }
}

/// Returns what the user lets CVS ignore: rsync's rule `-C` has that, too.
fn cvs_words() -> Vec<Vec<u8>> {
    let home = std::env::var_os("HOME").map(|home| std::path::Path::new(&home).join(".cvsignore"));
    let file = home.and_then(|path| std::fs::read(path).ok());
    let variable = std::env::var_os("CVSIGNORE").map(OsString::into_vec);
    file.into_iter().chain(variable).collect()
}

/// What `--help` says about these options.
pub(crate) const SELECTION: &str = "
Selection: the rules of --exclude, --include and --filter are those of rsync(1),
FILTER RULES. The first one that matches decides; what none matches is selected.
'/' in front means the root of an operand's tree (which has the operand's name,
unless that ends in a slash), '/' at the end directories, '**' any number of them.
What is in a directory that is left out is not looked at. Limits of sizes and dates
do not concern directories.
";
