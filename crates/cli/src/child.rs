//! Waits for a command that this run has started, and tells it of signals that were meant for the run.

use std::io::Result;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use haul_sys::process::{
    Ready, Sender, doze, kill, open_child, stop_sender, stop_signal, wait_until,
};

/// Waits for the end of a command, and calls a function each time that the wait has lasted `step`. If
/// `hear_stop` was called before, the signal that stops this run ends the command, too.
pub(crate) fn wait_and(
    child: &mut Child,
    step: Duration,
    meanwhile: &mut dyn FnMut(),
) -> Result<ExitStatus> {
    // Before Linux 5.3 there is no such descriptor.
    let end = open_child(child.id()).ok();
    let mut was_told = false;
    loop {
        if let Some(signal) = stop_signal().filter(|_| !was_told) {
            was_told = true;
            // A key at the terminal signals both; a process may have signalled this one alone.
            if stop_sender() == Some(Sender::Process) {
                // A command that has ended meanwhile needs no signal.
                let _may_have_ended = kill(child.id(), signal);
            }
        }
        let has_ended = match &end {
            // An interruption is checked above, as after each of these waits.
            Some(end) => wait_until(end, Ready::ToRead, Some(step)) == Ok(true),
            None => {
                doze(step);
                false
            }
        };
        if has_ended {
            return child.wait();
        }
        if end.is_none()
            && let Some(status) = child.try_wait()?
        {
            return Ok(status);
        }
        meanwhile();
    }
}
