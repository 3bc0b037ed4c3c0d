//! Runs a command, or observes a process, and records the counts, sizes and times of its system
//! calls.
//!
//! Two backends give the same [`Report`]: a small eBPF program that adds everything up inside the
//! kernel (root, or `CAP_BPF` and `CAP_PERFMON`), and `ptrace`, which any user may use and which
//! slows the command many times. This crate does not print, install signal handlers or read the
//! environment; [`render`] converts a report to text, JSON and SVG.
//!
//! ```no_run
//! use haul_trace::{Command, Trace, TraceOptions};
//!
//! let command = Command::new("cp").argument("one").argument("two");
//! let report = Trace::run(&command, &TraceOptions::default())?;
//! assert!(report.total().count("openat") < 20);
//! # Ok::<(), haul_trace::TraceError>(())
//! ```
//!
//! # What is counted
//!
//! A call is counted when it returns to the program, as `strace -c` does. A call that does not
//! return (`exit_group`, or the call of a killed thread) is counted as unfinished. A size is what a
//! call returned, or for `mmap`, `fallocate` and similar calls the requested length. Counting
//! begins with the command's own `execve`.
//!
//! # Limitations
//!
//! Calls of 32-bit programs are shown by the numbers of the 64-bit table. Under ptrace, io_uring is
//! visible only as `io_uring_enter`. Reads and writes of mapped memory are not calls: they appear
//! as page faults. Figures by file cover system calls, not io_uring operations. In a container,
//! eBPF reports process ids of the initial namespace. Paths are those of the kernel's mounts,
//! regardless of the root directory of the process.

mod calls;
mod command;
mod ebpf;
mod error;
mod interrupt;
mod mark;
mod options;
mod process;
mod ptrace;
pub mod render;
pub mod report;
mod trace;
mod wait_notice;

pub use calls::{Name, errno_name};
pub use command::Command;
pub use error::TraceError;
pub use interrupt::Interrupt;
pub use options::{Backend, Files, Stacks, TraceOptions, Until};
pub use report::{
    CallEnd, CallList, Ending, Faults, FileUse, Group, Grouping, Histogram, ListedCall, Observer,
    Report, StackTime, Tallies, Tally, Unit,
};
pub use trace::Trace;
