//! `signal(SIG_IGN)` — ignores a signal:
//! <https://man7.org/linux/man-pages/man2/signal.2.html>

/// A signal that a tool may be asked to ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignorable {
    /// `SIGINT`, which a terminal sends on the interrupt key.
    Interrupt,
    /// `SIGPIPE`, which a write to a pipe without readers causes; the write fails with `EPIPE`.
    BrokenPipe,
}

/// Ignores a signal from now on, in this process and in its future children.
pub fn ignore(signal: Ignorable) {
    let number = match signal {
        Ignorable::Interrupt => libc::SIGINT,
        Ignorable::BrokenPipe => libc::SIGPIPE,
    };
    // SAFETY: setting a signal's action to be ignored touches no memory.
    unsafe {
        libc::signal(number, libc::SIG_IGN);
    }
}
