//! Calls on rings: many requests in flight, driven by one thread.

mod probe;
mod queue;
mod ring;

pub use probe::{RingOperations, ring_operations};
pub use queue::{Asked, Finished, Queue};
pub use ring::{Completion, Operation, Ring, is_allowed};

use io_uring::IoUring;

use crate::{Call, CallError, Errno, Result};

fn call_error(call: Call, error: &std::io::Error) -> CallError {
    CallError::new(call, Errno::from_io_error(error).unwrap_or(Errno::IO))
}

/// Creates a ring for `depth` requests and checks that this process may use it: a system call
/// filter can allow one call and forbid the other, and the caller should learn that before it has
/// submitted data.
fn make(depth: usize) -> Result<IoUring> {
    let entries = u32::try_from(depth.max(1).next_power_of_two())
        .map_err(|_| CallError::new(Call::IoUringSetup, Errno::INVAL))?;
    // One thread submits and waits, so completions need not interrupt it (Linux 6.1).
    let ring = IoUring::builder()
        .setup_single_issuer()
        .setup_coop_taskrun()
        .build(entries)
        .or_else(|_| IoUring::new(entries))
        .map_err(|error| call_error(Call::IoUringSetup, &error))?;
    loop {
        match ring.submitter().submit() {
            Ok(_) => return Ok(ring),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(call_error(Call::IoUringSetup, &error)),
        }
    }
}
