//! The thread that looks at the workers, and what it has seen.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use haul_sys::fs::{Activity, BlockCounters, BlockDevice, activity};
use haul_sys::sync::{Condvar, Mutex};

use super::sides::{Operands, Side, Sides};
use super::told::{DeviceUse, Said, Waiting};

/// The first look, after which the time doubles until it is [`TICK`]: short runs are sampled, too.
const FIRST_TICK: Duration = Duration::from_millis(1);

/// Time between two looks: fifty in a second tell a side to a few per cent of a run that is worth waiting for.
const TICK: Duration = Duration::from_millis(20);

/// A look that comes so much later than it should was kept waiting because the process was stopped, or the
/// machine slept.
const STOPPED: Duration = Duration::from_secs(2);

/// Beginning of the names of the threads that work for `haul_tree`.
const WORKER: &str = "haul-";

/// Stack of the thread, which keeps a line of /proc.
const STACK_BYTES: usize = 256 << 10;

/// Samples what the workers of a run wait for.
#[derive(Debug)]
pub(crate) struct Sampler {
    operands: Operands,
    has_begun: AtomicBool,
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    waiting: Waiting,
}

/// A device, when it was first looked at and what it had done until then.
#[derive(Debug)]
struct Watched {
    device: BlockDevice,
    before: BlockCounters,
}

/// Number of workers that run, and that wait for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    running: u32,
    source: u32,
    target: u32,
    both: u32,
}

impl Sampler {
    /// Returns a sampler that has not begun.
    pub(crate) fn new(operands: Operands) -> Sampler {
        Sampler {
            operands,
            has_begun: AtomicBool::new(false),
            state: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    /// Begins to look, if that has not begun yet. Where no thread can be started, nothing is seen. Looks the operands
    /// up before, so that what their devices do counts from now on.
    pub(crate) fn start<'scope, 'env: 'scope>(&'env self, scope: &'scope Scope<'scope, 'env>) {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        let (sides, devices) = Sides::find(&self.operands);
        let watched: Vec<Watched> = devices
            .into_iter()
            .filter_map(|device| device.counters().map(|before| Watched { device, before }))
            .collect();
        let begun = Instant::now();
        let builder = std::thread::Builder::new().name("haul waits".to_owned());
        let builder = builder.stack_size(STACK_BYTES);
        let _no_thread_no_sample =
            builder.spawn_scoped(scope, move || self.watch(begun, &sides, &watched));
    }

    fn watch(&self, begun: Instant, sides: &Sides, watched: &[Watched]) {
        let mut threads = Threads::default();
        let (mut last, mut tick) = (begun, FIRST_TICK);
        loop {
            let state = self.state.lock();
            let (state, _) = self.ended.wait_timeout_while(state, tick, |state| !state.is_over);
            let is_over = state.is_over;
            drop(state);
            // When the run is over, its threads are, too.
            let look = if is_over { None } else { threads.look(sides) };
            let since = last.elapsed();
            last += since;
            let time = if since > tick + STOPPED { tick } else { since };
            let devices: Vec<DeviceUse> = watched.iter().filter_map(Watched::used).collect();
            let mut state = self.state.lock();
            if let Some(look) = look {
                look.count(time, &mut state.waiting);
            }
            state.waiting.devices_seen = begun.elapsed();
            state.waiting.devices = devices;
            if is_over {
                return;
            }
            tick = (tick * 2).min(TICK);
        }
    }

    /// Ends the thread. What it has seen stays.
    pub(crate) fn end(&self) {
        self.state.lock().is_over = true;
        self.ended.notify_all();
    }

    /// Returns what was seen until now.
    pub(crate) fn seen(&self) -> Waiting {
        self.state.lock().waiting.clone()
    }
}

impl Watched {
    fn used(&self) -> Option<DeviceUse> {
        let used = self.device.counters()?.since(&self.before);
        Some(DeviceUse {
            name: self.device.name().to_owned(),
            busy: Duration::from_millis(used.busy_ms),
            read_bytes: used.read_bytes,
            written_bytes: used.written_bytes,
        })
    }
}

/// The threads of this process that are known as workers.
#[derive(Debug, Default)]
struct Threads {
    workers: BTreeSet<u32>,
}

impl Threads {
    /// Looks at all workers; `None` if the kernel tells nothing of any.
    fn look(&mut self, sides: &Sides) -> Option<Look> {
        let entries = fs::read_dir("/proc/self/task").ok()?;
        let tids: Vec<u32> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .collect();
        let mut look = None;
        for &tid in self.find_workers(&tids, is_worker) {
            let Some(activity) = activity(tid) else { continue };
            let look = look.get_or_insert_with(Look::default);
            match sides.of(tid, activity) {
                Some(Side::Source) => look.source += 1,
                Some(Side::Target) => look.target += 1,
                Some(Side::Both) => look.both += 1,
                None if activity == Activity::Running => look.running += 1,
                None => {}
            }
        }
        look
    }

