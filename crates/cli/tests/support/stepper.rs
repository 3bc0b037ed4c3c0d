//! A stepper: runs a command under ptrace, call by call, and lets the test change files between two calls.
//!
//! strace stops a process by a signal, at an occurrence of a call's name; the stepper counts all calls of a
//! command in one sequence, and the command is stopped during the change. Nothing depends on time, so with
//! one worker the n-th call is the same in every run.

use haul_sys::sync::Mutex;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use haul_sys::Errno;
use haul_sys::ptrace::{
    Change, Ended, Event, Follow, Resume, SyscallStop, Tid, Wait, Waited, event_message,
    read_memory, resume, seize, spawn_held, syscall_info, wait,
};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, kill_process};

use super::run::{Call, Done};
use super::{Outcome, ignored};

/// The time limit of a run: the longest takes less than a second on an idle machine.
const HANG: Duration = Duration::from_secs(240);

/// The size of the input pipe: more than any test's input, so that no thread has to fill it.
const PIPE_BYTES: usize = 1 << 20;

/// Number of bytes read of an argument to check whether it is one of the operands.
const MARK_BYTES: usize = 64;

/// The calls of a run.
pub(crate) struct Stepped {
    pub(crate) done: Done,
    /// The numbers of all calls that returned, in order.
    pub(crate) calls: Vec<u64>,
    /// Number of calls that had returned when a call first named a mark; all, if none did.
    pub(crate) begun: usize,
    pub(crate) hung: bool,
}

/// A moment at which the command is stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Number of calls that have returned.
    pub(crate) returned: usize,
    /// Number of the system call that has returned last.
    pub(crate) call: u64,
    /// The process that was started first.
    pub(crate) pid: Pid,
}

/// Returns whether processes may be traced here; otherwise the test is ignored.
pub(crate) fn is_usable() -> Outcome<bool> {
    let probe = run(&Call::of("true"), &[], &mut |_| Ok(()));
    if probe.is_err() {
        ignored("the right to trace processes")?;
    }
    Ok(probe.is_ok())
}

/// Runs a command and calls `after` when each of its calls has returned. Its work begins with the first
/// call that names one of the marks.
pub(crate) fn run(
    call: &Call,
    marks: &[&str],
    after: &mut dyn FnMut(Stop) -> Outcome,
) -> Outcome<Stepped> {
    run_within(HANG, call, marks, after)
}

fn run_within(
    hang: Duration,
    call: &Call,
    marks: &[&str],
    after: &mut dyn FnMut(Stop) -> Outcome,
) -> Outcome<Stepped> {
    let (stdout, stderr) = (memory()?, memory()?);
    let streams = [
        Some(input(call.given())?),
        Some(stdout.try_clone()?.into()),
        Some(stderr.try_clone()?.into()),
    ];
    let child = spawn_held(&call.plan(streams)?).map_err(|error| error.text())?;
    let root = Pid::from_raw(child.tid).ok_or("a child without a number")?;
    let threads = Arc::new(Mutex::new(Threads::of(child.tid)));
    let watchdog = Watchdog::new(Arc::clone(&threads), hang);
    seize(child.tid, Follow::Children).map_err(|error| error.text())?;
    // A program that cannot be executed ends with an exit status.
    let opened = child.open();
    let mut tracer =
        Tracer { root, marks, threads, entered: HashMap::new(), calls: Vec::new(), begun: None };
    let ended = tracer.trace(after);
    let hung = watchdog.dismiss();
    drop(opened);
    let status = match ended? {
        Ended::Exited(code) => ExitStatus::from_raw(code << 8),
        Ended::Signaled(signal) => ExitStatus::from_raw(signal),
    };
    let done = Done { status, stdout: contents(stdout)?, stderr: contents(stderr)?, peak_bytes: 0 };
    let begun = tracer.begun.unwrap_or(tracer.calls.len());
    Ok(Stepped { done, calls: tracer.calls, begun, hung })
}

/// Makes a file for output. Several processes may write to it at once, and the kernel does not lock the
/// position of a memfd for them, so each write goes to the end.
fn memory() -> Outcome<File> {
    let fd = memfd_create("output", MemfdFlags::CLOEXEC)?;
    fcntl_setfl(&fd, OFlags::APPEND)?;
    Ok(fd.into())
}

fn contents(mut file: File) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a pipe that contains the whole input.
fn input(bytes: &[u8]) -> Outcome<OwnedFd> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    if fcntl_setpipe_size(&writer, PIPE_BYTES)? < bytes.len() {
        return Err("more input than a pipe holds".into());
    }
    File::from(writer).write_all(bytes)?;
    Ok(reader)
}

/// Ends a run that hangs. The stepping thread cannot, because it waits for a stop.
struct Watchdog {
    over: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    fn new(threads: Arc<Mutex<Threads>>, hang: Duration) -> Watchdog {
        let (over, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let hangs = ended.recv_timeout(hang) == Err(RecvTimeoutError::Timeout);
            if hangs {
                locked(&threads).end();
            }
            hangs
        });
        Watchdog { over, thread }
    }

    /// Stops watching, and returns whether it had to end the run.
    fn dismiss(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(true)
    }
}

fn locked(threads: &Mutex<Threads>) -> haul_sys::sync::MutexGuard<'_, Threads> {
    threads.lock()
}

/// The traced threads. The tracing thread may have other children, such as the watcher of a FUSE mount, so
/// it cannot wait until there are none left.
struct Threads {
    alive: HashSet<Tid>,
    /// New ones that their parent has announced and that have not stopped yet.
    announced: HashSet<Tid>,
    /// New ones that stopped before their parent announced them.
    early: HashSet<Tid>,
    /// Set when all of them have to end.
    is_over: bool,
}

