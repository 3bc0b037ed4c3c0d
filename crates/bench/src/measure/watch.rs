//! A thread that samples the device ten times a second, and kills the command if the session is
//! interrupted or the command takes too long.

use haul_sys::sync::{Condvar, Mutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::device::{Device, Recording};
use super::limits::{Cut, Limits};

/// Sampling interval: short enough for a copy that takes one second.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// State that the command's thread and the watching thread share.
#[derive(Debug)]
pub(crate) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    child: Option<u32>,
    cut: Option<Cut>,
    over: bool,
    recording: Recording,
}

impl Watch {
    /// Returns a watch without samples.
    pub(crate) fn new() -> Watch {
        Watch { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    /// Starts the watching thread, which ends with [`Watch::stop`].
    pub(crate) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        device: Option<&'env Device>,
        limits: Limits,
        interrupt: &'env AtomicBool,
    ) {
        self.state.lock().recording.begin(device);
        let deadline = Instant::now() + limits.time;
        scope.spawn(move || {
            let mut state = self.state.lock();
            while !state.over {
                let waited = self.changed.wait_timeout(state, SAMPLE_EVERY);
                state = waited.0;
                if state.cut.is_none() {
                    if interrupt.load(Ordering::Relaxed) {
                        state.cut = Some(Cut::Interrupted);
                    } else if Instant::now() > deadline {
                        state.cut = Some(Cut::TimedOut);
                    }
                }
                if let (Some(_), Some(pid)) = (state.cut, state.child) {
                    kill(pid);
                }
                state.recording.look(device);
            }
        });
    }

    /// Records that a command was started.
    pub(crate) fn began(&self, pid: u32) {
        self.state.lock().child = Some(pid);
    }

    /// Records that the command has ended, so that it is not killed any more.
    pub(crate) fn ended(&self) {
        self.state.lock().child = None;
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

/// Kills the process group of the command; it is not an error if it has already ended.
fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(pid, Signal::KILL);
    }
}
