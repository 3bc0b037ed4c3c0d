//! Pressure on the whole machine, as the kernel reports it.

use std::fs;

use haul_sys::pressure::{Report, Stalled};
use serde::{Deserialize, Serialize};

/// How long tasks waited for a resource, in seconds, during a run:
/// <https://docs.kernel.org/accounting/psi.html>
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// At least one task.
    pub some_s: f64,
    /// All tasks at once.
    pub full_s: f64,
}

/// The pressure on the machine during a run. It includes all processes, not the tool alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Waiting for a processor.
    pub cpu: Stall,
    /// Waiting for I/O.
    pub io: Stall,
    /// Waiting for memory.
    pub memory: Stall,
}

impl Pressure {
    /// Returns what was added between `before` and `self`.
    pub(crate) fn since(&self, before: &Pressure) -> Pressure {
        let less = |now: Stall, then: Stall| Stall {
            some_s: (now.some_s - then.some_s).max(0.0),
            full_s: (now.full_s - then.full_s).max(0.0),
        };
        Pressure {
            cpu: less(self.cpu, before.cpu),
            io: less(self.io, before.io),
            memory: less(self.memory, before.memory),
        }
    }
}

/// Returns the pressure since the machine started; `None` where the kernel does not count it.
pub(crate) fn pressure() -> Option<Pressure> {
    Some(Pressure { cpu: stall("cpu")?, io: stall("io")?, memory: stall("memory")? })
}

fn stall(what: &str) -> Option<Stall> {
    let report = Report::parse(&fs::read_to_string(format!("/proc/pressure/{what}")).ok()?)?;
    let seconds = |stalled: Stalled| stalled.total.as_secs_f64();
    Some(Stall { some_s: seconds(report.some), full_s: report.full.map_or(0.0, seconds) })
}
