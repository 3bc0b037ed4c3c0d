//! Options of a call: flags and numbers, checked for the operation.
//!
//! A flag that an operation does not have is refused, so that no caller relies on one without effect.

use std::ffi::CString;
use std::sync::Arc;

use haul_engine::request::{
    Appearance, Borders, Delete, Dereference, Existing, Hashing, Keep, Links, ModePolicy, Policy,
    Preserve, Recursion, Resources, SameBy, Selected, Synchronize, WAITING_JOBS,
};
use haul_engine::select::{Builder, Purpose};

/// Declares the flags: their names, values, and the operations that have them.
macro_rules! flags {
    ($($name:ident = $value:expr, $of:expr;)+) => {
        $(pub(crate) const $name: u64 = $value;)+

        /// Every flag, with its name in `haul.h` and its operations.
        pub(crate) const FLAGS: &[(&str, u64, &[Operation])] =
            &[$((concat!("HAUL_", stringify!($name)), $name, $of)),+];
    };
}

/// The operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    CopyFile,
    CopyTree,
    Move,
    Remove,
    Compare,
    Sync,
    Pack,
    Unpack,
}

impl Operation {
    /// Returns the name of the function.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Operation::CopyFile => "haul_copy_file",
            Operation::CopyTree => "haul_copy_tree",
            Operation::Move => "haul_move",
            Operation::Remove => "haul_remove",
            Operation::Compare => "haul_compare",
            Operation::Sync => "haul_sync",
            Operation::Pack => "haul_pack",
            Operation::Unpack => "haul_unpack",
        }
    }
}

const COPIES: &[Operation] = &[Operation::CopyFile, Operation::CopyTree];
const TREES: &[Operation] = &[Operation::CopyTree, Operation::Sync];
const FILES_AND_TREES: &[Operation] = &[Operation::CopyFile, Operation::CopyTree, Operation::Sync];
const COPIES_AND_ARCHIVES: &[Operation] =
    &[Operation::CopyFile, Operation::CopyTree, Operation::Unpack];
const REPLACING: &[Operation] =
    &[Operation::CopyFile, Operation::CopyTree, Operation::Move, Operation::Unpack];
const SYNC: &[Operation] = &[Operation::Sync];

flags! {
    KEEP_MODE = 1, COPIES_AND_ARCHIVES;
    KEEP_OWNER = 1 << 1, COPIES_AND_ARCHIVES;
    KEEP_TIMES = 1 << 2, COPIES;
    KEEP_LINKS = 1 << 3, TREES;
    KEEP_XATTRS = 1 << 4, FILES_AND_TREES;
    KEEP_FLAGS = 1 << 5, COPIES;
    NEW_MODE = 1 << 6, COPIES;
    FOLLOW_LINKS = 1 << 8, &[Operation::CopyFile, Operation::CopyTree, Operation::Pack];
    SKIP_EXISTING = 1 << 9, REPLACING;
    REFUSE_EXISTING = 1 << 10, REPLACING;
    ONE_FILE_SYSTEM = 1 << 11,
        &[Operation::CopyTree, Operation::Sync, Operation::Remove, Operation::Pack];
    ATOMIC = 1 << 12, COPIES_AND_ARCHIVES;
    DURABLE = 1 << 13, &[
        Operation::CopyFile, Operation::CopyTree, Operation::Sync, Operation::Pack, Operation::Unpack,
    ];
    VERIFY = 1 << 14, FILES_AND_TREES;
    GENTLE = 1 << 15, &[Operation::Remove];
    IGNORE_MISSING = 1 << 16, &[Operation::Remove];
    CONTENTS_ONLY = 1 << 17, &[Operation::Compare];
    DELETE = 1 << 18, SYNC;
    DELETE_FROM_EMPTY = 1 << 19, SYNC;
    CHECKSUM = 1 << 20, SYNC;
}

/// Pairs of flags that contradict each other.
const CONTRADICTIONS: &[(u64, u64)] = &[(KEEP_MODE, NEW_MODE), (SKIP_EXISTING, REFUSE_EXISTING)];

/// Workers of a call at most: each has a thread. A larger number is an error of the caller's arithmetic.
const JOBS_MOST: u32 = 1024;

/// Options of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) flags: u64,
    /// Patterns of entries that are left out.
    pub(crate) exclude: Vec<CString>,
    /// Number of workers; 0 is the usual one.
    pub(crate) jobs: u32,
    /// Number of descriptors; 0 is the usual one.
    pub(crate) descriptors: u32,
    /// Directory that names of an archive are relative to; `None` is the current one.
    pub(crate) directory: Option<CString>,
    /// Owner of the members of an archive, as `NAME:NUMBER`.
    pub(crate) owner: Option<CString>,
    /// Group of the members of an archive.
    pub(crate) group: Option<CString>,
}

