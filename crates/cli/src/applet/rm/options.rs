//! The options of `rm`: one table, from which arguments are read and `--help` is written.

use std::ffi::{OsStr, OsString};
use std::num::NonZeroU64;

use haul_engine::remove::{EmptyDirectories, Guard, Missing, Mode, MountPoints, Policy, Strategy};
use haul_engine::request::{Borders, Recursion};

use crate::ending::CommandError;
use crate::escape::{quote, quote_word};
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Usage, Values, choose, opt, own, words_of};
use crate::metrics;
use crate::option::config::{config, no_config};
use crate::option::effect::{Effect, help_row, nothing, read, read_optional, set, version_row};
use crate::option::gentle::{begin, gentle};
use crate::option::metrics::{job, metrics};
use crate::option::select::{Select, Selects, select_rows};
use crate::report::{Format, How};
use crate::value::{Dash, WHEN_VALUES, file, jobs, when};

/// When to ask, according to the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interactive {
    Never,
    /// Before what is write-protected, if standard input is a terminal.
    Sometimes,
    /// That, and once in the beginning.
    Once,
    Always,
}

/// The values of `--interactive`.
const INTERACTIVE: &[(&str, Interactive)] = &[
    ("never", Interactive::Never),
    ("no", Interactive::Never),
    ("none", Interactive::Never),
    ("once", Interactive::Once),
    ("always", Interactive::Always),
    ("yes", Interactive::Always),
];

/// The value of `--preserve-root`.
const ALL: &str = "all";

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) interactive: Interactive,
    pub(super) presumes_terminal: bool,
    /// Whether some word is a part of `--no-preserve-root`, which has to be written out.
    is_abbreviated: bool,
    pub(super) jobs: Option<usize>,
    pub(super) how: How,
    /// Where failures are listed.
    pub(super) errors: Option<OsString>,
    pub(super) select: Select,
    pub(super) metrics: metrics::Wanted,
    /// Whether `--config` is given.
    pub(super) has_config: bool,
}

impl Settings {
    pub(super) fn new(mount_points: MountPoints, is_abbreviated: bool) -> Settings {
        Settings {
            policy: Policy::new().mount_points(mount_points),
            interactive: Interactive::Sometimes,
            presumes_terminal: false,
            is_abbreviated,
            jobs: None,
            errors: None,
            select: Select::default(),
            metrics: metrics::Wanted::default(),
            how: How::QUIET,
            has_config: false,
        }
    }

    /// Only being asked nothing leaves `-f` as it was.
    fn interact(&mut self, interactive: Interactive) {
        self.interactive = interactive;
        if interactive != Interactive::Never {
            self.policy.missing = Missing::Fail;
        }
    }

    fn set_interactive(&mut self, word: Option<&OsStr>) -> Result<(), Usage> {
        self.interact(match word {
            None => Interactive::Always,
            Some(word) => choose("--interactive", word, INTERACTIVE)?,
        });
        Ok(())
    }

    fn leave_root(&mut self) -> Result<(), CommandError> {
        if self.is_abbreviated {
            return Err(CommandError::Plain(
                "you may not abbreviate the --no-preserve-root option".to_owned(),
            ));
        }
        self.policy.root = Guard::Off;
        Ok(())
    }

    fn guard_root(&mut self, word: Option<&OsStr>) -> Result<(), CommandError> {
        let policy = &mut self.policy;
        match word {
            // As in GNU's rm, it does not end what `all` has asked for.
            None if policy.mount_points == MountPoints::KeptAsAsked => {}
            None => policy.mount_points = MountPoints::Emptied,
            Some(all) if all == ALL => policy.mount_points = MountPoints::KeptAsAsked,
            Some(other) => {
                return Err(CommandError::Plain(format!(
                    "unrecognized --preserve-root argument: {}",
                    quote(other.as_encoded_bytes())
                )));
            }
        }
        policy.root = Guard::On;
        Ok(())
    }
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

fn rate(word: &OsStr) -> Result<NonZeroU64, Usage> {
    word.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| {
        Usage(format!(
            "invalid rate {}: give a number of entries a second, 1 or more",
            quote_word(word.as_encoded_bytes())
        ))
    })
}

/// GNU's undocumented option for its tests: standard input counts as a terminal.
pub(super) const PRESUME_INPUT_TTY: Opt<Effect<Settings>> =
    opt(set(|rm| rm.presumes_terminal = true), ("", "-presume-input-tty"), Nothing, "");

