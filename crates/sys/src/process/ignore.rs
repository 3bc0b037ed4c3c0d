//! `signal(SIG_IGN)` — lets a signal pass without effect:
//! <https://man7.org/linux/man-pages/man2/signal.2.html>

/// A signal that a tool may be asked to ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ignorable {
    /// What a terminal sends when somebody interrupts (`SIGINT`).
    Interrupt,
    /// What a write to a pipe that nobody reads sends (`SIGPIPE`); the write fails with `EPIPE`.
    BrokenPipe,
}

/// Ignores a signal from here on, in this process and in what it starts.
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
