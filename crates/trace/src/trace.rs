//! Entry points: run or attach, with an available backend.

use crate::{Backend, Command, Report, Stacks, TraceError, TraceOptions, ebpf, ptrace};

/// Runs commands, or observes processes, and reports their system calls.
#[derive(Debug)]
pub struct Trace;

impl Trace {
    /// Runs a command to its end and reports on it and its descendants.
    ///
    /// Blocks until the command has ended and, depending on [`crate::Until`], its descendants. It
    /// installs no signal handler: a caller that needs a report after Ctrl-C must handle SIGINT.
    /// Fails if the command cannot be started or no backend may trace it.
    pub fn run(command: &Command, options: &TraceOptions) -> Result<Report, TraceError> {
        choose(options, || ebpf::run(command, options), || ptrace::run(command, options))
    }

    /// Returns why the eBPF backend cannot run here, if it cannot. Loads and attaches its program,
    /// which observes no thread, and detaches it again; blocks for some milliseconds.
    pub fn check_ebpf() -> Result<(), String> {
        ebpf::check()
    }

    /// Observes a process and its descendants, until it ends, the duration has passed, or the
    /// interrupt flag is set.
    ///
    /// Fails if the process does not exist or no backend may trace it. With ptrace, a child of the
    /// caller that ends during the trace is reaped, because its parent is also its tracer.
    pub fn attach(pid: u32, options: &TraceOptions) -> Result<Report, TraceError> {
        choose(options, || ebpf::attach(pid, options), || ptrace::attach(pid, options))
    }
}

/// Why ptrace cannot record stacks.
const NO_STACKS: &str = "ptrace does not see the kernel's stacks; eBPF does";

/// Tries eBPF and then ptrace, as the options permit.
fn choose(
    options: &TraceOptions,
    by_ebpf: impl FnOnce() -> Result<Report, ebpf::Failure>,
    by_ptrace: impl FnOnce() -> Result<Report, TraceError>,
) -> Result<Report, TraceError> {
    if options.backend == Backend::Ptrace {
        return match options.stacks {
            Stacks::Ignored => by_ptrace(),
            Stacks::Observed => Err(TraceError::Unavailable(NO_STACKS.to_owned())),
        };
    }
    let reason = match by_ebpf() {
        Ok(report) => return Ok(report),
        Err(ebpf::Failure::Other(error)) => return Err(error),
        Err(ebpf::Failure::Unavailable(reason)) => reason,
    };
    if options.backend == Backend::Ebpf || options.stacks == Stacks::Observed {
        return Err(TraceError::Unavailable(reason));
    }
    let mut report = by_ptrace()?;
    report.notices.insert(0, format!("traced by ptrace, since eBPF cannot be used: {reason}"));
    Ok(report)
}
