//! The way in: run or attach, with the backend that can.

use std::time::{Duration, Instant};

use crate::{Backend, Command, Report, TraceError, TraceOptions, ebpf, ptrace};

/// Runs commands, or watches processes, and reports what they ask of the kernel.
#[derive(Debug)]
pub struct Trace;

impl Trace {
    /// Runs a command to its end and reports on it and everything that it started.
    ///
    /// Blocks until the command has ended and, as [`crate::Until`] says, what it left behind. No
    /// signal handler is installed: a caller that wants a report after Ctrl-C must not die of it.
    /// Fails where the command cannot be started or no backend may trace it.
    pub fn run(command: &Command, options: &TraceOptions) -> Result<Report, TraceError> {
        choose(options, || ebpf::run(command, options), || ptrace::run(command, options))
    }

    /// Observes a process and what it starts, until it ends, or the duration is over, or the
    /// interrupt flag is set.
    ///
    /// Fails where there is no such process or no backend may trace it. By ptrace, a child of the
    /// caller's own that ends meanwhile is reaped, as the kernel has it for a tracer and parent.
    pub fn attach(pid: u32, options: &TraceOptions) -> Result<Report, TraceError> {
        choose(options, || ebpf::attach(pid, options), || ptrace::attach(pid, options))
    }
}

/// Tries eBPF and then ptrace, as far as the options let it.
fn choose(
    options: &TraceOptions,
    by_ebpf: impl FnOnce() -> Result<Report, ebpf::Failure>,
    by_ptrace: impl FnOnce() -> Result<Report, TraceError>,
) -> Result<Report, TraceError> {
    if options.backend == Backend::Ptrace {
        return by_ptrace();
    }
    let reason = match by_ebpf() {
        Ok(report) => return Ok(report),
        Err(ebpf::Failure::Other(error)) => return Err(error),
        Err(ebpf::Failure::Unavailable(reason)) => reason,
    };
    if options.backend == Backend::Ebpf {
        return Err(TraceError::Unavailable(reason));
    }
    let mut report = by_ptrace()?;
    report.notices.insert(0, format!("traced by ptrace, since eBPF cannot be used: {reason}"));
    Ok(report)
}

/// How long to wait for what a command left behind before saying so: the usual straggler ends
/// within milliseconds, and a second is when a person begins to wonder.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// The wait for what a command left behind, about which the caller is told once.
pub(crate) struct Patience {
    began: Instant,
    on_wait: Option<fn()>,
}

impl Patience {
    /// Begins to wait.
    pub(crate) fn new(options: &TraceOptions) -> Patience {
        Patience { began: Instant::now(), on_wait: options.on_wait }
    }

    /// Tells the caller, if it is time.
    pub(crate) fn tell_in_time(&mut self) {
        if self.began.elapsed() >= SILENT_WAIT
            && let Some(tell) = self.on_wait.take()
        {
            tell();
        }
    }
}

/// Returns a duration in nanoseconds; the 584 years that fit will do.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