impl Options {
    /// Checks the options for an operation. Fails with a sentence.
    pub(crate) fn check(&self, operation: Operation) -> Result<(), String> {
        let known = FLAGS.iter().fold(0, |known, (_, flag, _)| known | flag);
        if self.flags & !known != 0 {
            return Err(format!("unknown flags {:#x}", self.flags & !known));
        }
        for (name, flag, operations) in FLAGS {
            if self.has(*flag) && !operations.contains(&operation) {
                let names: Vec<_> = operations.iter().map(|of| of.name()).collect();
                let (function, others) = (operation.name(), names.join(", "));
                return Err(format!("{function} has no flag {name}, which is for {others}"));
            }
        }
        if (self.jobs, self.descriptors) != (0, 0) && operation == Operation::Compare {
            return Err("haul_compare has no jobs and no descriptors: it has one thread".to_owned());
        }
        if self.jobs > JOBS_MOST {
            return Err(format!("jobs is {}, and {JOBS_MOST} at most", self.jobs));
        }
        let fields: [(&str, bool, &[Operation]); 4] = [
            ("exclude", !self.exclude.is_empty(), TREES),
            ("directory", self.directory.is_some(), &[Operation::Pack]),
            ("owner", self.owner.is_some(), &[Operation::Pack]),
            ("group", self.group.is_some(), &[Operation::Pack]),
        ];
        for (field, is_given, operations) in fields {
            if is_given && !operations.contains(&operation) {
                let names: Vec<_> = operations.iter().map(|of| of.name()).collect();
                let (function, others) = (operation.name(), names.join(", "));
                return Err(format!("{function} has no {field}, which is for {others}"));
            }
        }
        if self.has(DELETE_FROM_EMPTY) && !self.has(DELETE) {
            return Err("HAUL_DELETE_FROM_EMPTY needs HAUL_DELETE".to_owned());
        }
        for (one, other) in CONTRADICTIONS {
            if self.has(*one) && self.has(*other) {
                let name = |flag| FLAGS.iter().find(|of| of.1 == flag).map_or("", |of| of.0);
                let (one, other) = (name(*one), name(*other));
                return Err(format!("{one} and {other} contradict each other"));
            }
        }
        Ok(())
    }

    pub(crate) const fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Returns the policy of a copy.
    pub(crate) fn copy_policy(&self) -> Policy {
        let keep = |flag, effort| if self.has(flag) { effort } else { Keep::No };
        let mode = if self.has(KEEP_MODE) {
            ModePolicy::Keep
        } else if self.has(NEW_MODE) {
            ModePolicy::Default
        } else {
            ModePolicy::Usual
        };
        let links = if self.has(KEEP_LINKS) { Links::Keep } else { Links::Split };
        let preserve = Preserve::NOTHING
            .mode(mode)
            .ownership(keep(KEEP_OWNER, Keep::Must))
            .times(keep(KEEP_TIMES, Keep::Must))
            .links(links)
            .xattr(keep(KEEP_XATTRS, Keep::Try))
            .context(keep(KEEP_XATTRS, Keep::Try))
            .flags(keep(KEEP_FLAGS, Keep::Try));
        let follow = if self.has(FOLLOW_LINKS) { Dereference::Always } else { Dereference::Never };
        Policy::new()
            .recursion(Recursion::Yes)
            .dereference(follow)
            .preserve(preserve)
            .existing(self.existing())
            .borders(self.borders())
            .appearance(self.appearance())
            .hashing(self.has(VERIFY).then(Hashing::verifying))
    }

    /// Returns how files get their names.
    const fn appearance(&self) -> Appearance {
        if self.has(DURABLE) {
            Appearance::Durable
        } else if self.has(ATOMIC) || self.has(VERIFY) {
            // A file that is not verified gets no name.
            Appearance::Whole
        } else {
            Appearance::Gradual
        }
    }

    /// Returns the policy of a synchronisation: that of `haul sync -a`, and what flags add. Fails with a sentence if a
    /// pattern is not valid.
    pub(crate) fn sync_policy(&self) -> Result<Policy, String> {
        let mut policy = Policy::mirror().borders(self.borders());
        if self.has(DURABLE) {
            policy.appearance = Appearance::Durable;
        }
        if self.has(KEEP_LINKS) {
            policy.preserve.links = Links::Keep;
        }
        if self.has(KEEP_XATTRS) {
            policy.preserve.xattr = Keep::Must;
        }
        let mut rules = Synchronize::default().protected(self.selection(Purpose::Protect)?);
        if self.has(CHECKSUM) {
            rules.same = SameBy::Content;
        }
        if self.has(DELETE) {
            rules.clears_directories = true;
            rules.delete = Some(Delete::default().from_empty(self.has(DELETE_FROM_EMPTY)));
        }
        Ok(policy
            .hashing(self.has(VERIFY).then(Hashing::verifying))
            .selection(self.selection(Purpose::Send)?)
            .synchronize(Some(rules)))
    }

