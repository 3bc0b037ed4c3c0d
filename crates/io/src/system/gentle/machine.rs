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
    // A file may have become readable or unreadable between the two: the cgroup was removed.
    let parts = now.stalls.iter().filter_map(|now| {
        let is_same = |one: &&Stall| (one.resource, one.scope) == (now.resource, now.scope);
        let before = before.stalls.iter().find(is_same)?;
        let stalled = now.total.saturating_sub(before.total).as_secs_f64();
        Some((if time > 0.0 { stalled / time } else { 0.0 }, now.resource))
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

#[derive(Debug)]
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

#[cfg(test)]
mod tests {
    use haul_sys::pressure::Scope;

    use super::*;

    const STORAGE: (Resource, Scope) = (Resource::Storage, Scope::Machine);
    const PROCESSORS: (Resource, Scope) = (Resource::Processors, Scope::Machine);
    const OWN_PROCESSORS: (Resource, Scope) = (Resource::Processors, Scope::Cgroup);

    fn look(at_ms: u64, totals: &[((Resource, Scope), u64)]) -> Look {
        let stalls = totals.iter().map(|((resource, scope), total_ms)| Stall {
            resource: *resource,
            scope: *scope,
            recent: 0.0,
            total: Duration::from_millis(*total_ms),
        });
        Look { at: Duration::from_millis(at_ms), stalls: stalls.collect() }
    }

    #[test]
    fn a_sum_is_compared_with_an_earlier_one_of_the_same_file() {
        let before = look(0, &[(STORAGE, 10), (PROCESSORS, 900), (OWN_PROCESSORS, 0)]);
        // One that cannot be read any more.
        let now = look(100, &[(PROCESSORS, 910), (OWN_PROCESSORS, 50)]);
        assert_eq!(waited(&before, &now), Some((0.5, Resource::Processors)));
        // One that could not be read before.
        let later = look(200, &[(STORAGE, 10_000), (PROCESSORS, 960), (OWN_PROCESSORS, 50)]);
        assert_eq!(waited(&now, &later), Some((0.5, Resource::Processors)));
        assert_eq!(waited(&now, &look(200, &[(STORAGE, 0)])), None);
    }
}
