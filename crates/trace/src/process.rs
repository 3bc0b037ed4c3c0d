//! Data of a thread in `/proc`: name, process, faults, CPU time.
//!
//! <https://man7.org/linux/man-pages/man5/proc.5.html>. Every function returns a default for a
//! thread that has ended, because a thread may end at any time.

use std::fs;

use crate::Faults;

/// The number of `/proc/self/ns/pid` in the first pid namespace (`PROC_PID_INIT_INO` of
/// `include/linux/proc_ns.h`).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Returns whether this process is in the initial pid namespace.
pub(crate) fn is_first_pid_namespace() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST_PID_NAMESPACE)
}

/// Returns the maximum number of thread ids of the kernel.
pub(crate) fn pid_max() -> u32 {
    fs::read_to_string("/proc/sys/kernel/pid_max")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1 << 22)
}

/// Returns the process that a thread belongs to.
pub(crate) fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Returns the threads of a process.
pub(crate) fn threads(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the kernel's name for the program of a thread.
pub(crate) fn name(tid: u32) -> String {
    let bytes = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned()
}

/// Returns a thread's page faults so far.
pub(crate) fn faults(pid: u32, tid: u32) -> Faults {
    let stat = fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    parse_faults(&String::from_utf8_lossy(&stat)).unwrap_or_default()
}

/// Parses fields 10 and 12 of `stat`; the name before them, in parentheses, may contain anything.
fn parse_faults(stat: &str) -> Option<Faults> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some(Faults { minor, major })
}

/// Returns a thread's CPU time so far, in nanoseconds.
pub(crate) fn cpu_ns(pid: u32, tid: u32) -> u64 {
    fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat"))
        .ok()
        .and_then(|text| text.split_ascii_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

/// Returns a process's CPU time so far in user mode and in the kernel, in microseconds; with the
/// resolution of `stat`, a hundredth of a second.
pub(crate) fn cpu_split_us(pid: u32) -> (u64, u64) {
    let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let ticks = |index: usize| -> Option<u64> {
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(index)?.parse().ok()
    };
    let us_per_tick = 1_000_000 / rustix::param::clock_ticks_per_second().max(1);
    (ticks(11).unwrap_or(0) * us_per_tick, ticks(12).unwrap_or(0) * us_per_tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_behind_any_name() {
        let stat = "71 (a) b (c) S 1 71 71 0 -1 4194560 1234 99 56 7 1 2 3 4 20 0";
        assert_eq!(parse_faults(stat), Some(Faults { minor: 1234, major: 56 }));
        assert_eq!(parse_faults("71 (short) S 1"), None);
        assert_eq!(parse_faults(""), None);
    }

    #[test]
    fn we_find_ourselves() {
        let pid = std::process::id();
        assert_eq!(process_of(pid), Some(pid));
        assert!(threads(pid).contains(&pid));
        assert!(!name(pid).is_empty());
        assert!(faults(pid, pid).minor > 0);
    }
}
