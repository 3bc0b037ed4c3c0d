//! The figures of one call, and of all calls together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Histogram;
use crate::calls::Name;

/// The figures of one system call or io_uring operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Number of calls that returned to the program, successfully or not. This is what `strace -c`
    /// counts. For an io_uring operation, the number submitted.
    pub count: u64,
    /// Number of calls that did not return: `exit_group`, and the calls of killed threads.
    pub unfinished: u64,
    /// Number of failures, by errno.
    pub errors: BTreeMap<i32, u64>,
    /// From entering to leaving the kernel (or from submission to completion), summed up, in
    /// nanoseconds. Waiting is included.
    pub total_ns: u64,
    /// The part of that time in which the thread had a processor, in nanoseconds; `None` if that is not observed: under
    /// ptrace, by file, and for io_uring operations.
    pub cpu_ns: Option<u64>,
    /// The longest time, in nanoseconds.
    pub longest_ns: u64,
    /// Bytes that moved; for `mmap`, `fallocate` and similar calls the requested length.
    pub bytes: u64,
    /// Number of io_uring operations that a kernel thread performed.
    pub punted: u64,
    /// Latencies in nanoseconds.
    pub latencies: Histogram,
    /// Sizes in bytes, of the calls that have one and succeeded.
    pub sizes: Histogram,
}

impl Tally {
    /// Counts one call that returned.
    pub(crate) fn count_one(&mut self, elapsed_ns: u64, size: Option<u64>, errno: Option<i32>) {
        self.count += 1;
        self.total_ns += elapsed_ns;
        self.longest_ns = self.longest_ns.max(elapsed_ns);
        self.latencies.count(elapsed_ns);
        if let Some(size) = size {
            self.bytes = self.bytes.saturating_add(size);
            self.sizes.count(size);
        }
        if let Some(errno) = errno {
            *self.errors.entry(errno).or_default() += 1;
        }
    }

    /// Adds another tally.
    pub fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.unfinished += other.unfinished;
        for (errno, count) in &other.errors {
            *self.errors.entry(*errno).or_default() += count;
        }
        self.total_ns += other.total_ns;
        self.cpu_ns = match (self.cpu_ns, other.cpu_ns) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.punted += other.punted;
        self.latencies.add(&other.latencies);
        self.sizes.add(&other.sizes);
    }

    /// Returns the number of failures.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Returns the mean time of a call in nanoseconds, 0 without calls.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.latencies.total()).unwrap_or(0)
    }
}

/// The figures of every call and operation, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tallies {
    /// System calls.
    pub calls: BTreeMap<Name, Tally>,
    /// io_uring operations.
    pub operations: BTreeMap<Name, Tally>,
}

impl Tallies {
    /// Adds other figures.
    pub fn add(&mut self, other: &Tallies) {
        for (name, tally) in &other.calls {
            self.calls.entry(name.clone()).or_default().add(tally);
        }
        for (name, tally) in &other.operations {
            self.operations.entry(name.clone()).or_default().add(tally);
        }
    }

    /// Returns the number of times that a system call returned.
    #[must_use]
    pub fn count(&self, call: &str) -> u64 {
        self.calls.get(call).map_or(0, |tally| tally.count)
    }

    /// Returns the bytes that a system call moved.
    #[must_use]
    pub fn bytes(&self, call: &str) -> u64 {
        self.calls.get(call).map_or(0, |tally| tally.bytes)
    }

    /// Returns the total number of system calls that returned.
    #[must_use]
    pub fn all_counts(&self) -> u64 {
        self.calls.values().map(|tally| tally.count).sum()
    }

    /// Returns the total number of system calls that failed.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.calls.values().map(Tally::failed).sum()
    }

    /// Returns the time in all system calls, in nanoseconds.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.calls.values().map(|tally| tally.total_ns).sum()
    }

    /// Returns the figures of one system call.
    #[must_use]
    pub fn call(&self, name: &str) -> Option<&Tally> {
        self.calls.get(name)
    }

    /// Returns the figures of one io_uring operation, by its name in small letters (`read_fixed`).
    #[must_use]
    pub fn operation(&self, name: &str) -> Option<&Tally> {
        self.operations.get(name)
    }
}
