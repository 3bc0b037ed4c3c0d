//! strace, used to inject faults, to stop a run, and to log its calls.
//!
//! It counts calls by name and thread, so a point in a run is (name, occurrence). A SIGSTOP that strace
//! injects stops a run at a point: the call has returned, the next one has not begun, and the test changes
//! the files meanwhile. Without sleeping, nothing depends on the speed of the machine.

use std::path::{Path, PathBuf};

use haul_manifest::wait_until;
use rustix::process::{Pid, Signal, kill_process};

use super::run::{Call, Done};
use super::{Outcome, ignored, which};

/// Calls whose failure the C library handles, and those that do not change anything.
pub(crate) const SPARED: [&str; 15] = [
    "geteuid",
    "getrandom",
    "getegid",
    "umask",
    "futex",
    "exit",
    "exit_group",
    "rt_sigprocmask",
    "rt_sigaction",
    "restart_syscall",
    "set_robust_list",
    "rseq",
    "sigaltstack",
    "gettid",
    "munmap",
];

/// Calls by which haul changes files, their names and their attributes.
pub(crate) const CHANGING: [&str; 17] = [
    "copy_file_range",
    "fallocate",
    "fchmod",
    "fchown",
    "ftruncate",
    "ioctl",
    "linkat",
    "mkdirat",
    "openat",
    "pwrite64",
    "renameat2",
    "sendfile",
    "splice",
    "symlinkat",
    "unlinkat",
    "utimensat",
    "write",
];

/// The beginnings of the names of calls that change neither a file system nor a pipe.
const LOOKING: [&str; 20] = [
    "access",
    "cachestat",
    "close",
    "dup",
    "fadvise",
    "fcntl",
    "fgetxattr",
    "flistxattr",
    "fstat",
    "getdents",
    "getxattr",
    "listxattr",
    "lseek",
    "newfstatat",
    "pipe",
    "poll",
    "pread",
    "read",
    "stat",
    "uname",
];

/// Returns whether a call may change a file, or make one.
pub(crate) fn may_change(call: &str) -> bool {
    !LOOKING.iter().any(|looking| call.starts_with(looking))
}

/// Returns whether strace exists and may trace; otherwise the test is ignored.
pub(crate) fn is_usable() -> Outcome<bool> {
    if which("strace").is_none() {
        ignored("strace")?;
        return Ok(false);
    }
    let probe = Call::of("true").under(["strace", "-o", "/dev/null", "--"]).run()?;
    if probe.code() != Some(0) {
        ignored("the right to trace processes")?;
        return Ok(false);
    }
    Ok(true)
}

/// A call under strace.
pub(crate) struct Strace {
    log: PathBuf,
    options: Vec<String>,
}

/// A line of the log: process, call and result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) pid: i32,
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Strace {
    pub(crate) fn new(log: impl Into<PathBuf>) -> Strace {
        Strace { log: log.into(), options: Vec::new() }
    }

    /// Traces only these calls, in strace's syntax.
    pub(crate) fn trace(mut self, calls: &str) -> Strace {
        self.options.extend(["-e".to_owned(), format!("trace={calls}")]);
        self
    }

    /// Tampers with calls, in strace's syntax.
    pub(crate) fn inject(mut self, what: &str) -> Strace {
        self.options.extend(["-e".to_owned(), format!("inject={what}")]);
        self
    }

    /// Traces calls on this file only.
    pub(crate) fn of_file(mut self, path: &str) -> Strace {
        self.options.extend(["-P".to_owned(), path.to_owned()]);
        self
    }

    /// Prints descriptors with their paths.
    pub(crate) fn showing_paths(mut self) -> Strace {
        self.options.push("-y".to_owned());
        self
    }

    /// Runs a call under strace.
    pub(crate) fn wrap(&self, call: Call) -> Call {
        let mut words = vec!["strace".to_owned(), "-f".to_owned(), "-qqq".to_owned()];
        let has = |part: &str| self.options.iter().any(|option| option.contains(part));
        if has("trace=") && !has(":signal=") {
            // A filter of the kernel stops the process at these calls, not at each call. A signal that strace
            // 6.1 injects at such a stop does not arrive.
            words.push("--seccomp-bpf".to_owned());
        }
        words.extend(self.options.iter().cloned());
        words.extend(["-o".to_owned(), self.log.display().to_string(), "--".to_owned()]);
        call.under(words)
    }

    /// Returns the log as lines.
    pub(crate) fn lines(&self) -> Outcome<Vec<Line>> {
        Ok(parse(&self.text()?))
    }

    pub(crate) fn text(&self) -> Outcome<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(&self.log)?).into_owned())
    }

    /// Returns whether the log has a call that was tampered with.
    pub(crate) fn has_injected(&self) -> Outcome<bool> {
        Ok(self.text()?.contains("(INJECTED)"))
    }
}

