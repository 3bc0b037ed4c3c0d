//! The settings of the command line of `sync`, and how its options change them.

use std::ffi::{OsStr, OsString};

use haul_engine::request::{
    Appearance, Borders, Delete, Dereference, Keep, Links, ModePolicy, Order, Policy, Recursion,
    SameBy, Synchronize,
};
use haul_io::Reflink;

use crate::getopt::Usage;
use crate::metrics;
use crate::option::data;
use crate::option::select::{Select, Selects};
use crate::option::trust;
use crate::report::{Format, Lists};
use crate::value::When;

/// The settings of the command line. What an option means alone is in the policy and in its rules at once; what depends
/// on several options is settled at the end.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) rules: Synchronize,
    /// `-o`: root alone may set owners, so that the engine keeps them with the groups or not at all.
    pub(super) owner: bool,
    /// `-g`
    pub(super) group: bool,
    /// Whether `-r` is given for itself, and not by `-a`.
    pub(super) is_recursive_by_itself: bool,
    pub(super) checksum: bool,
    pub(super) size_only: bool,
    pub(super) ignore_times: bool,
    pub(super) window_s: i64,
    /// Whether anything is deleted, and how.
    pub(super) deletes: bool,
    pub(super) delete: Delete,
    /// Whether what the rules leave out is deleted, too.
    pub(super) deletes_excluded: bool,
    pub(super) dry_run: bool,
    /// How often `-v` is given.
    pub(super) verbose: u32,
    /// How often `-i` is given.
    pub(super) itemize: u32,
    pub(super) quiet: bool,
    /// How often `-F` is given.
    pub(super) merges: u32,
    pub(super) ignores_for_cvs: bool,
    pub(super) jobs: Option<usize>,
    pub(super) progress: When,
    pub(super) format: Format,
    pub(super) stats: bool,
    pub(super) trust: trust::Trust,
    pub(super) data: data::Further,
    pub(super) select: Select,
    pub(super) metrics: metrics::Wanted,
    /// Where failures are listed.
    pub(super) errors: Option<OsString>,
}

