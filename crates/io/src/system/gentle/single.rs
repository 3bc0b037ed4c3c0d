//! The governor of one run with one worker, in a process that has other runs and other work.
//!
//! The governor of the process lets all workers rest and listens in a thread of its own. A program that calls haul as
//! a library has threads that do not rest, and a thread would have to end with each call. So the only worker of the
//! run listens itself: what is waited for while it rests is waited for by others, the program's other threads among
//! them.

use std::time::Instant;

use haul_sys::pressure::Pressure;
use haul_sys::sync::Mutex;

use super::machine::{Kernel, Look, Machine, waited};
use super::{ALL, Governor, LISTEN, NOTICE, PERIOD};

/// The governor of one run.
#[derive(Debug)]
pub struct RunGovernor {
    governor: Governor,
    /// `None` where the kernel does not tell of pressure.
    watch: Option<Mutex<Watch>>,
}

/// What the worker knows of the machine.
#[derive(Debug)]
struct Watch {
    machine: Kernel,
    looked: Instant,
    before: Look,
}

impl RunGovernor {
    /// Makes the governor of a run that begins now. It never lets the run rest where the kernel has no pressure
    /// stall information: how long the requests of a run take, only the governor of a process knows.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it reads the state of the machine")]
    pub fn new() -> RunGovernor {
        let governor = Governor::new();
        let watch = Pressure::open().map(|pressure| {
            governor.begin(&pressure.stalls());
            let mut machine = Kernel::new(pressure);
            let before = machine.look();
            Mutex::new(Watch { machine, looked: Instant::now(), before })
        });
        RunGovernor { governor, watch }
    }

    /// Lets the worker rest, as long as the machine's state asks for. It calls this between two requests. Blocks for
    /// at most about a quarter of a second.
    pub fn rest(&self) {
        let Some(watch) = &self.watch else { return };
        self.governor.rest();
        let Watch { machine, looked, before } = &mut *watch.lock();
        if looked.elapsed() >= PERIOD {
            look(&self.governor, machine, before);
            *looked = Instant::now();
        }
    }
}

/// Looks at the machine once; if tasks have waited since the last time, pauses to find out whether they are others'.
fn look(governor: &Governor, machine: &mut impl Machine, before: &mut Look) {
    let most = waited(before, &machine.look());
    if most.is_some_and(|(part, _)| part * f64::from(ALL) >= f64::from(NOTICE)) {
        let begun = machine.look();
        machine.pause(LISTEN);
        if let Some((others, resource)) = waited(&begun, &machine.look()) {
            governor.heard(others, Some(resource));
        }
    } else {
        // No task waits, this run's included.
        governor.heard(0.0, most.map(|(_, resource)| resource));
    }
    *before = machine.look();
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haul_sys::pressure::{Resource, Scope, Stall};

    use super::*;

    /// A machine whose time passes in pauses, in which others wait, and in work, in which the run waits as well.
    struct Scripted {
        others: f64,
        now: Duration,
        total: Duration,
    }

    impl Scripted {
        fn pass(&mut self, time: Duration, part: f64) {
            self.now += time;
            self.total += time.mul_f64(part);
        }
    }

    impl Machine for Scripted {
        fn is_reported(&self) -> bool {
            false
        }

        fn wait(&mut self, _: Duration) -> bool {
            false
        }

        fn pause(&mut self, time: Duration) {
            self.pass(time, self.others);
        }

        fn look(&mut self) -> Look {
            let (resource, scope) = (Resource::Storage, Scope::Machine);
            let stall = Stall { resource, scope, recent: 0.0, total: self.total };
            Look { at: self.now, stalls: vec![stall] }
        }

        fn is_quiet(&mut self) -> bool {
            false
        }
    }

    #[test]
    fn a_run_takes_what_others_leave_although_the_program_is_at_work() {
        let governor = Governor::new();
        let mut machine = Scripted { others: 0.0, now: Duration::ZERO, total: Duration::ZERO };
        let mut before = machine.look();
        let mut share_after = |others: f64| {
            machine.others = others;
            for _ in 0..8 {
                machine.pass(PERIOD, 1.0);
                look(&governor, &mut machine, &mut before);
            }
            governor.share() * 100 / ALL
        };
        assert_eq!(share_after(0.0), 100, "its own waiting does not hold the run back");
        assert!((60..62).contains(&share_after(0.4)));
        assert_eq!(share_after(0.0), 100);
    }

    #[test]
    fn a_governor_of_a_run_does_not_make_the_process_gentle() {
        RunGovernor::new().rest();
        assert!(!super::super::is_begun());
    }
}
