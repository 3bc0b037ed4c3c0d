//! Text that one process relays to another one, which prints it.

/// Place where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
    /// The list of errors (`--errors`).
    List,
    /// What the process has found, which process 0 adds up. Not printed.
    Result,
}

/// Prints whole lines. Any thread may call it; it may block until there is room.
pub type Print = dyn Fn(Stream, &[u8]) + Send + Sync;
