//! The options of `mv`: one table, from which arguments are read and `--help` is written.

use std::ffi::OsString;

use haul_engine::relocate::{Across, Mode, Policy};
use haul_engine::request::Existing;

use crate::ending::CommandError;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, opt, own};
use crate::metrics;
use crate::option::config::{config, no_config};
use crate::option::data::bandwidth;
use crate::option::effect::{
    Effect, help_row, nothing, read, read_optional, set, set_to, version_row,
};
use crate::option::gentle::{begins, gentle};
use crate::option::metrics::{job, metrics};
use crate::option::select::{Select, Selects, select_rows};
use crate::report::{Format, How};
use crate::value::{BACKUP_VALUES, UPDATE_VALUES, WHEN_VALUES, has_selinux, jobs, update, when};

/// Which of `-i`, `-f` and `-n` came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clobber {
    /// None of them.
    Unsaid,
    Yes,
    Ask,
    No,
}

/// What the options change.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) clobber: Clobber,
    pub(super) into: Option<OsString>,
    pub(super) as_name: bool,
    pub(super) strip_slashes: bool,
    pub(super) wants_backup: bool,
    pub(super) backup: Option<OsString>,
    pub(super) suffix: Option<OsString>,
    pub(super) jobs: Option<usize>,
    pub(super) how: How,
    pub(super) metrics: metrics::Wanted,
    pub(super) select: Select,
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            policy: Policy::plain(haul_sys::process::umask()),
            clobber: Clobber::Unsaid,
            into: None,
            as_name: false,
            strip_slashes: false,
            wants_backup: false,
            backup: None,
            suffix: None,
            jobs: None,
            how: How { overrides: true, ..How::QUIET },
            metrics: metrics::Wanted::default(),
            select: Select::default(),
        }
    }

    fn set_backup(&mut self, control: Option<OsString>) {
        self.wants_backup = true;
        self.backup = control.or(self.backup.take());
    }

    fn set_suffix(&mut self, suffix: OsString) {
        self.wants_backup = true;
        self.suffix = Some(suffix);
    }

    fn set_into(&mut self, directory: OsString) -> Result<(), CommandError> {
        if self.into.replace(directory).is_some() {
            return Err(CommandError::Plain("multiple target directories specified".to_owned()));
        }
        Ok(())
    }

    /// Without SELinux there is nothing to set, and GNU mv does not say so.
    fn set_context(&mut self) -> Result<(), CommandError> {
        if has_selinux() {
            return Err(CommandError::Plain(
                "setting an SELinux context is not supported; move without -Z and use restorecon"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

/// Every option, in the order of `--help`.
pub(super) const OPTIONS: &[Opt<Effect<Settings>>] = select_rows!(Settings, &[
    opt(
        read_optional(|mv: &mut Settings, control| {
            mv.set_backup(control);
            Ok(())
        }),
        ("", "backup"),
        Optional("CONTROL"),
        "keep what DEST replaces, under a backup name.\nSee below",
    )
    .with(BACKUP_VALUES),
    opt(set(|mv| mv.set_backup(None)), ("b", ""), Nothing, "--backup without a value"),
    opt(
        set(|mv| (mv.how.debug, mv.how.verbose) = (true, true)),
        ("", "debug"),
        Nothing,
        "print how each file was moved; implies -v",
    ),
    opt(
        set(|mv| mv.policy.mode = Mode::Exchange),
        ("", "exchange"),
        Nothing,
        "swap the two names in one step",
    ),
    opt(
        set(|mv| mv.clobber = Clobber::Yes),
        ("f", "force"),
        Nothing,
        "replace files without asking",
    ),
    opt(
        set(|mv| mv.clobber = Clobber::Ask),
        ("i", "interactive"),
        Nothing,
        "ask before replacing a file",
    ),
    opt(
        set(|mv| mv.clobber = Clobber::No),
        ("n", "no-clobber"),
        Nothing,
        "leave existing files alone",
    ),
    opt(
        set(|mv| mv.policy.across = Across::Fail),
        ("", "no-copy"),
        Nothing,
        "fail where a rename is not enough",
    ),
    opt(
        set(|mv| mv.strip_slashes = true),
        ("", "strip-trailing-slashes"),
        Nothing,
        "ignore slashes at the end of SOURCE",
    ),
    opt(
        set_to(Settings::set_suffix),
        ("S", "suffix"),
        Required("SUFFIX"),
        "end the names of backups in SUFFIX",
    ),
    opt(
        read(Settings::set_into),
        ("t", "target-directory"),
        Required("DIRECTORY"),
        "put every SOURCE into DIRECTORY",
    ),
    opt(
        set(|mv| mv.as_name = true),
        ("T", "no-target-directory"),
        Nothing,
        "DEST is no directory to move into",
    ),
    opt(
        read_optional(|mv: &mut Settings, word| {
            mv.policy.existing = update(word.as_deref())?;
            Ok(())
        }),
        ("", "update"),
        Optional("UPDATE"),
        "which existing files to replace: all, none,\nnone-fail or older (default). See below",
    )
    .with(UPDATE_VALUES),
    opt(
        set(|mv| mv.policy.existing = Existing::Older),
        ("u", ""),
        Nothing,
        "stands for --update=older",
    ),
    opt(
        set(|mv| mv.how.verbose = true),
        ("v", "verbose"),
        Nothing,
        "print the names of each file that is moved",
    ),
    opt(
        read(|mv, _| mv.set_context()),
        ("Z", "context"),
        Nothing,
        "label the target with the default SELinux type",
    ),
    help_row(),
    version_row(),
    own(
        read(|mv: &mut Settings, rate| {
            mv.policy.bytes_per_second = Some(bandwidth(&rate)?);
            Ok(())
        }),
        "bandwidth",
        Required("RATE"),
        "across file systems, copy at most RATE bytes a\nsecond, all workers together, as in 50M",
    ).or_default(),
    // The words of a configuration are here already.
    config(nothing()),
    gentle(begins()).or_default(),
    job(read_optional(|mv, name| Ok(mv.metrics.set_job(name.as_deref())?))),
    own(
        read(|mv: &mut Settings, count| { mv.jobs = Some(jobs(Some(&count))?); Ok(()) }),
        "jobs",
        Required("N"),
        "use at most N workers (default: one more than\nthere are processors for copying, one for \
         each\nfor removing)",
    ).or_default(),
    own(
        set(|mv: &mut Settings| mv.how.format = Format::Json),
        "json",
        Nothing,
        "report entries, failures and the summary as\nJSON lines on standard output",
    ).or_default(),
    metrics(read_optional(|mv, file| Ok(mv.metrics.set_file(file)?))),
    no_config(nothing()),
    own(
        read_optional(|mv: &mut Settings, word| {
            mv.how.progress = when("--progress", word.as_deref())?;
            Ok(())
        }),
        "progress",
        Optional("WHEN"),
        "show a bar on standard error while copying:\nalways, never, or auto (default): if that is \
         a\nterminal and the run is long; with --json,\nalways adds a line each second",
    ).or_default()
    .with(WHEN_VALUES),
    own(
        set(|mv: &mut Settings| mv.how.stats = true),
        "stats",
        Nothing,
        "print a summary on standard error: what was\nrenamed, copied and removed, bytes, time, rate,\nwaits for each side, and what the devices did",
    ).or_default(),
]);
