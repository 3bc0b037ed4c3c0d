//! How threads are started: a library reads no environment variable for the size of their stacks.

use std::thread::Builder;

/// Stack of a thread: what the standard library gives, unless an environment variable of the program says
/// something else.
const STACK_BYTES: usize = 2 << 20;

/// Returns what starts a thread.
pub(crate) fn builder() -> Builder {
    Builder::new().stack_size(STACK_BYTES)
}
