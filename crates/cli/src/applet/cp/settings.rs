//! The settings of the command line of `cp`, and how its options change them.

use std::ffi::{OsStr, OsString};

use haul_engine::request::{
    Appearance, Consent, Dereference, Existing, Force, Keep, Make, Order, Policy, Preserve,
    Recursion, TargetLinks,
};
use haul_io::{Reflink, Sparse};

use super::profile;
use super::values::{make, no_preserve, preserve, usual};
use crate::getopt::Usage;
use crate::metrics;
use crate::option::data;
use crate::option::select::{Select, Selects};
use crate::option::trust;
use crate::profile::Wanted;
use crate::report::Format;
use crate::value::{self, Dash, When};

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
    /// Whether `--config` is given.
    pub(super) has_config: bool,
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
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
            has_config: false,
        }
    }

    pub(super) fn archive(&mut self) {
        self.dereference = Some(Dereference::Never);
        self.policy.recursion = Recursion::Yes;
        self.policy.preserve = Preserve::ALL;
    }

    /// `-f`, which `--remove-destination` includes.
    pub(super) fn force(&mut self) {
        if self.policy.force == Force::No {
            self.policy.force = Force::IfUnopenable;
        }
    }

    /// `--atomic`, which `--durable` includes.
    pub(super) fn make_whole(&mut self) {
        if self.policy.appearance == Appearance::Gradual {
            self.policy.appearance = Appearance::Whole;
        }
    }

    pub(super) fn set_backup(&mut self, control: Option<OsString>) {
        self.wants_backup = true;
        self.backup = control.or(self.backup.take());
    }

    pub(super) fn set_suffix(&mut self, suffix: OsString) {
        self.wants_backup = true;
        self.suffix = Some(suffix);
    }

    pub(super) fn set_make(&mut self, wanted: Make) -> Result<(), Usage> {
        self.policy.make = make(self.policy.make, wanted)?;
        Ok(())
    }

    pub(super) fn preserve(&mut self, list: Option<&OsStr>) -> Result<(), Usage> {
        match list {
            None => usual(&mut self.policy.preserve),
            Some(list) => self.requires_context |= preserve(list, &mut self.policy.preserve)?,
        }
        Ok(())
    }

    pub(super) fn no_preserve(&mut self, list: &OsStr) -> Result<(), Usage> {
        let gives_it_up = no_preserve(list, &mut self.policy.preserve)?;
        self.requires_context &= !gives_it_up;
        Ok(())
    }

    pub(super) fn set_into(&mut self, directory: OsString) -> Result<(), Usage> {
        if self.into.replace(directory).is_some() {
            return Err(Usage("multiple target directories specified".to_owned()));
        }
        Ok(())
    }

    pub(super) fn set_profile(&mut self, word: Option<OsString>) -> Result<(), Usage> {
        let word = value::file("--profile", word, Dash::NoInput)?;
        self.profile = profile::wanted(Some(&word));
        Ok(())
    }

    /// `-Z` and `--context`: without SELinux there is nothing to set, and GNU cp says so only if a
    /// context was given.
    pub(super) fn set_context(&mut self, value: Option<&OsStr>) -> Result<(), Usage> {
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
    pub(super) fn advise(&mut self, operands: &[OsString]) {
        let policy = &mut self.policy;
        let advice = profile::advise(&self.profile, policy, operands, self.into.as_ref());
        self.jobs = self.jobs.or(advice.jobs);
        self.warnings.extend(advice.warning);
        self.profile_line = advice.line.filter(|_| self.debug || self.data.explain);
    }

    /// Settles what depends on several options together.
    pub(super) fn settle(&mut self) -> Result<(), Usage> {
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
