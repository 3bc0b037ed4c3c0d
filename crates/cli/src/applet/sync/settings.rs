//! The settings of the command line of `sync`, and how its options change them.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::time::SystemTime;

use haul_engine::request::{
    Accounts, Appearance, Backups, Bases, BasisUse, Borders, Delete, Dereference, IdMap, IdSet,
    Keep, Links, ModePolicy, Order, Ownership, Parts, Policy, Recursion, SameBy, Synchronize,
};
use haul_io::Reflink;
use haul_io::digest::Algorithm;

use crate::escape::quote_word;
use crate::getopt::Usage;
use crate::metrics;
use crate::option::data;
use crate::option::select::{Select, Selects};
use crate::option::trust;
use crate::report::item_format::ItemFormat;
use crate::report::{Format, Lists};
use crate::value::When;

/// Most directories that `--link-dest` takes, as in rsync.
const BASES: usize = 20;

/// The settings of the command line. What an option means alone is in the policy and in its rules at once; what depends
/// on several options is settled at the end.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: Policy,
    pub(super) rules: Synchronize,
    /// `-o`
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
    /// Whether a SOURCE that does not exist is no failure.
    pub(super) ignores_missing: bool,
    /// When the run ends at the latest.
    pub(super) stop_at: Option<SystemTime>,
    /// `--out-format`
    pub(super) out_format: Option<ItemFormat>,
    pub(super) log_file: Option<OsString>,
    pub(super) log_format: Option<ItemFormat>,
    /// `--backup`
    pub(super) makes_backups: bool,
    pub(super) backup_directory: Option<CString>,
    pub(super) backup_suffix: Option<OsString>,
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
            ignores_missing: false,
            stop_at: None,
            out_format: None,
            log_file: None,
            log_format: None,
            makes_backups: false,
            backup_directory: None,
            backup_suffix: None,
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
        self.settle_owners();
        self.settle_rules()?;
        self.settle_backups()?;
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

    fn settle_owners(&mut self) {
        // As in rsync: a mapping asks for what it maps.
        let owner = self.owner || self.rules.users.is_some();
        let group = self.group || self.rules.groups.is_some();
        self.rules.ownership = match (owner, group) {
            (true, false) => Ownership::User,
            (false, true) => Ownership::Group,
            (true, true) | (false, false) => Ownership::Both,
        };
        self.policy.preserve.ownership = if owner || group { Keep::Must } else { Keep::No };
    }

    /// `--chmod`
    pub(super) fn change_modes(&mut self, word: &OsStr) -> Result<(), Usage> {
        if self.rules.modes.read(word.as_bytes(), self.policy.umask) {
            return Ok(());
        }
        Err(Usage(format!(
            "invalid --chmod {}: give changes as in D755,F644 or u+w,go-rwx",
            quote_word(word.as_bytes())
        )))
    }

    /// `--usermap` and `--groupmap`
    pub(super) fn map_ids(&mut self, accounts: Accounts, word: &OsStr) -> Result<(), Usage> {
        let (option, map) = match accounts {
            Accounts::Users => ("--usermap", &mut self.rules.users),
            Accounts::Groups => ("--groupmap", &mut self.rules.groups),
        };
        if map.is_some() {
            return Err(Usage(format!(
                "{option} or --chown is given twice: join the pairs by commas"
            )));
        }
        let rules = word.as_bytes().split(|byte| *byte == b',').map(|pair| id_rule(accounts, pair));
        match rules.collect::<Option<Vec<_>>>() {
            Some(rules) => *map = Some(IdMap { accounts, rules }),
            None => {
                return Err(Usage(format!(
                    "invalid {option} {}: give pairs FROM:TO of names or numbers that exist",
                    quote_word(word.as_bytes())
                )));
            }
        }
        Ok(())
    }

    /// `--chown`
    pub(super) fn change_owner(&mut self, word: &OsStr) -> Result<(), Usage> {
        let bytes = word.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let (user, group) = match colon {
            Some(at) => (&bytes[..at], &bytes[at + 1..]),
            None => (bytes, &b""[..]),
        };
        for (accounts, name) in [(Accounts::Users, user), (Accounts::Groups, group)] {
            if !name.is_empty() {
                self.map_ids(accounts, OsStr::from_bytes(&[b"*:", name].concat()))?;
            }
        }
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
        if self.policy.recursion == Recursion::No && !self.rules.lists_directories {
            return Err(Usage(
                "--delete needs -r or -d: without them no directory is compared".to_owned(),
            ));
        }
        self.rules.clears_directories = true;
        self.rules.delete = Some(self.delete);
        Ok(())
    }

    /// Reads a format of lines.
    pub(super) fn format_of(option: &str, word: &OsStr) -> Result<ItemFormat, Usage> {
        ItemFormat::read(&word.to_string_lossy()).map_err(|letter| {
            Usage(format!("{option} with {letter} is not supported by haul: -i has what changes"))
        })
    }

    /// `--partial`
    pub(super) fn keep_parts(&mut self) {
        self.rules.parts.get_or_insert(Parts::Named);
    }

    /// `--partial-dir`
    pub(super) fn keep_parts_in(&mut self, word: &OsStr) -> Result<(), Usage> {
        let directory = directory_name("--partial-dir", word)?;
        let bytes = directory.to_bytes();
        let is_name = !bytes.contains(&b'/') && !matches!(bytes, b"." | b"..");
        if !is_name {
            return Err(Usage(format!(
                "--partial-dir {} is not supported by haul: give a plain name, for a directory beside each file",
                quote_word(bytes)
            )));
        }
        // As in rsync: it is neither copied nor removed.
        self.select.add_rule(OsStr::from_bytes(&[b"- ", bytes, b"/"].concat()));
        self.rules.parts = Some(Parts::Directory(directory));
        Ok(())
    }

    /// `--checksum-choice`
    pub(super) fn choose_checksum(&mut self, word: &OsStr) -> Result<(), Usage> {
        // Of two names, the first one is about what is sent over a connection.
        let name = word.to_str().unwrap_or_default();
        let name = name.rsplit(',').next().unwrap_or_default();
        self.rules.comparing = match name {
            "auto" => None,
            "xxh128" => Algorithm::find("xxh3-128"),
            "xxh3" => Algorithm::find("xxh3-64"),
            "xxhash" => Algorithm::find("xxh64"),
            // A sum of few bits would take different files for the same.
            "xxh64" | "md5" | "sha1" | "sha256" | "sha512" | "blake2b" | "blake3" => {
                Algorithm::find(name)
            }
            _ => {
                return Err(Usage(format!(
                    "--checksum-choice={} is not supported by haul: auto, xxh128, xxh3, xxh64, md5, sha1, sha256, \
                     sha512, blake2b and blake3 are",
                    quote_word(word.as_bytes())
                )));
            }
        };
        Ok(())
    }

    /// `--info`
    pub(super) fn inform(&mut self, word: &OsStr) -> Result<(), Usage> {
        for flag in word.to_str().unwrap_or_default().split(',') {
            let name = flag.trim_end_matches(|letter: char| letter.is_ascii_digit());
            let level = flag[name.len()..].parse().unwrap_or(1);
            match (&*name.to_ascii_lowercase(), level) {
                ("name", level) => self.verbose = level.min(2),
                ("progress", 0) => self.progress = When::Never,
                ("progress", _) => self.progress = When::Always,
                ("stats", level) => self.stats = level > 0,
                _ => {
                    return Err(Usage(format!(
                        "--info={} is not supported by haul: name, progress and stats are",
                        quote_word(flag.as_bytes())
                    )));
                }
            }
        }
        Ok(())
    }

    fn settle_backups(&mut self) -> Result<(), Usage> {
        let links = self.rules.bases.as_ref().is_some_and(|it| it.purpose == BasisUse::Link);
        if self.rules.in_place && links {
            return Err(Usage(
                "--inplace with --link-dest is not supported by haul: it would write into the files of DIR"
                    .to_owned(),
            ));
        }
        if !self.makes_backups {
            return Ok(());
        }
        if self.rules.in_place {
            return Err(Usage(
                "--inplace with --backup is not supported by haul: the file itself stays"
                    .to_owned(),
            ));
        }
        let directory = self.backup_directory.clone();
        let default = if directory.is_some() { "" } else { "~" };
        let suffix = self.backup_suffix.clone().unwrap_or_else(|| OsString::from(default));
        let suffix = suffix.as_bytes().to_vec();
        if suffix.contains(&b'/') {
            return Err(Usage(format!("--suffix {} has a slash", quote_word(&suffix))));
        }
        if directory.is_none() {
            if suffix.is_empty() {
                return Err(Usage("--suffix is empty, which needs --backup-dir".to_owned()));
            }
            // As in rsync: a directory changes with each backup, and backups of earlier runs stay.
            self.rules.directory_times = false;
            if self.deletes && !self.deletes_excluded {
                self.select.add_rule(OsStr::from_bytes(&[b"P *", &*suffix].concat()));
            }
        }
        self.rules.backups = Some(Backups { directory, suffix });
        Ok(())
    }

    /// `--backup-dir`
    pub(super) fn back_up_in(&mut self, directory: &OsStr) -> Result<(), Usage> {
        self.makes_backups = true;
        self.backup_directory = Some(directory_name("--backup-dir", directory)?);
        Ok(())
    }

    /// `--link-dest` and its siblings
    pub(super) fn look_in(&mut self, purpose: BasisUse, directory: &OsStr) -> Result<(), Usage> {
        let option = |purpose| match purpose {
            BasisUse::Link => "--link-dest",
            BasisUse::Copy => "--copy-dest",
            BasisUse::Compare => "--compare-dest",
        };
        let directory = directory_name(option(purpose), directory)?;
        let first = || Bases { purpose, directories: Vec::new() };
        let bases = self.rules.bases.get_or_insert_with(first);
        if bases.purpose != purpose {
            let (one, other) = (option(purpose), option(bases.purpose));
            return Err(Usage(format!("{one} cannot be combined with {other}")));
        }
        if bases.directories.len() == BASES {
            return Err(Usage(format!("{} may be given {BASES} times", option(purpose))));
        }
        bases.directories.push(directory);
        Ok(())
    }

    /// Returns which entries are listed, if any are.
    pub(super) fn lists(&self) -> Option<Lists> {
        let is_itemized =
            self.out_format.as_ref().map_or(self.itemize > 0, ItemFormat::has_changes);
        match (self.quiet, is_itemized, self.verbose.max(u32::from(self.out_format.is_some()))) {
            (true, ..) | (_, false, 0) => None,
            (_, false, 1) => Some(Lists::Names),
            (_, false, _) => Some(Lists::AllNames),
            (_, true, 0 | 1) if self.itemize < 2 => Some(Lists::Items),
            (_, true, _) => Some(Lists::AllItems),
        }
    }

    /// `-H`
    pub(super) fn keep_hard_links(&mut self) {
        self.policy.preserve.links = Links::Keep;
    }
}

