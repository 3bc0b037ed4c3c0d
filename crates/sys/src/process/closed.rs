//! Which of the standard descriptors were closed when the process began.
//!
//! The standard library opens `/dev/null` in their place before `main`, which keeps files that are
//! opened later from becoming standard output by accident. But whoever closed them is owed an error
//! where something was to be written, so this looks before.

use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each of the three.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// A standard descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Descriptor 0.
    Input,
    /// Descriptor 1.
    Output,
    /// Descriptor 2.
    Error,
}

extern "C" fn look() {
    for fd in 0..3 {
        // SAFETY: asking for the flags of a descriptor touches no memory; nothing of the library is
        // used before it is set up.
        let is_open = unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1;
        if !is_open {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
}

// SAFETY: the section holds addresses of functions that the loader calls before `main`, and `look`
// is one that needs nothing.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Tells whether a standard descriptor was closed when the process began.
#[must_use]
pub fn was_closed(which: Standard) -> bool {
    let bit = match which {
        Standard::Input => 1,
        Standard::Output => 2,
        Standard::Error => 4,
    };
    CLOSED.load(Ordering::Relaxed) & bit != 0
}