fn parse(text: &str) -> Vec<Line> {
    text.lines().filter_map(parse_line).collect()
}

/// Reads one line; the second half of an interrupted call is not counted again.
fn parse_line(line: &str) -> Option<Line> {
    let (pid, rest) = line.split_once(' ')?;
    let rest = rest.trim_start();
    let (name, _) = rest.split_once('(')?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then(|| Line {
        pid: pid.parse().unwrap_or_default(),
        name: name.to_owned(),
        text: rest.to_owned(),
    })
}

/// A point in a run of one thread: after this occurrence of this call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) name: String,
    /// Counted from 1.
    pub(crate) occurrence: usize,
}

/// Returns the points of a run after the program has begun its work; the earlier calls of the loader
/// and the runtime are not tested.
pub(crate) fn points(lines: &[Line]) -> Vec<Point> {
    let mut counts = std::collections::HashMap::new();
    let mut points = Vec::new();
    let mut begun = false;
    for line in lines {
        let occurrence = counts.entry(line.name.clone()).or_insert(0_usize);
        *occurrence += 1;
        // The engine begins by opening the current directory.
        begun |= line.name == "openat" && line.text.starts_with("openat(AT_FDCWD, \".\"");
        if begun {
            points.push(Point { name: line.name.clone(), occurrence: *occurrence });
        }
    }
    points
}

/// Returns a point for each occurrence of a call in a run, from the first one on.
pub(crate) fn occurrences(lines: &[Line], name: &str) -> impl DoubleEndedIterator<Item = Point> {
    let count = lines.iter().filter(|line| line.name == name).count();
    (1..=count).map(move |occurrence| Point { name: name.to_owned(), occurrence })
}

/// Runs a call with one thread up to a point, calls `change`, and resumes the run. Returns
/// `None`, and changes nothing, if the run never reaches that point.
pub(crate) fn stopped_at(
    log: &Path,
    call: &Call,
    point: &Point,
    change: impl FnOnce() -> Outcome,
) -> Outcome<Option<Done>> {
    let strace = Strace::new(log)
        .trace(&point.name)
        .inject(&format!("{}:signal=STOP:when={}", point.name, point.occurrence));
    // The log of an earlier run must not be mistaken for this one's.
    std::fs::write(log, "")?;
    let running = strace.wrap(call.clone()).start()?;
    let (mut change, mut stops_seen) = (Some(change), 0);
    let stopped = || -> Outcome<Vec<i32>> {
        let stops = strace.text()?;
        let stops = stops.lines().filter(|line| line.contains("--- stopped by SIGSTOP ---"));
        Ok(stops.filter_map(|line| line.split(' ').next()?.parse().ok()).collect())
    };
    loop {
        wait_until(&format!("it stops after {point:?}, or ends"), || {
            has_ended(running.pid()) || stopped().map_or(true, |stops| stops.len() > stops_seen)
        });
        // Every thread reports a stop, and every thread has its own count of calls.
        let stops = stopped()?;
        if stops.len() > stops_seen {
            stops_seen = stops.len();
            if let Some(change) = change.take() {
                change()?;
            }
            let pid = stops.last().copied().and_then(Pid::from_raw).ok_or("a log without a pid")?;
            // A process that has continued and ended meanwhile needs no signal.
            kill_process(pid, Signal::CONT).or_else(ignore_missing)?;
        } else {
            let done = running.wait()?;
            return Ok(change.is_none().then_some(done));
        }
    }
}

fn ignore_missing(errno: rustix::io::Errno) -> rustix::io::Result<()> {
    if errno == rustix::io::Errno::SRCH { Ok(()) } else { Err(errno) }
}

/// Returns whether a child has ended; it is not reaped yet, so its number is not reused.
fn has_ended(pid: Pid) -> bool {
    let path = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(path).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z') || rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_becomes_calls() {
        let text = "12 openat(AT_FDCWD, \".\", O_RDONLY) = 3\n\
            13 <... read resumed>) = 4\n\
            12 --- stopped by SIGSTOP ---\n\
            13 close(4 <unfinished ...>\n";
        let lines = parse(text);
        let names: Vec<_> = lines.iter().map(|line| (line.pid, line.name.as_str())).collect();
        assert_eq!(names, [(12, "openat"), (13, "close")]);
        let points = points(&lines);
        assert_eq!(points.last().map(|point| point.name.as_str()), Some("close"));
    }
}
