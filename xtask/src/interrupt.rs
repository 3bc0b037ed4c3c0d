//! Signals: an interrupted command passes the signal to its child, cleans up, and then ends.
//!
//! Children run in separate process groups, so that Ctrl-C at a terminal reaches only this process and
//! the mounts are taken down in order: first the children end, then what they used goes away.

use crate::error::{Context, Error, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first signal that arrived, or 0.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The process groups that are running now and get the signals.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Pid>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts to catch SIGINT, SIGTERM and SIGHUP for the rest of the process.
pub(crate) fn install() -> Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
        .context("catch", "SIGINT, SIGTERM and SIGHUP")?;
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for number in signals.forever() {
                let first = CAUGHT.swap(number, Ordering::SeqCst) == 0;
                running().iter().for_each(|group| pass_on(*group, first, number));
            }
        })
        .context("start", "the thread that waits for signals")?;
    Ok(())
}

/// Passes the first signal on as it is; a second one kills the group.
fn pass_on(group: Pid, first: bool, number: i32) {
    let signal = match number {
        SIGINT if first => Signal::INT,
        SIGHUP if first => Signal::HUP,
        _ if first => Signal::TERM,
        _ => Signal::KILL,
    };
    // The group may have ended a moment ago, which is what the signal asks for.
    kill_process_group(group, signal).ok();
}

/// Adds a process group that gets the signals from now on, until `unwatch`.
pub(crate) fn watch(group: Pid) {
    let mut running = running();
    running.push(group);
    let caught = CAUGHT.load(Ordering::SeqCst);
    if caught != 0 {
        pass_on(group, true, caught);
    }
}

/// Stops passing signals on. Must be called before the group's leader is reaped, because its number
/// may be reused after that.
pub(crate) fn unwatch(group: Pid) {
    running().retain(|running| *running != group);
}

/// Fails if a signal has arrived. Called between steps after which a command can stop.
pub(crate) fn check() -> Result<()> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => Ok(()),
        number => Err(Error::new(format!("interrupted by signal {number}"))),
    }
}

/// The shell's exit code for the signal that arrived, if one did.
pub(crate) fn exit_code() -> Option<u8> {
    match CAUGHT.load(Ordering::SeqCst) {
        0 => None,
        number => u8::try_from(128 + number).ok(),
    }
}
