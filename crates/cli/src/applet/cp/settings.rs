//! Reads the command line of `cp` into settings.

use std::ffi::{OsStr, OsString};

use haul_engine::request::{
    Borders, Consent, Dereference, Existing, Force, Keep, Links, Make, Order, Parents, Policy,
    Preserve, Recursion, Specials, TargetLinks,
};
use haul_io::{Reflink, Sparse};

use super::help;
use super::options::{Id, OPTIONS};
use super::profile;
use super::values::{make, no_preserve, preserve, sparse, usual};
use crate::getopt::{Usage, Word, parse};
use crate::metrics;
use crate::option::data::{self, DataId};
use crate::option::help::version;
use crate::option::select::Select;
use crate::option::trust;
use crate::profile::Wanted;
use crate::report::Format;
use crate::value::{self, Dash, When};

pub(super) const PROGRAM: &str = "cp";

/// The settings of the command line, apart from the policy.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) dereference: Option<Dereference>,
    pub(super) into: Option<OsString>,
    pub(super) as_name: bool,
    pub(super) strip_slashes: bool,
    pub(super) verbose: bool,
    pub(super) debug: bool,
    pub(super) wants_backup: bool,
    pub(super) backup: Option<OsString>,
    pub(super) suffix: Option<OsString>,
    pub(super) warnings: Vec<String>,
    pub(super) jobs: Option<usize>,
    pub(super) profile: Wanted,
    pub(super) profile_line: Option<String>,
    pub(super) progress: When,
    pub(super) format: Format,
    pub(super) stats: bool,
    pub(super) trust: trust::Trust,
    pub(super) data: data::Further,
    pub(super) select: Select,
    pub(super) dry_run: bool,
    pub(super) preflight: bool,
    pub(super) metrics: metrics::Wanted,
    /// Where failures are listed.
    pub(super) errors: Option<OsString>,
    /// A list of failures that are done again.
    pub(super) retry_failed: Option<OsString>,
    /// The security context is among what `--preserve` lists, so it must be kept.
    pub(super) requires_context: bool,
}

pub(super) enum Command {
    Copy(Box<Settings>, Vec<OsString>),
    Print(String),
}

pub(super) fn read(arguments: &[OsString]) -> Result<Command, Usage> {
    let mut settings = Settings {
        policy: Policy::plain(haul_sys::process::umask()),
        dereference: None,
        into: None,
        as_name: false,
        strip_slashes: false,
        verbose: false,
        debug: false,
        wants_backup: false,
        backup: None,
        suffix: None,
        warnings: Vec::new(),
        jobs: None,
        profile: Wanted::Auto,
        profile_line: None,
        progress: When::Auto,
        format: Format::Text,
        stats: false,
        trust: trust::Trust::default(),
        data: data::Further::default(),
        select: Select::default(),
        dry_run: false,
        preflight: false,
        metrics: metrics::Wanted::default(),
        errors: None,
        retry_failed: None,
        requires_context: false,
    };
    let mut operands = Vec::new();
    for word in parse(arguments, OPTIONS)? {
        match word {
            Word::Operand(operand) => operands.push(operand),
            Word::Option { id: Id::Help, .. } => {
                return Ok(Command::Print(help::help(PROGRAM).to_string()));
            }
            Word::Option { id: Id::Version, .. } => {
                return Ok(Command::Print(version(PROGRAM)));
            }
            Word::Option { id: Id::Data(DataId::ListMethods), .. } => {
                return Ok(Command::Print(data::list_methods()));
            }
            Word::Option { id: Id::Data(id), value } => {
                let word = value.unwrap_or_default();
                data::set(&mut settings.policy, &mut settings.data, id, &word)?;
            }
            Word::Option { id, value } => settings.set(id, value)?,
        }
    }
    settings.settle()?;
    settings.advise(&operands);
    Ok(Command::Copy(Box::new(settings), operands))
}

