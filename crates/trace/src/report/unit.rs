//! The finest grain of a report: one thread, while it ran one program.

use std::ops::Add;

use serde::Serialize;

use super::Tallies;

/// Page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// Served from memory.
    pub minor: u64,
    /// Served from storage.
    pub major: u64,
}

impl Add for Faults {
    type Output = Faults;

    fn add(self, other: Faults) -> Faults {
        Faults { minor: self.minor + other.minor, major: self.major + other.major }
    }
}

/// The figures of one thread while it ran one program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unit {
    /// The process (the kernel's thread group).
    pub pid: u32,
    /// The thread; the process's own number for its first one.
    pub tid: u32,
    /// The name that the kernel has for the program: up to 15 bytes, not necessarily a path's. The
    /// empty name marks the shared unit for calls beyond the capacity of the tables.
    pub command: String,
    /// Start time, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Page faults.
    pub faults: Faults,
    /// Its calls and operations.
    pub tallies: Tallies,
}
