//! Where the governor of a gentle run looks for pressure: the kernel, or in its tests a script.

use std::time::{Duration, Instant};

use haul_sys::pressure::{Pressure, Resource, Stall, busy_threads};
use haul_sys::process::doze;

/// The sums of pressure at one moment.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// Since the start.
    pub(super) at: Duration,
    pub(super) stalls: Vec<Stall>,
}

/// Returns for which part of the time between two looks tasks waited most, and for what.
pub(super) fn waited(before: &Look, now: &Look) -> Option<(f64, Resource)> {
    let time = now.at.saturating_sub(before.at).as_secs_f64();
    let parts = before.stalls.iter().zip(&now.stalls).map(|(before, now)| {
        let stalled = now.total.saturating_sub(before.total).as_secs_f64();
        (if time > 0.0 { stalled / time } else { 0.0 }, now.resource)
    });
    parts.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// Where the governor looks for pressure.
pub(super) trait Machine {
    /// Returns whether the kernel reports when tasks wait.
    fn is_reported(&self) -> bool;
    /// Blocks until tasks wait, and returns `true`, or for `most`.
    fn wait(&mut self, most: Duration) -> bool;
    fn pause(&mut self, time: Duration);
    fn look(&mut self) -> Look;
    /// Returns whether no thread of this process works or waits for storage.
    fn is_quiet(&mut self) -> bool;
}

pub(super) struct Kernel {
    pressure: Pressure,
    begun: Instant,
}

impl Kernel {
    pub(super) fn new(pressure: Pressure) -> Kernel {
        Kernel { pressure, begun: Instant::now() }
    }
}

impl Machine for Kernel {
    fn is_reported(&self) -> bool {
        self.pressure.is_reported()
    }

    fn wait(&mut self, most: Duration) -> bool {
        self.pressure.wait(most)
    }

    fn pause(&mut self, time: Duration) {
        doze(time);
    }

    fn look(&mut self) -> Look {
        Look { stalls: self.pressure.stalls(), at: self.begun.elapsed() }
    }

    fn is_quiet(&mut self) -> bool {
        busy_threads().is_none_or(|count| count == 0)
    }
}
