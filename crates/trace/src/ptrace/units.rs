//! The figures of each observed thread so far, and its pending call.

use std::collections::BTreeMap;
use std::time::Instant;

use haul_sys::ptrace::Tid;

use super::files::OpenCall;
use crate::calls::row_name;
use crate::{Faults, Tallies, Tally, Unit, process};

/// The pending call of a thread.
pub(super) struct Pending {
    pub(super) row: usize,
    pub(super) length: u64,
    pub(super) began: Instant,
    pub(super) files: OpenCall,
    pub(super) arguments: [u64; 6],
}

/// An observed thread.
pub(super) struct Tracee {
    pub(super) pid: u32,
    pub(super) pending: Option<Pending>,
    unit: Unit,
    rows: BTreeMap<usize, Tally>,
    faults_before: Faults,
    cpu_before: u64,
}

impl Tracee {
    /// Starts a unit with the kernel's current counters of the thread; earlier activity is not
    /// counted.
    pub(super) fn new(tid: Tid, start_ns: u64) -> Tracee {
        let tid = tid.unsigned_abs();
        let pid = process::process_of(tid).unwrap_or(tid);
        let unit = Unit { pid, tid, command: process::name(tid), start_ns, ..Unit::default() };
        Tracee {
            pid,
            pending: None,
            unit,
            rows: BTreeMap::new(),
            faults_before: process::faults(pid, tid),
            cpu_before: process::cpu_ns(pid, tid),
        }
    }

    /// Returns the figures of a row.
    pub(super) fn tally(&mut self, row: usize) -> &mut Tally {
        self.rows.entry(row).or_default()
    }

    /// Counts the pending call as one that never returned, and returns it.
    pub(super) fn abandon(&mut self) -> Option<Pending> {
        let pending = self.pending.take()?;
        self.tally(pending.row).unfinished += 1;
        Some(pending)
    }

    /// Reads faults and CPU time while the thread still exists.
    pub(super) fn note_usage(&mut self) {
        let (pid, tid) = (self.pid, self.unit.tid);
        let faults = process::faults(pid, tid);
        if faults != Faults::default() {
            self.unit.faults = Faults {
                minor: faults.minor.saturating_sub(self.faults_before.minor),
                major: faults.major.saturating_sub(self.faults_before.major),
            };
        }
        self.unit.cpu_ns = process::cpu_ns(pid, tid).saturating_sub(self.cpu_before);
    }

    /// Closes the unit.
    pub(super) fn into_unit(mut self) -> Unit {
        let mut tallies = Tallies::default();
        for (row, tally) in std::mem::take(&mut self.rows) {
            tallies.calls.insert(row_name(row), tally);
        }
        self.unit.tallies = tallies;
        self.unit
    }
}
