//! A stepper: runs a command under ptrace, call by call, and changes the world between two of them.
//!
//! strace stops a process by a signal and is told apart by the occurrence of a name; this counts all calls
//! of a command in one sequence, and the command stands still while the change is made. Nothing depends on
//! time, so with one worker the n-th call is the same in every run.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use haul_sys::Errno;
use haul_sys::ptrace::{
    Change, Ended, Event, Follow, Resume, SyscallStop, Tid, Wait, Waited, read_memory, resume,
    seize, spawn_held, syscall_info, wait,
};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::run::{Call, Done};
use super::{Outcome, ignored};

/// After this a run hangs: the longest takes less than a second on an idle machine.
const HANG: Duration = Duration::from_secs(30);

/// More than any input that a test gives, so that nobody has to feed the pipe.
const PIPE_BYTES: usize = 1 << 20;

/// What is read of an argument to see whether it is one of the operands.
const MARK_BYTES: usize = 64;

/// A run call by call.
pub(crate) struct Stepped {
    pub(crate) done: Done,
    /// The numbers of all calls that returned, in order.
    pub(crate) calls: Vec<u64>,
    /// How many calls had returned when a mark was first named; all, if none was.
    pub(crate) begun: usize,
    pub(crate) hung: bool,
}

/// A moment at which the command stands still.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// How many calls have returned.
    pub(crate) returned: usize,
    /// The process that was started first.
    pub(crate) pid: Pid,
}

/// Says whether processes may be traced here; otherwise the test is ignored.
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
    let (stdout, stderr) = (memory()?, memory()?);
    let streams = [
        Some(input(call.given())?),
        Some(stdout.try_clone()?.into()),
        Some(stderr.try_clone()?.into()),
    ];
    let child = spawn_held(&call.plan(streams)?).map_err(|error| error.text())?;
    let root = Pid::from_raw(child.tid).ok_or("a child without a number")?;
    let watchdog = Watchdog::new(root)?;
    seize(child.tid, Follow::Children).map_err(|error| error.text())?;
    // A program that cannot be executed ends with a status of its own.
    let opened = child.open();
    let mut tracer =
        Tracer { root, marks, entered: HashMap::new(), calls: Vec::new(), begun: None };
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

fn memory() -> Outcome<File> {
    Ok(memfd_create("output", MemfdFlags::CLOEXEC)?.into())
}

fn contents(mut file: File) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A pipe with everything in it that is ever to come.
fn input(bytes: &[u8]) -> Outcome<OwnedFd> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    if fcntl_setpipe_size(&writer, PIPE_BYTES)? < bytes.len() {
        return Err("more input than a pipe holds".into());
    }
    File::from(writer).write_all(bytes)?;
    Ok(reader)
}

/// Kills a run that hangs. It waits for stops that never come, so the thread that steps cannot.
struct Watchdog {
    over: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    fn new(pid: Pid) -> Outcome<Watchdog> {
        let pidfd = pidfd_open(pid, PidfdFlags::empty())?;
        let (over, ended) = channel::<()>();
        let thread = std::thread::spawn(move || {
            let hangs = ended.recv_timeout(HANG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
            if hangs {
                // One that has just ended needs nothing any more.
                let _killed = pidfd_send_signal(&pidfd, Signal::KILL);
            }
            hangs
        });
        Ok(Watchdog { over, thread })
    }

    /// Says whether the run had to be killed.
    fn dismiss(self) -> bool {
        drop(self.over);
        self.thread.join().unwrap_or(true)
    }
}

struct Tracer<'a> {
    root: Pid,
    marks: &'a [&'a str],
    /// The call that each thread is in.
    entered: HashMap<Tid, u64>,
    calls: Vec<u64>,
    begun: Option<usize>,
}

impl Tracer<'_> {
    /// Follows the command to the end of everything that it started. What `after` fails with is told when
    /// the command has ended.
    fn trace(&mut self, after: &mut dyn FnMut(Stop) -> Outcome) -> Outcome<Ended> {
        let (mut ended, mut failed) = (None, Ok(()));
        // This thread may have other children, such as the watcher of a FUSE mount, so the end of the
        // traced ones is counted: those that were seen, and those that were announced.
        let mut alive = HashSet::from([self.root.as_raw_nonzero().get()]);
        let mut announced = 0_usize;
        while ended.is_none() || !alive.is_empty() || announced > 0 {
            let waited = match wait(Wait::Any) {
                Ok(Some(waited)) => waited,
                Ok(None) => continue,
                Err(error) if error.errno == Errno::CHILD => break,
                Err(error) => return Err(error.text().into()),
            };
            let Waited { tid, change, .. } = waited;
            if matches!(change, Change::Ended(_)) {
                alive.remove(&tid);
            } else if alive.insert(tid) {
                announced = announced.saturating_sub(1);
            }
            announced += usize::from(matches!(change, Change::Event(Event::Clone, _)));
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
                        failed = after(Stop { returned: self.calls.len(), pid: self.root });
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

    /// Takes note of a stop at a call, and says whether one has returned.
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
