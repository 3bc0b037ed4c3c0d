//! A pipeline of programs under test, with a limit of time: how each ended, and what it said.
//!
//! `command.rs` runs programs that are expected to work. Here every end is a result: an exit status, a
//! signal, or a hang, which is ended by SIGKILL. A pidfd makes the wait an event with a deadline.

use crate::error::{Context, Error, Result};
use crate::interrupt;
use haul_sys::process::wait4;
use haul_sys::ptrace::Ended;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time between two looks at whether a signal asks this program to end.
const INTERRUPT_POLL: Duration = Duration::from_millis(200);

/// Most bytes of a program's standard error that are kept.
const STDERR_BYTES_MAX: u64 = 64 * 1024;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Exited(i32),
    Killed(i32),
    /// It ran longer than the limit.
    TimedOut,
}

impl Status {
    pub(crate) fn is_success(self) -> bool {
        self == Self::Exited(0)
    }
}

/// One program that has ended.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) status: Status,
    pub(crate) stderr: String,
    pub(crate) max_rss_bytes: u64,
    /// Processor time of user mode and kernel.
    pub(crate) cpu: Duration,
}

/// Where a pipeline's bytes come from and go to; `/dev/null` if there is no path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    pub(crate) input: Option<PathBuf>,
    pub(crate) output: Option<PathBuf>,
}

/// A program that is running.
struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    stderr: File,
}

/// Runs programs, each reading what the one before it writes, and waits for all of them.
///
/// Takes the commands by value, because a command holds its end of a pipe open.
pub(crate) fn run(commands: Vec<Command>, ends: &Ends, limit: Duration) -> Result<Vec<Trial>> {
    let deadline = Instant::now() + limit;
    let mut running = Vec::new();
    let started = start(commands, ends, &mut running);
    let mut trials = Vec::new();
    for one in running {
        let in_time = match &started {
            Ok(()) => ends_before(&one, deadline)?,
            Err(_) => false,
        };
        if !in_time {
            // The group may have ended a moment ago, which is what the signal asks for.
            kill_process_group(one.pid, Signal::KILL).ok();
        }
        trials.push(reap(one, in_time)?);
    }
    started?;
    interrupt::check()?;
    Ok(trials)
}

fn start(commands: Vec<Command>, ends: &Ends, running: &mut Vec<Running>) -> Result<()> {
    let last = commands.len().saturating_sub(1);
    let mut input = match &ends.input {
        Some(path) => Stdio::from(File::open(path).context("open", path.display())?),
        None => Stdio::null(),
    };
    for (index, mut command) in commands.into_iter().enumerate() {
        let memory = rustix::fs::memfd_create("stderr", MemfdFlags::CLOEXEC);
        let stderr = File::from(memory.context("create", "a file in memory")?);
        command.stdin(input);
        command.stderr(stderr.try_clone().context("share", "a file in memory")?);
        command.stdout(match &ends.output {
            _ if index < last => Stdio::piped(),
            Some(path) => Stdio::from(File::create(path).context("create", path.display())?),
            None => Stdio::null(),
        });
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().context("run", name)?;
        input = child.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).context("watch", "a process")?;
        running.push(Running { pid, pidfd, stderr });
    }
    Ok(())
}

/// Waits for the end of a program; returns whether it came before the deadline and before a signal to
/// this program.
fn ends_before(one: &Running, deadline: Instant) -> Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || interrupt::check().is_err() {
            return Ok(false);
        }
        let slice = left.min(INTERRUPT_POLL);
        let wait = Timespec { tv_sec: 0, tv_nsec: slice.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&one.pidfd, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(cause) => return Err(Error::new(format!("cannot wait for a process: {cause}"))),
        }
    }
}

fn reap(mut one: Running, in_time: bool) -> Result<Trial> {
    let usage = wait4(one.pid.as_raw_nonzero().get().unsigned_abs())
        .map_err(|error| Error::new(format!("cannot wait for a process: {}", error.errno)))?;
    let status = match usage.ended {
        _ if !in_time => Status::TimedOut,
        Ended::Exited(code) => Status::Exited(code),
        Ended::Signaled(number) => Status::Killed(number),
    };
    let mut bytes = Vec::new();
    one.stderr.seek(SeekFrom::Start(0)).context("read", "a file in memory")?;
    let mut beginning = one.stderr.take(STDERR_BYTES_MAX);
    beginning.read_to_end(&mut bytes).context("read", "a file in memory")?;
    let stderr = String::from_utf8_lossy(&bytes).into_owned();
    let cpu = Duration::from_micros(usage.user_us + usage.system_us);
    Ok(Trial { status, stderr, max_rss_bytes: usage.max_rss_bytes, cpu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::command;

    fn shell(script: &str) -> Command {
        let mut shell = command("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn a_pipeline_has_an_end_for_each_program() {
        let long = Duration::from_secs(60);
        let commands = vec![shell("echo x; exit 3"), shell("read a; echo $a >&2; kill -9 $$")];
        let trials = run(commands, &Ends::default(), long).unwrap();
        assert_eq!(trials[0].status, Status::Exited(3));
        assert_eq!((trials[1].status, trials[1].stderr.trim()), (Status::Killed(9), "x"));
        assert!(trials[0].max_rss_bytes > 0);
    }

    #[test]
    fn a_hang_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let commands = vec![shell("echo told >&2; sleep 100 & wait")];
        let trials = run(commands, &Ends::default(), Duration::from_millis(300)).unwrap();
        assert_eq!(trials[0].status, Status::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_program_that_cannot_be_run_leaves_no_process() {
        let commands = vec![shell("exec sleep 100"), Command::new("/nonexistent/program")];
        let error = run(commands, &Ends::default(), Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/program"), "{error}");
    }
}