/// All options that `--help` shows.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(Settings, &[
    opt(
        set(|rm| {
            rm.interactive = Interactive::Never;
            rm.policy.missing = Missing::Ignore;
        }),
        ("f", "force"),
        Nothing,
        "never ask, and accept operands that do not exist",
    ),
    opt(
        set(|rm| rm.interact(Interactive::Always)),
        ("i", ""),
        Nothing,
        "ask about each file and directory",
    ),
    opt(
        set(|rm| rm.interact(Interactive::Once)),
        ("I", ""),
        Nothing,
        "ask one question for the whole command, if it has\nmore than three operands or -r",
    ),
    opt(
        read_optional(|rm: &mut Settings, word| Ok(rm.set_interactive(word.as_deref())?)),
        ("", "interactive"),
        Optional("WHEN"),
        "when to ask: never, once (-I) or always (-i, also\nwithout WHEN)",
    ).with(Values::Words(|| words_of(INTERACTIVE))),
    opt(
        set(|rm| rm.policy.borders = Borders::Stay),
        ("", "one-file-system"),
        Nothing,
        "with -r: leave out directories of another file\nsystem than the operand they are in",
    ),
    opt(
        read(|rm, _| rm.leave_root()),
        ("", "no-preserve-root"),
        Nothing,
        "allow the removal of '/'",
    ),
    opt(
        read_optional(|rm: &mut Settings, word| rm.guard_root(word.as_deref())),
        ("", "preserve-root"),
        Optional("all"),
        "refuse to remove '/' (default); with all, refuse\nevery operand that is a mount point, too",
    ).with(Values::Words(|| vec![ALL])),
    opt(
        set(|rm| rm.policy.recursion = Recursion::Yes),
        ("rR", "recursive"),
        Nothing,
        "remove directories with everything in them",
    ),
    opt(
        set(|rm| rm.policy.empty_directories = EmptyDirectories::Remove),
        ("d", "dir"),
        Nothing,
        "remove directories that are empty",
    ),
    opt(
        set(|rm| rm.how.verbose = true),
        ("v", "verbose"),
        Nothing,
        "print the name of each file that is removed",
    ),
    help_row(),
    version_row(),
    // The words of a configuration are here already.
    config(set(|rm| rm.has_config = true)),
    own(
        set(|rm| rm.policy.mode = Mode::Pretend),
        "dry-run",
        Nothing,
        "remove nothing, ask nothing, and print what rm\nwould remove",
    ),
    own(
        read_optional(|rm, name| {
            rm.errors = Some(file("--errors", name, Dash::NoOutput)?);
            Ok(())
        }),
        "errors",
        Required("FILE"),
        "list every failure in FILE as JSON lines, with\nlossless names",
    ),
    gentle(read(|rm: &mut Settings, _| {
        rm.policy.pace.strategy = Strategy::Gentle;
        Ok(begin()?)
    }))
    .or_default(),
    job(read_optional(|rm, name| Ok(rm.metrics.set_job(name.as_deref())?))),
    own(
        read(|rm: &mut Settings, count| { rm.jobs = Some(jobs(Some(&count))?); Ok(()) }),
        "jobs",
        Required("N"),
        "use at most N workers (default: one for each\nprocessor)",
    ).or_default(),
    own(
        set(|rm: &mut Settings| rm.how.format = Format::Json),
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ).or_default(),
    metrics(read_optional(|rm, file| Ok(rm.metrics.set_file(file)?))),
    no_config(nothing()),
    own(
        read_optional(|rm: &mut Settings, word| {
            rm.how.progress = when("--progress", word.as_deref())?;
            Ok(())
        }),
        "progress",
        Optional("WHEN"),
        "show on standard error how far it is: always,\nnever, or auto (default): if that is a \
         terminal\nand the run is long",
    ).or_default().with(WHEN_VALUES),
    own(
        read(|rm: &mut Settings, word| { rm.policy.pace.per_second = Some(rate(&word)?); Ok(()) }),
        "rate",
        Required("N"),
        "remove at most N entries a second",
    ).or_default(),
    own(
        set(|rm: &mut Settings| rm.how.stats = true),
        "stats",
        Nothing,
        "print a summary on standard error: entries,\ntime, rate, workers, waits for storage, and what\nthe device did",
    ).or_default(),
]);
