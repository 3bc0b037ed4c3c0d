//! The result of a trace, as plain data: no function here calls the kernel or prints.

mod difference;
mod file;
mod group;
mod histogram;
mod listed;
mod stack;
mod tally;
mod unit;

pub use difference::{Difference, differences};
pub use file::FileUse;
pub(crate) use file::merged;
pub use group::{Group, Grouping};
pub(crate) use histogram::to_float;
pub use histogram::{Bucket, Histogram};
pub use listed::{CallEnd, CallList, ListedCall};
pub use stack::StackTime;
pub use tally::{Tallies, Tally};
pub use unit::{Faults, Unit};

use serde::Serialize;

/// The mechanism of observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// A program in the kernel: latencies are accurate, and the command runs at nearly full speed.
    Ebpf,
    /// Two stops for each call: counts and sizes are exact, latencies are mostly those stops.
    Ptrace,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Signaled(i32),
    /// It was attached to; only its parent learns how it ends.
    Unknown,
}

impl Ending {
    /// Returns the exit status as in a shell: the status, 128 plus the signal, or 0.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Ending::Exited(code) => code,
            Ending::Signaled(signal) => 128 + signal,
            Ending::Unknown => 0,
        }
    }
}

/// All results of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What was traced: the command with its arguments, or `pid N`.
    pub title: String,
    /// The mechanism of observation.
    pub observer: Observer,
    /// How the command ended.
    pub ending: Ending,
    /// Time from the start of the command (or attaching) to its end (or detaching), in nanoseconds.
    pub wall_ns: u64,
    /// CPU time in user mode of the command and the children that it waited for, in microseconds.
    /// Under ptrace it includes the stops. 0 for a process that was attached to and has ended: only
    /// its parent learns it.
    pub user_us: u64,
    /// CPU time in the kernel, likewise.
    pub system_us: u64,
    /// The figures of each thread, one unit for each program that it executed; in order of start.
    pub units: Vec<Unit>,
    /// The figures of each file, if requested; in order of bytes, most first.
    pub files: Vec<FileUse>,
    /// The time of each stack of kernel functions, if requested; the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackTime>,
    /// Notices that limit the figures: a fallback and its reason, a full table.
    pub notices: Vec<String>,
}

impl Report {
    /// Returns the total.
    #[must_use]
    pub fn total(&self) -> Tallies {
        let mut total = Tallies::default();
        for unit in &self.units {
            total.add(&unit.tallies);
        }
        total
    }

    /// Aggregates by process, command, thread or in total; in order of start.
    #[must_use]
    pub fn groups(&self, grouping: Grouping) -> Vec<Group> {
        group::groups(&self.units, grouping)
    }

    /// Returns the page faults of all units.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.units.iter().fold(Faults::default(), |sum, unit| sum + unit.faults)
    }

    /// Returns the number of processes.
    #[must_use]
    pub fn processes(&self) -> usize {
        let mut pids: Vec<u32> = self.units.iter().map(|unit| unit.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids.len()
    }
}