/// Returns the name of a directory that an option gives.
fn directory_name(option: &str, word: &OsStr) -> Result<CString, Usage> {
    let name = CString::new(word.as_bytes()).ok().filter(|name| !name.is_empty());
    name.ok_or_else(|| Usage(format!("{option} needs the name of a directory")))
}

/// Reads a pair of `--usermap`: the numbers that it is for, and the one that they become. Names have to exist.
fn id_rule(accounts: Accounts, pair: &[u8]) -> Option<(IdSet, u32)> {
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let (from, to) = (&pair[..colon], &pair[colon + 1..]);
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<u32>().ok();
    let of_name = |name: &[u8]| {
        number(name).or_else(|| match accounts {
            Accounts::Users => haul_sys::process::user_id(name),
            Accounts::Groups => haul_sys::process::group_id(name),
        })
    };
    let dash = from.iter().position(|byte| *byte == b'-');
    let range = dash.and_then(|at| Some((number(&from[..at])?, number(&from[at + 1..])?)));
    let from = match (from, range, number(from)) {
        (b"*", ..) => IdSet::All,
        (_, Some((first, last)), _) => IdSet::Range(first, last),
        (_, None, Some(id)) => IdSet::Range(id, id),
        _ if from.contains(&b'[') => return None,
        _ => IdSet::Named(from.to_vec()),
    };
    Some((from, of_name(to)?))
}