    /// Returns which entries patterns leave, `None` for all. Fails with a sentence if a pattern is not valid.
    pub(crate) fn selection(&self, purpose: Purpose) -> Result<Option<Selected>, String> {
        if self.exclude.is_empty() {
            return Ok(None);
        }
        // No pattern names a merge file, so the current directory is not needed.
        let mut builder = Builder::new(purpose, Vec::new());
        for pattern in &self.exclude {
            let added = builder.pattern("exclude", false, pattern.to_bytes());
            added.map_err(|error| error.to_string())?;
        }
        Ok(Some(Selected(Arc::new(builder.finish()))))
    }

    /// Returns which existing targets are replaced.
    pub(crate) const fn existing(&self) -> Existing {
        if self.has(SKIP_EXISTING) {
            Existing::Keep
        } else if self.has(REFUSE_EXISTING) {
            Existing::KeepAndFail
        } else {
            Existing::Overwrite
        }
    }

    /// Returns whether other file systems are entered.
    pub(crate) const fn borders(&self) -> Borders {
        if self.has(ONE_FILE_SYSTEM) { Borders::Stay } else { Borders::Cross }
    }

    /// Returns the number of workers of an archive.
    pub(crate) fn workers(&self) -> usize {
        match self.jobs {
            0 => haul_sys::process::processors(),
            jobs => jobs as usize,
        }
    }

    /// Returns the most workers of an archive while they wait for remote storage.
    pub(crate) fn waiting_workers(&self) -> usize {
        match self.jobs {
            0 => self.workers().max(WAITING_JOBS),
            jobs => jobs as usize,
        }
    }

    /// Returns the resources of a call that may have so many descriptors.
    pub(crate) fn resources(&self, descriptors: u64) -> Resources {
        let resources = Resources::available().descriptors(descriptors);
        match usize::try_from(self.jobs) {
            Ok(jobs) if jobs > 0 => resources.jobs(jobs).waiting_jobs(jobs),
            _ => resources,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(flags: u64, operation: Operation) -> Option<String> {
        Options { flags, ..Options::default() }.check(operation).err()
    }

    #[test]
    fn a_flag_without_effect_is_refused() {
        assert_eq!(refused(KEEP_MODE | DURABLE, Operation::CopyTree), None);
        let text = "haul_remove has no flag HAUL_VERIFY, which is for haul_copy_file, haul_copy_tree, haul_sync";
        assert_eq!(refused(VERIFY, Operation::Remove).as_deref(), Some(text));
        assert_eq!(refused(1 << 63, Operation::Move).unwrap(), "unknown flags 0x8000000000000000");
        let many = Options { jobs: u32::MAX, ..Options::default() }.check(Operation::Move);
        assert_eq!(many.unwrap_err(), "jobs is 4294967295, and 1024 at most");
        let both = SKIP_EXISTING | REFUSE_EXISTING;
        assert!(refused(both, Operation::Move).unwrap().ends_with("contradict each other"));
    }

    #[test]
    fn a_field_without_effect_is_refused() {
        let directory = Some(c"here".to_owned());
        let options = Options { directory, ..Options::default() };
        assert_eq!(options.check(Operation::Pack), Ok(()));
        let text = "haul_unpack has no directory, which is for haul_pack";
        assert_eq!(options.check(Operation::Unpack).unwrap_err(), text);
        assert!(refused(DELETE_FROM_EMPTY, Operation::Sync).unwrap().ends_with("HAUL_DELETE"));
        assert_eq!(refused(DELETE | DELETE_FROM_EMPTY, Operation::Sync), None);
    }

    #[test]
    fn what_is_left_out_is_protected_as_well() {
        let exclude = vec![c"*.o".to_owned()];
        let policy =
            Options { flags: DELETE, exclude, ..Options::default() }.sync_policy().unwrap();
        assert!(policy.selection.is_some());
        let rules = policy.synchronize.unwrap();
        assert!(rules.protected.is_some() && rules.delete.is_some() && rules.clears_directories);
        let plain = Options::default().sync_policy().unwrap();
        assert_eq!(plain, Policy::mirror());
    }

    #[test]
    fn all_attributes_together_are_those_of_an_archive_copy() {
        let all = KEEP_MODE | KEEP_OWNER | KEEP_TIMES | KEEP_LINKS | KEEP_XATTRS | KEEP_FLAGS;
        let policy = Options { flags: all, ..Options::default() }.copy_policy();
        assert_eq!(policy.preserve, Preserve::ALL);
        assert_eq!(Options::default().copy_policy().preserve, Preserve::NOTHING);
    }

    #[test]
    fn the_header_has_the_same_flags() {
        let header = include_str!("../include/haul.h");
        for (name, value, _) in FLAGS {
            let bit = value.trailing_zeros();
            let line = format!("#define {name} (UINT64_C(1) << {bit})");
            assert!(header.contains(&line), "{line}");
        }
    }
}
