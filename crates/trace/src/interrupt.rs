//! Interruption of a trace: how the caller requests it, and how the signal is passed on.
//!
//! A tracer stands between the user and a command. Ctrl-C is meant for the command, and the
//! terminal sends the signal to both; a signal to the tracer's process id is meant for the command
//! too, but the tracer must pass it on.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::process::{Sender, stop_sender};
use rustix::process::{Signal, getpgrp, pidfd_send_signal};
use rustix::termios::tcgetpgrp;

use crate::TraceOptions;

/// How the caller requests an interruption.
///
/// It ends the tracing of a process that was attached to, and of a command's remaining descendants.
/// The tracer waits for a running command, which handles its signal itself.
#[derive(Clone, Debug)]
pub enum Interrupt {
    /// A flag of the caller. The command gets no signal.
    Flag(Arc<AtomicBool>),
    /// The flag of [`haul_sys::process::hear_stop`].
    ///
    /// The tracer passes the signal on to the command, unless it came from the terminal, which has
    /// sent it to the command as well. It clears the flag, so that the next signal is handled too
    /// and does not end this process; [`haul_sys::process::stop_signal`] still returns the signal.
    Signals(&'static AtomicBool),
}

/// The state of interruption during a trace.
pub(crate) struct InterruptWatch<'a> {
    interrupt: Option<&'a Interrupt>,
    /// Kept here, because a flag may be cleared.
    was_asked: bool,
}

impl<'a> InterruptWatch<'a> {
    pub(crate) fn new(options: &'a TraceOptions) -> InterruptWatch<'a> {
        InterruptWatch { interrupt: options.interrupt.as_ref(), was_asked: false }
    }

    /// Returns whether the trace was interrupted, and passes a signal on to the command if it is
    /// still running.
    pub(crate) fn poll(&mut self, command: Option<&OwnedFd>) -> bool {
        match self.interrupt {
            None => {}
            Some(Interrupt::Flag(flag)) => self.was_asked |= flag.load(Ordering::Relaxed),
            Some(Interrupt::Signals(flag)) => {
                // The handler sets the flag before the number; a missing number is read at the next
                // call.
                let signal = haul_sys::process::stop_signal();
                if let (true, Some(signal)) = (flag.load(Ordering::Relaxed), signal) {
                    flag.store(false, Ordering::Relaxed);
                    self.was_asked = true;
                    if let Some(command) = command {
                        pass_on(signal, command);
                    }
                }
            }
        }
        self.was_asked
    }
}

/// Sends a signal to the command unless the terminal has: the kernel signals the whole foreground
/// group on a key or a hangup, while a signal by `kill` reaches only this process.
fn pass_on(signal: i32, command: &OwnedFd) {
    if stop_sender() == Some(Sender::Kernel) && is_in_foreground() {
        return;
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        // It may have ended in the meantime.
        let _gone = pidfd_send_signal(command, signal);
    }
}

/// Returns whether the controlling terminal, if any, sends its signals to this process group, which
/// is the command's too, unless the command has changed its group.
fn is_in_foreground() -> bool {
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
}
