//! Counts of the members that go into an archive, or come out of it.

use std::sync::atomic::{AtomicU64, Ordering};

use haul_archive::format::{Member, MemberKind};

use crate::report::Totals;
use crate::trouble::Trouble;

/// Counts of one call, which another thread may read.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    entries: AtomicU64,
    files: AtomicU64,
    directories: AtomicU64,
    bytes: AtomicU64,
    skipped: AtomicU64,
    failures: AtomicU64,
    warnings: AtomicU64,
}

impl Tally {
    /// Counts a member that is begun.
    pub(crate) fn member(&self, member: &Member) {
        add(&self.entries, 1);
        if member.is_file() {
            add(&self.files, 1);
            add(&self.bytes, member.size);
        }
        if member.kind == MemberKind::Directory {
            add(&self.directories, 1);
        }
    }

    /// Counts an entry that stays as it is.
    pub(crate) fn skip(&self) {
        add(&self.skipped, 1);
    }

    /// Counts a failure or a warning.
    pub(crate) fn count(&self, trouble: &Trouble) {
        add(if trouble.is_failure() { &self.failures } else { &self.warnings }, 1);
    }

    pub(crate) fn totals(&self) -> Totals {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            entries: read(&self.entries),
            files: read(&self.files),
            directories: read(&self.directories),
            bytes: read(&self.bytes),
            skipped: read(&self.skipped),
            failures: read(&self.failures),
            warnings: read(&self.warnings),
            ..Totals::default()
        }
    }
}

fn add(counter: &AtomicU64, number: u64) {
    counter.fetch_add(number, Ordering::Relaxed);
}