impl Settings {
    fn set(&mut self, id: Id, value: Option<OsString>) -> Result<(), Usage> {
        let policy = &mut self.policy;
        match id {
            Id::Archive => {
                self.dereference = Some(Dereference::Never);
                policy.recursion = Recursion::Yes;
                policy.preserve = Preserve::ALL;
            }
            Id::AttributesOnly => policy.make = Make::Attributes,
            Id::CopyContents => policy.specials = Specials::Read,
            Id::NoDereferenceLinks => {
                self.dereference = Some(Dereference::Never);
                policy.preserve.links = Links::Keep;
            }
            Id::Dereference => self.dereference = Some(Dereference::Always),
            Id::DereferenceOperands => self.dereference = Some(Dereference::Operands),
            Id::NoDereference => self.dereference = Some(Dereference::Never),
            Id::Force if policy.force == Force::No => policy.force = Force::IfUnopenable,
            Id::Force => {}
            Id::RemoveDestination => policy.force = Force::First,
            Id::Interactive => policy.consent = Consent::Ask,
            Id::NoClobber => policy.consent = Consent::Denied,
            Id::Backup => {
                self.wants_backup = true;
                self.backup = value.or(self.backup.take());
            }
            Id::BackupUsual => self.wants_backup = true,
            Id::Suffix => {
                self.wants_backup = true;
                self.suffix = value;
            }
            Id::Parents => policy.parents = Parents::Keep,
            Id::Debug => {
                self.debug = true;
                self.verbose = true;
            }
            Id::Context | Id::ContextDefault => self.context(value.as_deref())?,
            Id::UpdateOlder => policy.existing = Existing::Older,
            Id::Update => policy.existing = value::update(value.as_deref())?,
            Id::Link => policy.make = make(policy.make, Make::HardLink)?,
            Id::Symbolic => policy.make = make(policy.make, Make::SymbolicLink)?,
            Id::PreserveUsual => usual(&mut policy.preserve),
            Id::Preserve => match value.as_deref() {
                None => usual(&mut policy.preserve),
                Some(list) => {
                    self.requires_context |= preserve(list, &mut policy.preserve)?;
                }
            },
            Id::NoPreserve => {
                let list = value.as_deref().unwrap_or_default();
                let gives_it_up = no_preserve(list, &mut policy.preserve)?;
                self.requires_context &= !gives_it_up;
            }
            Id::Select(id) => self.select.set(id, value),
            Id::Recursive => policy.recursion = Recursion::Yes,
            Id::Reflink => policy.data.reflink = data::reflink(value.as_deref())?,
            Id::Sparse => policy.data.sparse = sparse(value.as_deref().unwrap_or_default())?,
            Id::StripSlashes => self.strip_slashes = true,
            Id::TargetDirectory if self.into.is_some() => {
                return Err(Usage("multiple target directories specified".to_owned()));
            }
            Id::TargetDirectory => self.into = value,
            Id::NoTargetDirectory => self.as_name = true,
            Id::Verbose => self.verbose = true,
            Id::KeepDirectorySymlink => policy.target_links = TargetLinks::KeepDirectory,
            Id::OneFileSystem => policy.borders = Borders::Stay,
            Id::HaulJobs
            | Id::HaulDryRun
            | Id::HaulJob
            | Id::HaulMetrics
            | Id::HaulPreflight
            | Id::HaulErrors
            | Id::HaulRetryFailed
            | Id::HaulProfile
            | Id::HaulJson
            | Id::HaulProgress
            | Id::HaulStats
            | Id::Trust(_) => self.set_own(id, value)?,
            // The words of a configuration are here already.
            Id::Data(_) | Id::HaulConfig | Id::HaulNoConfig | Id::Help | Id::Version => {}
        }
        Ok(())
    }

