//! Pressure on the whole machine, as the kernel reports it.

use std::fs;

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
    parse_stall(&fs::read_to_string(format!("/proc/pressure/{what}")).ok()?)
}

/// Parses the totals of a pressure file, which are in microseconds.
fn parse_stall(text: &str) -> Option<Stall> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
        total.parse::<u64>().ok().map(|microseconds| microseconds as f64 / 1e6)
    };
    // `full` is missing for the processor on kernels before 5.13.
    Some(Stall { some_s: total("some")?, full_s: total("full").unwrap_or(0.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_microseconds() {
        let text = "some avg10=3.03 avg60=1.05 avg300=0.64 total=2500000\n\
                    full avg10=0.61 avg60=0.42 avg300=0.39 total=500000\n";
        assert_eq!(parse_stall(text), Some(Stall { some_s: 2.5, full_s: 0.5 }));
        assert_eq!(parse_stall("garbage"), None);
    }
}