impl Selects for Settings {
    fn select(&mut self) -> &mut Select {
        &mut self.select
    }
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings {
            policy: Policy::plain(haul_sys::process::umask())
                .dereference(Dereference::Never)
                .appearance(Appearance::Whole),
            rules: Synchronize::default().symlinks(false).devices(false).specials(false),
            owner: false,
            group: false,
            is_recursive_by_itself: false,
            checksum: false,
            size_only: false,
            ignore_times: false,
            window_s: 0,
            deletes: false,
            delete: Delete::default(),
            deletes_excluded: false,
            dry_run: false,
            verbose: 0,
            itemize: 0,
            quiet: false,
            merges: 0,
            ignores_for_cvs: false,
            jobs: None,
            progress: When::Auto,
            format: Format::Text,
            stats: false,
            trust: trust::Trust::default(),
            data: data::Further::default(),
            select: Select::default(),
            metrics: metrics::Wanted::default(),
            errors: None,
        }
    }

    /// `-a`
    pub(super) fn archive(&mut self) {
        self.policy.recursion = Recursion::Yes;
        self.rules.symlinks = true;
        self.policy.preserve.mode = ModePolicy::Keep;
        self.policy.preserve.times = Keep::Must;
        (self.owner, self.group) = (true, true);
        (self.rules.devices, self.rules.specials) = (true, true);
    }

    /// `-r`
    pub(super) fn recurse(&mut self) {
        self.policy.recursion = Recursion::Yes;
        self.is_recursive_by_itself = true;
    }

    /// `--no-r`
    pub(super) fn do_not_recurse(&mut self) {
        self.policy.recursion = Recursion::No;
        self.is_recursive_by_itself = false;
    }

    /// `-x`
    pub(super) fn stay_inside(&mut self) -> Result<(), Usage> {
        if self.policy.borders == Borders::Stay {
            return Err(Usage(
                "option -x twice is not supported by haul: directories on which a file system is mounted are made; \
                 --exclude leaves them out"
                    .to_owned(),
            ));
        }
        self.policy.borders = Borders::Stay;
        Ok(())
    }

    /// `-A`
    pub(super) fn compare_acls(&mut self) {
        self.policy.preserve.mode = ModePolicy::Keep;
        self.rules.acls = true;
    }

    /// `-F`: the first one reads files of rules, the second one leaves these files out.
    pub(super) fn read_rules_of_directories(&mut self) {
        self.merges += 1;
        match self.merges {
            1 => self.select.add_rule(OsStr::new(": /.rsync-filter")),
            2 => self.select.add_rule(OsStr::new("- .rsync-filter")),
            _ => {}
        }
    }

    /// `--max-delete`
    pub(super) fn delete_at_most(&mut self, count: u64) {
        self.delete.most = Some(count);
    }

    /// Settles what depends on several options together.
    pub(super) fn settle(&mut self) -> Result<(), Usage> {
        self.settle_owners()?;
        self.settle_rules()?;
        if self.ignores_for_cvs {
            for rule in [":C", "-C"] {
                self.select.add_rule(OsStr::new(rule));
            }
        }
        self.trust.settle(&mut self.policy)?;
        let measures = self.stats || self.metrics.file.is_some();
        self.policy.data.tell = self.data.tell(measures);
        self.metrics.settle()?;
        for (is_given, option) in
            [(self.metrics.file.is_some(), "--metrics"), (self.errors.is_some(), "--errors")]
        {
            if self.dry_run && is_given {
                return Err(Usage(format!("{option} cannot be combined with --dry-run")));
            }
        }
        if self.policy.data.reflink == Reflink::Always
            && self.policy.data.sparse != haul_io::Sparse::Auto
        {
            return Err(Usage("--reflink=always cannot be combined with --sparse".to_owned()));
        }
        if self.lists().is_some() && self.format == Format::Text {
            self.policy.order = Order::Listed;
        }
        Ok(())
    }

    fn settle_owners(&mut self) -> Result<(), Usage> {
        self.policy.preserve.ownership = match (self.owner, self.group) {
            (true, true) => Keep::Must,
            (false, false) => Keep::No,
            (true, false) => return Err(one_of_two("-o", "-g")),
            (false, true) => return Err(one_of_two("-g", "-o")),
        };
        Ok(())
    }

    fn settle_rules(&mut self) -> Result<(), Usage> {
        // The order of rsync's own questions.
        self.rules.same = match (self.checksum, self.size_only, self.ignore_times) {
            (true, ..) => SameBy::Content,
            (_, true, _) => SameBy::Size,
            (.., true) => SameBy::Never,
            _ => SameBy::SizeAndTime { window_s: self.window_s },
        };
        if !self.deletes {
            return Ok(());
        }
        if self.policy.recursion == Recursion::No {
            return Err(Usage("--delete needs -r: without it no directory is compared".to_owned()));
        }
        self.rules.clears_directories = true;
        self.rules.delete = Some(self.delete);
        Ok(())
    }

    /// Returns which entries are listed, if any are.
    pub(super) fn lists(&self) -> Option<Lists> {
        match (self.quiet, self.itemize, self.verbose) {
            (true, ..) | (_, 0, 0) => None,
            (_, 0, 1) => Some(Lists::Names),
            (_, 0, _) => Some(Lists::AllNames),
            (_, 1, 0 | 1) => Some(Lists::Items),
            _ => Some(Lists::AllItems),
        }
    }

    /// `-H`
    pub(super) fn keep_hard_links(&mut self) {
        self.policy.preserve.links = Links::Keep;
    }
}

fn one_of_two(given: &str, missing: &str) -> Usage {
    Usage(format!(
        "{given} without {missing} is not supported by haul: owner and group are kept together; give both, or \
         neither, as in -a --no-o --no-g"
    ))
}
