//! `fork`, wait, `execve` — starts a command that waits before it runs:
//! <https://man7.org/linux/man-pages/man2/fork.2.html>, <https://man7.org/linux/man-pages/man3/exec.3.html>
//!
//! `std::process::Command` returns only when the program already runs, which is too late for a
//! tracer that must see its `execve`. Like the standard library, this module resets `SIGPIPE` and
//! the signal mask in the child.

use std::ffi::{CStr, CString, c_char};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::io::Errno;
use rustix::pipe::PipeFlags;

use super::{Tid, last};
use crate::error::Named;
use crate::{Call, CallError, Result, with_signals_blocked};

/// The first argument of the marking `prctl`: "haul" in ASCII, which is not an option of the
/// kernel.
pub const MARK_OPTION: u64 = 0x6861_756c;

/// The command to start.
#[derive(Debug)]
pub struct SpawnPlan {
    /// The program; a name without a slash is searched for along the `PATH` of the child.
    pub program: CString,
    /// The arguments, the program's own name first.
    pub arguments: Vec<CString>,
    /// `NAME=value` strings; `None` passes on the caller's environment.
    pub environment: Option<Vec<CString>>,
    /// The directory to start in; `None` is the caller's.
    pub directory: Option<CString>,
    /// Standard input, output and error; `None` passes on the caller's.
    pub streams: [Option<OwnedFd>; 3],
    /// Called as `prctl(MARK_OPTION, mark)` immediately before `execve`, by which an eBPF program
    /// recognizes the child whatever its id is outside the pid namespace of the caller. The kernel
    /// answers `EINVAL`.
    pub mark: Option<u64>,
}

/// A child that waits until it is released. If this value is dropped first, the child exits without
/// running the program.
#[derive(Debug)]
pub struct HeldChild {
    /// The child's id.
    pub tid: Tid,
    gate: OwnedFd,
    failure: OwnedFd,
}

impl HeldChild {
    /// Releases the child and returns when it has executed the program.
    ///
    /// Fails with the errno of the child's `chdir`, `dup2` or `execve`; the child then exits with
    /// status 127, and the caller still has to wait for it. Under `ptrace` the child makes progress
    /// only if the tracer handles its stops: use [`HeldChild::open`] there.
    pub fn release(self) -> Result<()> {
        self.open().finish()
    }

    /// Releases the child and returns at once.
    #[must_use]
    pub fn open(self) -> OpenedChild {
        let _gone = rustix::io::write(&self.gate, &[1]);
        OpenedChild { failure: self.failure }
    }
}

/// A released child, whose `execve` may still fail.
#[derive(Debug)]
pub struct OpenedChild {
    failure: OwnedFd,
}

impl OpenedChild {
    /// Blocks until `execve` succeeds or fails.
    pub fn finish(self) -> Result<()> {
        let mut bytes = [0_u8; 4];
        loop {
            match rustix::io::read(&self.failure, &mut bytes) {
                Ok(4) => {
                    let errno = Errno::from_raw_os_error(i32::from_ne_bytes(bytes));
                    return Err(CallError::new(Call::Execve, errno));
                }
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(CallError::new(Call::Read, errno)),
            }
        }
    }
}

/// Everything that the child uses between `fork` and `execve`. It is prepared before the fork,
/// because the child must not allocate.
struct Prepared<'a> {
    program: &'a CStr,
    arguments: Vec<*const c_char>,
    environment: Option<Vec<*const c_char>>,
    directory: Option<&'a CStr>,
    streams: [RawFd; 3],
    mark: Option<u64>,
    gate: RawFd,
    gate_writer: RawFd,
    failure: RawFd,
}

/// Starts a child that waits for [`HeldChild::release`].
pub fn spawn_held(plan: &SpawnPlan) -> Result<HeldChild> {
    let (gate_reader, gate) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).named(Call::Pipe)?;
    let (failure, failure_writer) =
        rustix::pipe::pipe_with(PipeFlags::CLOEXEC).named(Call::Pipe)?;
    // Above the three standard fds, so that `dup2` in the child never overwrites one it needs.
    let mut high: [Option<OwnedFd>; 3] = [None, None, None];
    for (slot, stream) in high.iter_mut().zip(&plan.streams) {
        if let Some(fd) = stream {
            *slot = Some(rustix::io::fcntl_dupfd_cloexec(fd, 3).named(Call::Dup)?);
        }
    }
    let streams = high.each_ref().map(|fd| fd.as_ref().map_or(-1, AsRawFd::as_raw_fd));
    let tid = with_signals_blocked(|| {
        let prepared = Prepared {
            program: &plan.program,
            arguments: pointers(&plan.arguments),
            environment: plan.environment.as_deref().map(pointers),
            directory: plan.directory.as_deref(),
            streams,
            mark: plan.mark,
            gate: gate_reader.as_raw_fd(),
            gate_writer: gate.as_raw_fd(),
            failure: failure_writer.as_raw_fd(),
        };
        // SAFETY: the child goes straight to `run_child`, which makes only async-signal-safe calls
        // and never returns.
        unsafe {
            let tid = libc::fork();
            if tid == 0 {
                run_child(&prepared);
            }
            tid
        }
    });
    if tid < 0 { Err(last(Call::Fork)) } else { Ok(HeldChild { tid, gate, failure }) }
}

/// Returns the null-terminated array that `execve` takes.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Waits for the release, then executes the program.
///
/// # Safety
///
/// Must be called in a child between `fork` and `execve`: it makes only async-signal-safe calls,
/// and every pointer in `plan` was copied by the fork.
unsafe fn run_child(plan: &Prepared<'_>) -> ! {
    // SAFETY: as above; each call gets pointers to locals or to what `Prepared` borrows.
    unsafe {
        // Without this copy of the writing end, the death of the caller would release the child.
        libc::close(plan.gate_writer);
        let mut byte = 0_u8;
        if libc::read(plan.gate, (&raw mut byte).cast(), 1) != 1 {
            libc::_exit(127);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        let mut empty = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut empty);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const empty, std::ptr::null_mut());
        if let Some(directory) = plan.directory
            && libc::chdir(directory.as_ptr()) != 0
        {
            fail(plan.failure);
        }
        for (target, stream) in (0..).zip(plan.streams) {
            if stream >= 0 && libc::dup2(stream, target) < 0 {
                fail(plan.failure);
            }
        }
        if let Some(mark) = plan.mark {
            libc::syscall(libc::SYS_prctl, MARK_OPTION, mark, 0, 0, 0);
        }
        match &plan.environment {
            Some(environment) => {
                libc::execvpe(plan.program.as_ptr(), plan.arguments.as_ptr(), environment.as_ptr())
            }
            None => libc::execvp(plan.program.as_ptr(), plan.arguments.as_ptr()),
        };
        fail(plan.failure)
    }
}

/// Sends `errno` to the parent and exits.
///
/// # Safety
///
/// As for [`run_child`].
unsafe fn fail(failure: RawFd) -> ! {
    // SAFETY: writes four bytes of a local; both calls are async-signal-safe.
    unsafe {
        let errno = (*libc::__errno_location()).to_ne_bytes();
        libc::write(failure, errno.as_ptr().cast(), errno.len());
        libc::_exit(127)
    }
}
