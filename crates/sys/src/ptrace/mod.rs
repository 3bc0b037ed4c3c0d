//! Calls that a tracer needs: a held child, `ptrace`, and waiting for stops.
//!
//! A tracer counts every call of a command from its `execve` on, so the child has to exist before
//! it runs: [`spawn_held`] starts one that waits. The rest is `ptrace` call by call; every function
//! but [`spawn_held`] and [`WakeChild::new`] must be used by the one thread that seized the tracee.

mod detach;
mod event_message;
mod interrupt;
mod read_memory;
mod resume;
mod seize;
mod spawn;
mod syscall_info;
mod wait;
mod waker;

pub use detach::detach;
pub use event_message::event_message;
pub use interrupt::interrupt;
pub use read_memory::read_memory;
pub use resume::{Resume, resume};
pub use seize::{Follow, seize};
pub use spawn::{HeldChild, MARK_OPTION, OpenedChild, SpawnPlan, spawn_held};
pub use syscall_info::{SyscallStop, syscall_info};
pub use wait::{Change, Ended, Event, Wait, Waited, wait};
pub use waker::{WakeChild, Waker};

use rustix::io::Errno;

use crate::{Call, CallError, Result};

/// A thread's id as the caller's pid namespace has it; always positive.
pub type Tid = i32;

/// Converts a return value of the C library's `-1` convention to a [`Result`].
fn checked(call: Call, answer: libc::c_long) -> Result<libc::c_long> {
    if answer == -1 { Err(last(call)) } else { Ok(answer) }
}

/// Returns the error that the C library left in this thread's `errno`.
fn last(call: Call) -> CallError {
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    CallError::new(call, Errno::from_raw_os_error(code))
}