impl Threads {
    fn of(root: Tid) -> Threads {
        let alive = HashSet::from([root]);
        Threads { alive, announced: HashSet::new(), early: HashSet::new(), is_over: false }
    }

    fn are_gone(&self) -> bool {
        self.alive.is_empty() && self.announced.is_empty()
    }

    /// Records the result of a wait.
    fn note(&mut self, tid: Tid, change: Change) {
        let is_new = !self.alive.contains(&tid);
        if is_new && !self.announced.remove(&tid) {
            self.early.insert(tid);
        }
        if matches!(change, Change::Ended(_)) {
            self.alive.remove(&tid);
        } else {
            self.alive.insert(tid);
            if self.is_over {
                kill(tid);
            }
        }
        if matches!(change, Change::Event(Event::Clone, _)) {
            // A killed thread has no message any more, and its new threads stop by themselves.
            let child = event_message(tid).ok().and_then(|message| Tid::try_from(message).ok());
            if let Some(child) = child
                && !self.early.remove(&child)
            {
                self.announced.insert(child);
            }
        }
    }

    /// Ends all living threads, and those that are about to start.
    fn end(&mut self) {
        self.is_over = true;
        self.alive.iter().copied().for_each(kill);
    }
}

fn kill(tid: Tid) {
    if let Some(pid) = Pid::from_raw(tid) {
        // One that has just ended needs no resume.
        let _killed = kill_process(pid, Signal::KILL);
    }
}

struct Tracer<'a> {
    root: Pid,
    marks: &'a [&'a str],
    threads: Arc<Mutex<Threads>>,
    /// The call that each thread is in.
    entered: HashMap<Tid, u64>,
    calls: Vec<u64>,
    begun: Option<usize>,
}

impl Tracer<'_> {
    /// Follows the command to the end of everything that it started. Returns an error of `after` when
    /// the command has ended.
    fn trace(&mut self, after: &mut dyn FnMut(Stop) -> Outcome) -> Outcome<Ended> {
        let (mut ended, mut failed) = (None, Ok(()));
        while ended.is_none() || !locked(&self.threads).are_gone() {
            let waited = match wait(Wait::Any) {
                Ok(Some(waited)) => waited,
                Ok(None) => continue,
                Err(error) if error.errno == Errno::CHILD => break,
                Err(error) => return Err(error.text().into()),
            };
            let Waited { tid, change, .. } = waited;
            locked(&self.threads).note(tid, change);
            let how = match change {
                Change::Ended(how) => {
                    if tid == self.root.as_raw_nonzero().get() {
                        ended = Some(how);
                    }
                    continue;
                }
                Change::Continued => continue,
                Change::Call => {
                    if self.returned(tid) && failed.is_ok() {
                        let (returned, call) = (self.calls.len(), self.calls.last());
                        let call = call.copied().unwrap_or_default();
                        failed = after(Stop { returned, call, pid: self.root });
                    }
                    Resume::ToCall(0)
                }
                Change::Event(Event::Stop, signal) if signal != libc::SIGTRAP => Resume::Listen,
                Change::Event(..) => Resume::ToCall(0),
                Change::Signal(signal) => Resume::ToCall(signal),
            };
            match resume(tid, how) {
                Err(error) if error.errno != Errno::SRCH => return Err(error.text().into()),
                _ => {}
            }
        }
        failed?;
        ended.ok_or_else(|| "a command without an end".into())
    }

    /// Records a stop at a call, and returns whether the call has returned.
    fn returned(&mut self, tid: Tid) -> bool {
        match syscall_info(tid) {
            Ok(SyscallStop::Enter { number, arguments }) => {
                self.entered.insert(tid, number);
                if self.begun.is_none() && arguments.iter().take(2).any(|at| self.is_mark(tid, *at))
                {
                    self.begun = Some(self.calls.len());
                }
                false
            }
            Ok(SyscallStop::Exit { .. }) => {
                self.calls.push(self.entered.remove(&tid).unwrap_or(u64::MAX));
                true
            }
            Ok(SyscallStop::Other) | Err(_) => false,
        }
    }

    fn is_mark(&self, tid: Tid, address: u64) -> bool {
        let mut bytes = [0; MARK_BYTES];
        let Ok(count) = read_memory(tid, address, &mut bytes) else { return false };
        let mut text = bytes.get(..count).unwrap_or_default().split(|byte| *byte == 0);
        text.next().is_some_and(|text| self.marks.iter().any(|mark| mark.as_bytes() == text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_hangs_ends_with_all_that_it_started() -> Outcome {
        if !is_usable()? {
            return Ok(());
        }
        for line in ["sleep 1000 & sleep 1000", "sleep 1000 &", "(sleep 1000; sleep 1000) | cat"] {
            let call = Call::of("sh").words(["-c", line]);
            let stepped = run_within(Duration::from_millis(300), &call, &[], &mut |_| Ok(()))?;
            assert!(stepped.hung, "{line}");
        }
        Ok(())
    }

    #[test]
    fn all_that_a_run_starts_is_followed_to_its_end() -> Outcome {
        if !is_usable()? {
            return Ok(());
        }
        // Another child of this thread must not delay it.
        let mut other = std::process::Command::new("sleep").arg("1000").spawn()?;
        let line = "for i in 1 2 3; do (echo $i &) & done; wait";
        let stepped = run(&Call::of("sh").words(["-c", line]), &[], &mut |_| Ok(()));
        other.kill()?;
        other.wait()?;
        let stepped = stepped?;
        assert!(!stepped.hung);
        assert_eq!(stepped.done.stdout.len(), 6);
        Ok(())
    }
}