    /// Finds the workers among the threads that there are. A thread that is none is asked again at the next look,
    /// because it may not have set its name yet. One that has ended is forgotten, because the kernel gives its
    /// number to a new thread.
    fn find_workers(&mut self, tids: &[u32], is_worker: impl Fn(u32) -> bool) -> &BTreeSet<u32> {
        let known = std::mem::take(&mut self.workers);
        let is_known_or_new = |tid: &u32| known.contains(tid) || is_worker(*tid);
        self.workers = tids.iter().copied().filter(is_known_or_new).collect();
        &self.workers
    }
}

/// Returns whether a thread works on entries: the first one does, and those of `haul_tree`.
fn is_worker(tid: u32) -> bool {
    let name = || fs::read_to_string(format!("/proc/self/task/{tid}/comm")).unwrap_or_default();
    tid == std::process::id() || name().starts_with(WORKER)
}

impl Look {
    /// Divides a time among those that had something to do.
    fn count(self, time: Duration, waiting: &mut Waiting) {
        waiting.seen += time;
        let busy = self.running + self.source + self.target + self.both;
        if busy == 0 {
            return;
        }
        waiting.source += time * self.source / busy;
        waiting.target += time * self.target / busy;
        waiting.both += time * self.both / busy;
    }
}

/// What lines of progress say of waiting, over the last second.
#[derive(Debug)]
pub(crate) struct Lately {
    before: Waiting,
    said: Said,
}

/// The time that a line of progress speaks of.
const LATELY: Duration = Duration::from_secs(1);

impl Lately {
    /// Begins with nothing seen.
    pub(crate) fn new() -> Lately {
        Lately { before: Waiting::default(), said: Said::NOTHING }
    }

    /// Returns what is said now.
    pub(crate) fn said(&mut self, sampler: &Sampler) -> &Said {
        let now = sampler.seen();
        let part = now.since(&self.before);
        let is_whole = part.devices_seen >= LATELY;
        if is_whole || self.before == Waiting::default() {
            self.said = part.said(!sampler.operands.is_removal());
        }
        if is_whole {
            self.before = now;
        }
        &self.said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_asked_for_its_name_until_it_is_a_worker() {
        let mut threads = Threads::default();
        let mut find = |tids: &[u32], named: u32| -> Vec<u32> {
            threads.find_workers(tids, |tid| tid == named).iter().copied().collect()
        };
        assert_eq!(find(&[1, 2], 1), [1]);
        assert_eq!(find(&[1, 2], 2), [1, 2], "it has set its name meanwhile");
        assert_eq!(find(&[2, 3], 0), [2], "a worker is not asked again");
        assert_eq!(find(&[1, 2], 0), [2], "a new thread has the number of one that has ended");
    }

    #[test]
    fn a_moment_is_divided_among_those_with_something_to_do() {
        let mut waiting = Waiting::default();
        let second = Duration::from_secs(1);
        Look { running: 1, source: 2, target: 1, both: 0 }.count(second, &mut waiting);
        Look::default().count(second, &mut waiting);
        let expected = Waiting {
            source: second / 2,
            target: second / 4,
            seen: second * 2,
            ..Waiting::default()
        };
        assert_eq!(waiting, expected);
    }
}
