//! The options that select entries: their rows for every command that has them, and the selection.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::sync::Arc;

use haul_engine::select::{Builder, Files, Limits, Purpose, Selection, parse_size};
use haul_sys::fs::Time;

use super::effect::{Effect, set_to};
use crate::date;
use crate::ending::CommandError;
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Required};
use crate::getopt::{Opt, Takes, own};

/// An option of a selection.
#[derive(Debug)]
struct Rule {
    /// The name as the user gives it.
    name: &'static str,
    takes: Takes,
    help: &'static str,
    /// What it adds, where its name and its value are given.
    add: fn(&mut Draft, &'static str, &OsStr) -> Result<(), CommandError>,
}

/// All options, in the order of `--help`.
const RULES: &[Rule; 11] = &[
    Rule {
        name: "--exclude",
        takes: Required("PATTERN"),
        help: "leave out what matches PATTERN, as rsync does; the\nfirst rule that matches decides",
        add: |draft, name, word| {
            draft.done(|builder| builder.pattern(name, false, word.as_bytes()))
        },
    },
    Rule {
        name: "--exclude-from",
        takes: Required("FILE"),
        help: "--exclude for each line of FILE",
        add: |draft, _, word| draft.done(|builder| builder.patterns_of(false, word.as_bytes())),
    },
    Rule {
        name: "--files-from",
        takes: Required("FILE"),
        help: "with -r: only the names in FILE, below the\noperand; '-' is standard input",
        add: |draft, _, word| {
            if draft.operands != 1 {
                return plain("--files-from needs one operand that has the names".to_owned());
            }
            draft.done(|builder| builder.list(word.as_bytes()))
        },
    },
    Rule {
        name: "--filter",
        takes: Required("RULE"),
        help: "one of rsync's filter rules: '- PATTERN',\n'+ PATTERN', '. FILE', ': NAME' for a file of\nrules in each directory",
        add: |draft, _, word| draft.done(|builder| builder.rule(word.as_bytes())),
    },
    Rule {
        name: "--from0",
        takes: Nothing,
        help: "names in all these files end in NUL, not newline",
        add: |draft, _, _| {
            draft.builder.separate_by_nul();
            Ok(())
        },
    },
    Rule {
        name: "--include",
        takes: Required("PATTERN"),
        help: "do not leave out what matches PATTERN",
        add: |draft, name, word| draft.done(|builder| builder.pattern(name, true, word.as_bytes())),
    },
    Rule {
        name: "--include-from",
        takes: Required("FILE"),
        help: "--include for each line of FILE",
        add: |draft, _, word| draft.done(|builder| builder.patterns_of(true, word.as_bytes())),
    },
    Rule {
        name: "--max-size",
        takes: Required("SIZE"),
        help: "no files larger than SIZE, as in 10M or 1.5GB",
        add: |draft, name, word| {
            draft.limits.most_bytes = Some(size(name, word)?);
            Ok(())
        },
    },
    Rule {
        name: "--min-size",
        takes: Required("SIZE"),
        help: "no files smaller than SIZE",
        add: |draft, name, word| {
            draft.limits.least_bytes = Some(size(name, word)?);
            Ok(())
        },
    },
    Rule {
        name: "--newer-than",
        takes: Required("DATE"),
        help: "no files modified at DATE or before, which is as\nfor 'date -d': '2 days ago', '2026-01-31'",
        add: |draft, name, word| {
            draft.limits.newer_than = Some(time(name, word)?);
            Ok(())
        },
    },
    Rule {
        name: "--older-than",
        takes: Required("DATE"),
        help: "no files modified at DATE or later",
        add: |draft, name, word| {
            draft.limits.older_than = Some(time(name, word)?);
            Ok(())
        },
    },
];

/// Settings of a command that have a selection.
pub(crate) trait Selects {
    fn select(&mut self) -> &mut Select;
}

/// Returns what a command refuses that several processes carry out, behind its own refused options.
pub(crate) fn refused_too(own: &[&'static str]) -> Vec<&'static str> {
    own.iter().copied().chain(RULES.iter().map(|rule| rule.name)).collect()
}

/// Returns the rows of these options in the table of a command.
pub(crate) const fn rows<S: Selects>() -> [Opt<Effect<S>>; RULES.len()] {
    [
        row::<S, 0>(),
        row::<S, 1>(),
        row::<S, 2>(),
        row::<S, 3>(),
        row::<S, 4>(),
        row::<S, 5>(),
        row::<S, 6>(),
        row::<S, 7>(),
        row::<S, 8>(),
        row::<S, 9>(),
        row::<S, 10>(),
    ]
}

const fn row<S: Selects, const AT: usize>() -> Opt<Effect<S>> {
    let Rule { name, takes, help, .. } = RULES[AT];
    let (_, long) = name.split_at(2);
    own(set_to(|settings: &mut S, word| settings.select().add(&RULES[AT], word)), long, takes, help)
}

/// Makes the table of a command from its own rows and those of a selection, for its settings.
macro_rules! select_rows {
    ($settings:ty, $own:expr) => {{
        // The names must not be those of a command's own tables.
        use $crate::getopt::Opt as Row;
        use $crate::option::effect::Effect as Does;
        const OWN_ROWS: &[Row<Does<$settings>>] = $own;
        const SELECT_ROWS: &[Row<Does<$settings>>] = &$crate::option::select::rows::<$settings>();
        const ALL_ROWS: [Row<Does<$settings>>; OWN_ROWS.len() + SELECT_ROWS.len()] = {
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
    words: Vec<(&'static Rule, OsString)>,
}

/// A selection that is being made for a command with so many operands.
struct Draft {
    builder: Builder,
    limits: Limits,
    operands: usize,
}

impl Draft {
    /// Adds to the rules.
    fn done<E: ToString>(
        &mut self,
        add: impl FnOnce(&mut Builder) -> Result<(), E>,
    ) -> Result<(), CommandError> {
        add(&mut self.builder).map_err(|error| CommandError::Plain(error.to_string()))
    }
}

impl Select {
    fn add(&mut self, rule: &'static Rule, value: OsString) {
        self.words.push((rule, value));
    }

    /// Returns the options as words of a command line.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> {
        self.words.iter().map(|(rule, value)| {
            let mut word = OsString::from(rule.name);
            if rule.takes != Nothing {
                word.push("=");
                word.push(value);
            }
            word
        })
    }

    /// Returns the name of the first option that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        self.words.first().map(|(rule, _)| rule.name)
    }

    /// Adds a rule of `--filter`.
    pub(crate) fn add_rule(&mut self, rule: &OsStr) {
        self.add_by_name("--filter", rule.to_owned());
    }

    /// `--from0`, by a name that another program has for it.
    pub(crate) fn separate_by_nul(&mut self) {
        self.add_by_name("--from0", OsString::new());
    }

    fn add_by_name(&mut self, name: &str, value: OsString) {
        let found = RULES.iter().find(|rule| rule.name == name);
        self.words.extend(found.map(|rule| (rule, value)));
    }

    /// Returns the selection that the options mean for a command with so many operands; `None` if there are
    /// no options. Reads the files that they name, and fails if one cannot be read.
    pub(crate) fn selection(
        &self,
        purpose: Purpose,
        operands: usize,
    ) -> Result<Option<Arc<Selection>>, CommandError> {
        self.made_of(&Files::default(), purpose, operands)
    }

    /// Returns a selection for each purpose, and reads each file once.
    pub(crate) fn selections<const COUNT: usize>(
        &self,
        purposes: [Purpose; COUNT],
        operands: usize,
    ) -> Result<[Option<Arc<Selection>>; COUNT], CommandError> {
        let files = Files::default();
        let mut made = [const { None }; COUNT];
        for (selection, purpose) in made.iter_mut().zip(purposes) {
            *selection = self.made_of(&files, purpose, operands)?;
        }
        Ok(made)
    }

    fn made_of(
        &self,
        files: &Files,
        purpose: Purpose,
        operands: usize,
    ) -> Result<Option<Arc<Selection>>, CommandError> {
        if self.words.is_empty() {
            return Ok(None);
        }
        // Where the current directory has no path, only absolute patterns lose their meaning.
        let here = std::env::current_dir().unwrap_or_default().into_os_string().into_vec();
        let builder = Builder::new(purpose, here).sharing(files);
        let mut draft = Draft { builder, limits: Limits::default(), operands };
        draft.builder.ignore_for_cvs(cvs_words());
        // The order on the command line matters for rules alone. What has no value is about the files of the others.
        let of_files = self.words.iter().filter(|(rule, _)| rule.takes == Nothing);
        let others = self.words.iter().filter(|(rule, _)| rule.takes != Nothing);
        for (rule, word) in of_files.chain(others) {
            (rule.add)(&mut draft, rule.name, word)?;
        }
        draft.builder.limit(draft.limits);
        Ok(Some(Arc::new(draft.builder.finish())))
    }
}

fn size(name: &str, word: &OsStr) -> Result<u64, CommandError> {
    let Some(size) = parse_size(word.as_bytes()) else {
        let word = quote_word(word.as_bytes());
        return plain(format!("invalid {name} {word}: give a size, as in 10M, 1.5GB or 512K-1"));
    };
    Ok(size)
}

fn plain<T>(text: String) -> Result<T, CommandError> {
    Err(CommandError::Plain(text))
}

fn time(name: &str, word: &OsStr) -> Result<Time, CommandError> {
    match word.to_str().and_then(date::parse) {
        Some((seconds, nanoseconds)) => Ok(Time { seconds, nanoseconds }),
        None => plain(format!(
            "invalid {name} {}: give a date as for 'date -d', as in '2 days ago' or 2026-01-31",
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
