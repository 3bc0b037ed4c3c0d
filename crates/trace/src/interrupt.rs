//! Being asked to stop: how the caller says so, and what becomes of the signal that asked.
//!
//! A tracer stands between a person and a command. Whoever presses Ctrl-C means the command, and
//! the terminal sends it the signal as well; whoever sends a signal to our process number means the
//! command too, but it hears nothing unless we pass that on.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::process::{Sender, stop_sender};
use rustix::process::{Signal, getpgrp, pidfd_send_signal};
use rustix::termios::tcgetpgrp;

use crate::TraceOptions;

/// How the caller says that it was asked to stop.
///
/// It ends the tracing of a process that was attached to, and of what a command left behind. A
/// command that runs is waited for: what it makes of its signal is its own business.
#[derive(Clone, Debug)]
pub enum Interrupt {
    /// A flag of the caller's own. The command is told nothing.
    Flag(Arc<AtomicBool>),
    /// The flag of [`haul_sys::process::hear_stop`].
    ///
    /// The signal is passed on to the command, unless it came from the terminal, which has sent it
    /// to the command as well. The flag is taken back, so that the next signal is heard in its
    /// turn rather than ending us; [`haul_sys::process::stop_signal`] goes on saying which it was.
    Signals(&'static AtomicBool),
}

/// Listens to the caller for the length of a trace.
pub(crate) struct Ear<'a> {
    interrupt: Option<&'a Interrupt>,
    /// Kept here, since a flag may be taken back.
    was_asked: bool,
}

impl<'a> Ear<'a> {
    pub(crate) fn new(options: &'a TraceOptions) -> Ear<'a> {
        Ear { interrupt: options.interrupt.as_ref(), was_asked: false }
    }

    /// Returns whether the caller was ever asked to stop, and passes a signal on to the command,
    /// if that still runs.
    pub(crate) fn listen(&mut self, command: Option<&OwnedFd>) -> bool {
        match self.interrupt {
            None => {}
            Some(Interrupt::Flag(flag)) => self.was_asked |= flag.load(Ordering::Relaxed),
            Some(Interrupt::Signals(flag)) => {
                // The handler sets the flag before the number; what is not there yet is next time.
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

/// Sends a signal to the command unless the terminal has: the kernel tells the whole foreground
/// group of a key or a hang-up, while who sends us a signal with `kill` means the command as well.
fn pass_on(signal: i32, command: &OwnedFd) {
    if stop_sender() == Some(Sender::Kernel) && is_in_foreground() {
        return;
    }
    if let Some(signal) = Signal::from_named_raw(signal) {
        // It may have ended meanwhile.
        let _gone = pidfd_send_signal(command, signal);
    }
}

/// Returns whether our terminal, if we have one, sends its signals to our process group: that is
/// the command's too, unless it went its own way.
fn is_in_foreground() -> bool {
    let terminal = File::open("/dev/tty");
    terminal.is_ok_and(|terminal| tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
}
