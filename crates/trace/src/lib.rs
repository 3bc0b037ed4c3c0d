//! Runs a command, or watches a process, and counts, sizes and times what it asks of the kernel.
//!
//! Two backends give the same [`Report`]: a small eBPF program that adds everything up inside the
//! kernel (root, or `CAP_BPF` and `CAP_PERFMON`), and `ptrace`, which any user may use and which
//! slows the command manyfold. Nothing here prints, installs a signal handler or reads the
//! environment; [`render`] makes text, JSON and pictures of a report.
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
//! A call is counted when it returns to the program, as `strace -c` does. A call that never does
//! (`exit_group`, or whatever a killed thread was in) is counted as unfinished. A size is what a
//! call returned, or for `mmap`, `fallocate` and their kin the length that it asked for. Counting
//! begins with the command's own `execve`.
//!
//! # What cannot be seen
//!
//! Calls of 32-bit programs go by the numbers of the 64-bit table. Under ptrace, io_uring shows as
//! `io_uring_enter` alone. Reads and writes of mapped memory are no calls: they show as page
//! faults. Files are told apart for system calls, not for io_uring operations. In a container, eBPF
//! gives the numbers that processes have outside. Paths are those of the kernel's mounts, whatever
//! root directory the process has.

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

pub use calls::{Name, errno_name};
pub use command::Command;
pub use error::TraceError;
pub use interrupt::Interrupt;
pub use options::{Backend, Files, TraceOptions, Until};
pub use report::{
    Ending, Faults, FileUse, Group, Grouping, Histogram, Observer, Report, Tallies, Tally, Unit,
};
pub use trace::Trace;
