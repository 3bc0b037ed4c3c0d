//! A thread beside the command: looks at the device ten times a second, and ends the command when
//! somebody asked to stop or it takes too long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::child::{Cut, Limits};
use super::device::{Device, Recording};

/// How often the device is looked at: what iostat people call a tenth of a second, and short
/// enough for a copy that takes one.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// What the command's thread and the watching thread share.
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
    /// Returns one that has seen nothing yet.
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
        self.lock().recording.begin(device);
        let deadline = Instant::now() + limits.time;
        scope.spawn(move || {
            let mut state = self.lock();
            while !state.over {
                let waited = self.changed.wait_timeout(state, SAMPLE_EVERY);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
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

    /// Tells that a command was started.
    pub(crate) fn began(&self, pid: u32) {
        self.lock().child = Some(pid);
    }

    /// Tells that the command has ended; it will not be killed from here on.
    pub(crate) fn ended(&self) {
        self.lock().child = None;
    }

    /// Says whether a command was to be ended.
    pub(crate) fn cut(&self) -> Option<Cut> {
        self.lock().cut
    }

    /// Ends the watching thread and returns what it saw.
    pub(crate) fn stop(&self) -> Recording {
        let mut state = self.lock();
        state.over = true;
        self.changed.notify_all();
        std::mem::take(&mut state.recording)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the group that the command leads; it may have ended by itself, which is no failure.
fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _gone = kill_process_group(pid, Signal::KILL);
    }
}
