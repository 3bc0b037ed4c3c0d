//! A thread that samples the device ten times a second, and kills the commands if the session is
//! interrupted or they take too long.

use haul_sys::fs::BlockDevice;
use haul_sys::sync::{Condvar, Mutex};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::device::Recording;
use super::limits::{Cut, Limits};
use super::memory::pss_bytes;

/// Sampling interval: short enough for a copy that takes one second.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Interval of samples of memory, which a process of some milliseconds has, too.
const MEMORY_EVERY: Duration = Duration::from_millis(5);

/// State that the command's thread and the watching thread share.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The commands that run.
    children: Vec<u32>,
    /// Whether their memory is sampled.
    samples_memory: bool,
    /// The largest memory of each command so far.
    memory: HashMap<u32, u64>,
    cut: Option<Cut>,
    over: bool,
    recording: Recording,
}

impl Watch {
    /// Returns a watch without samples.
    pub(crate) fn new() -> Watch {
        Watch { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    /// Returns a watch that also samples the memory of each command.
    pub(crate) fn with_memory() -> Watch {
        let state = State { samples_memory: true, ..State::default() };
        Watch { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Starts the watching thread, which ends with [`Watch::stop`].
    pub(crate) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        device: Option<&'env BlockDevice>,
        limits: Limits,
        interrupt: &'env AtomicBool,
    ) {
        self.state.lock().recording.begin(device);
        let deadline = Instant::now() + limits.time;
        scope.spawn(move || {
            let mut state = self.state.lock();
            let every = if state.samples_memory { MEMORY_EVERY } else { SAMPLE_EVERY };
            while !state.over {
                let waited = self.changed.wait_timeout(state, every);
                state = waited.0;
                if state.cut.is_none() {
                    if interrupt.load(Ordering::Relaxed) {
                        state.cut = Some(Cut::Interrupted);
                    } else if Instant::now() > deadline {
                        state.cut = Some(Cut::TimedOut);
                    }
                }
                if state.cut.is_some() {
                    state.children.iter().copied().for_each(kill);
                }
                if state.samples_memory {
                    state.sample_memory();
                }
                if state.recording.is_due(SAMPLE_EVERY) {
                    state.recording.look(device);
                }
            }
        });
    }

    /// Records that a command was started.
    pub(crate) fn began(&self, pid: u32) {
        self.state.lock().children.push(pid);
    }

    /// Records that a command has ended, so that it is not killed any more. Returns the largest memory that was sampled.
    pub(crate) fn ended(&self, pid: u32) -> Option<u64> {
        let mut state = self.state.lock();
        state.children.retain(|child| *child != pid);
        state.memory.remove(&pid)
    }

    /// Returns whether the command must end early, and why.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.state.lock().cut
    }

    /// Ends the watching thread and returns its samples.
    pub(crate) fn stop(&self) -> Recording {
        let mut state = self.state.lock();
        state.over = true;
        self.changed.notify_all();
        std::mem::take(&mut state.recording)
    }
}

impl State {
    fn sample_memory(&mut self) {
        for pid in &self.children {
            if let Some(bytes) = pss_bytes(*pid) {
                let largest = self.memory.entry(*pid).or_default();
                *largest = bytes.max(*largest);
            }
        }
    }
}

/// Kills the process group of the command; it is not an error if it has already ended.
fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(pid, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_memory_of_a_command_is_sampled_while_it_runs() {
        if pss_bytes(std::process::id()).is_none() {
            eprintln!("ignored: the kernel does not tell the proportional set size");
            return;
        }
        // It runs until its input ends.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let watch = Watch::with_memory();
        let interrupt = AtomicBool::new(false);
        let limits = Limits { time: Duration::from_secs(600) };
        std::thread::scope(|scope| {
            watch.start(scope, None, limits, &interrupt);
            watch.began(child.id());
            while watch.state.lock().memory.is_empty() {
                std::thread::yield_now();
            }
            watch.stop();
        });
        assert!(watch.ended(child.id()).is_some_and(|bytes| bytes >= 4096));
        assert_eq!(watch.ended(child.id()), None);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}