    /// Applies an option that GNU cp does not have.
    fn set_own(&mut self, id: Id, value: Option<OsString>) -> Result<(), Usage> {
        match id {
            Id::HaulJobs => self.jobs = Some(value::jobs(value.as_deref())?),
            Id::HaulJob => self.metrics.set_job(value.as_deref())?,
            Id::HaulMetrics => self.metrics.set_file(value)?,
            Id::HaulDryRun => self.dry_run = true,
            Id::HaulPreflight => self.preflight = true,
            Id::HaulErrors => {
                self.errors = Some(value::file("--errors", value, Dash::NoOutput)?);
            }
            Id::HaulRetryFailed => {
                self.retry_failed = Some(value::file("--retry-failed", value, Dash::NoInput)?);
            }
            Id::HaulProfile => {
                let word = value::file("--profile", value, Dash::NoInput)?;
                self.profile = profile::wanted(Some(&word));
            }
            Id::HaulJson => self.format = Format::Json,
            Id::HaulProgress => self.progress = value::when("--progress", value.as_deref())?,
            Id::HaulStats => self.stats = true,
            Id::Trust(id) => self.trust.set(&mut self.policy, id, value)?,
            _ => {}
        }
        Ok(())
    }

    /// `-Z` and `--context`: without SELinux there is nothing to set, and GNU cp says so only if a
    /// context was given.
    fn context(&mut self, value: Option<&OsStr>) -> Result<(), Usage> {
        if value::has_selinux() {
            return Err(Usage(
                "setting an SELinux context is not supported; copy without -Z and use restorecon"
                    .to_owned(),
            ));
        }
        if value.is_some() {
            self.warnings.push(
                "warning: ignoring --context; it requires an SELinux-enabled kernel".to_owned(),
            );
        }
        Ok(())
    }

    /// Applies the settings of a profile that the command line does not set.
    fn advise(&mut self, operands: &[OsString]) {
        let policy = &mut self.policy;
        let advice = profile::advise(&self.profile, policy, operands, self.into.as_ref());
        self.jobs = self.jobs.or(advice.jobs);
        self.warnings.extend(advice.warning);
        self.profile_line = advice.line.filter(|_| self.debug || self.data.explain);
    }

    /// Settles what depends on several options together.
    fn settle(&mut self) -> Result<(), Usage> {
        let policy = &mut self.policy;
        if policy.data.reflink == Reflink::Always && policy.data.sparse != Sparse::Auto {
            return Err(Usage("--reflink can be used only with --sparse=auto".to_owned()));
        }
        let by_default = match (policy.recursion, policy.make) {
            (Recursion::Yes, Make::HardLink) | (Recursion::No, _) => Dereference::Always,
            (Recursion::Yes, _) => Dereference::Never,
        };
        policy.dereference = self.dereference.unwrap_or(by_default);
        if self.requires_context {
            // Even if a later option, such as -a, only tries to keep it.
            policy.preserve.context = Keep::Must;
        }
        self.trust.settle(policy)?;
        policy.data.tell = self.data.tell(self.stats || self.metrics.file.is_some());
        self.metrics.settle()?;
        for (is_given, option) in
            [(self.metrics.file.is_some(), "--metrics"), (self.errors.is_some(), "--errors")]
        {
            if self.dry_run && is_given {
                return Err(Usage(format!("{option} cannot be combined with --dry-run")));
            }
        }
        self.trust.settle_resume(policy, self.wants_backup)?;
        if self.trust.resume && (self.dry_run || self.preflight) {
            return Err(Usage(
                "--resume cannot be combined with --dry-run or --preflight".to_owned(),
            ));
        }
        if self.wants_backup {
            policy.backup = value::backup(self.backup.as_deref(), self.suffix.as_deref())?;
            let keeps = policy.consent == Consent::Denied
                || matches!(policy.existing, Existing::Keep | Existing::KeepAndFail);
            if keeps {
                return Err(Usage(
                    "--backup is mutually exclusive with -n or --update=none-fail".to_owned(),
                ));
            }
        }
        let watched = self.verbose && self.format == Format::Text;
        if watched || policy.consent == Consent::Ask {
            policy.order = Order::Listed;
        }
        if std::env::var_os("POSIXLY_CORRECT").is_some()
            && policy.target_links == TargetLinks::Strict
            // What does not exist cannot be replaced at once.
            && !policy.appears_whole()
        {
            policy.target_links = TargetLinks::WriteDangling;
        }
        Ok(())
    }
}
