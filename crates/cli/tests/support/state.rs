//! What another process is doing, as proc(5) tells.

use std::fs;

use haul_manifest::wait_until;
use rustix::process::Pid;

/// Returns whether each thread of a process waits for another one, or has ended: nothing changes until a pipe, a
/// signal or a child does.
pub(crate) fn is_idle(pid: Pid) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()));
    tasks.into_iter().flatten().flatten().all(|task| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit(") ").next().unwrap_or_default();
        state.is_empty() || state.starts_with(['S', 'Z', 'X'])
    })
}

/// Waits until a process that writes to a pipe has filled it and waits for its reader, or has ended.
pub(crate) fn wait_for_full_pipe(writer: Pid) {
    wait_until("the pipe is full or its writer has ended", || is_idle(writer));
}

/// Returns whether a process has a handler for a signal.
#[cfg(feature = "trace")]
pub(crate) fn hears(pid: Pid, signal: i32) -> bool {
    let name = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = fs::read_to_string(name).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|caught| u64::from_str_radix(caught.trim(), 16).ok());
    caught.is_some_and(|caught| caught & (1 << (signal - 1)) != 0)
}

/// Returns the number of page faults of a process so far that needed no storage; `None` when it has ended.
pub(crate) fn minor_faults(pid: Pid) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let mut fields = stat.rsplit(") ").next()?.split(' ');
    let has_ended = fields.next()? == "Z";
    fields.nth(6)?.parse().ok().filter(|_| !has_ended)
}
