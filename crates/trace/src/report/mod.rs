//! What a trace found, as plain data: nothing here asks the kernel, and nothing prints.

mod difference;
mod file;
mod group;
mod histogram;
mod tally;
mod unit;

pub use difference::{Difference, differences};
pub use file::FileUse;
pub(crate) use file::merged;
pub use group::{Group, Grouping};
pub(crate) use histogram::to_float;
pub use histogram::{Bucket, Histogram};
pub use tally::{Tallies, Tally};
pub use unit::{Faults, Unit};

use serde::Serialize;

/// Which part of the kernel did the observing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// A program in the kernel: latencies are real, and the command runs at nearly full speed.
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
    /// It was attached to, and how it ends is for its parent to know.
    Unknown,
}

impl Ending {
    /// Returns what a shell makes of it: the status, 128 and the signal, or 0.
    #[must_use]
    pub fn shell_code(self) -> i32 {
        match self {
            Ending::Exited(code) => code,
            Ending::Signaled(signal) => 128 + signal,
            Ending::Unknown => 0,
        }
    }
}

/// Everything that a trace found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What was traced: the command with its arguments, or `pid N`.
    pub title: String,
    /// Who observed.
    pub observer: Observer,
    /// How the command ended.
    pub ending: Ending,
    /// From letting the command go (or attaching) to its end (or detaching), in nanoseconds.
    pub wall_ns: u64,
    /// CPU time in user mode of the command and the children that it waited for, in microseconds.
    /// Under ptrace it includes the stops. Of a process that was attached to and ended, 0: only its
    /// parent is told.
    pub user_us: u64,
    /// CPU time in the kernel, likewise.
    pub system_us: u64,
    /// What each thread did, one unit for each program that it executed; in order of beginning.
    pub units: Vec<Unit>,
    /// What was done to each file, if that was asked for; in order of bytes, most first.
    pub files: Vec<FileUse>,
    /// What the reader must know to trust the figures: a fallback and its reason, a full table.
    pub notices: Vec<String>,
}

impl Report {
    /// Adds up everything.
    #[must_use]
    pub fn total(&self) -> Tallies {
        let mut total = Tallies::default();
        for unit in &self.units {
            total.add(&unit.tallies);
        }
        total
    }

    /// Adds up by process, command, thread or all together; in order of beginning.
    #[must_use]
    pub fn groups(&self, grouping: Grouping) -> Vec<Group> {
        group::groups(&self.units, grouping)
    }

    /// Returns the page faults of all units.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.units.iter().fold(Faults::default(), |sum, unit| sum + unit.faults)
    }

    /// Returns how many processes took part.
    #[must_use]
    pub fn processes(&self) -> usize {
        let mut pids: Vec<u32> = self.units.iter().map(|unit| unit.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        pids.len()
    }
}
