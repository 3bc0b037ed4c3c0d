//! Where bytes come from and where pieces go: what the code that cuts needs of both.

/// Whether bytes were wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// They are where they belong.
    All,
    /// The reader of this piece takes no more bytes.
    Refused,
}

/// Pieces that are written one after the other.
pub trait Pieces {
    /// Why it cannot go on.
    type Error;

    /// Ends the piece that was being written, and begins the next.
    fn begin(&mut self) -> Result<(), Self::Error>;

    /// Writes bytes to the piece that was begun last.
    fn write(&mut self, bytes: &[u8]) -> Result<Taken, Self::Error>;
}

/// Pieces that are written in turns.
pub trait Turns {
    /// Why it cannot go on.
    type Error;

    /// Writes bytes to a piece.
    fn write(&mut self, piece: u64, bytes: &[u8]) -> Result<Taken, Self::Error>;
}

/// Bytes in order, a buffer at a time.
pub trait Source<E> {
    /// Returns the next bytes; none is the end.
    fn next(&mut self) -> Result<&[u8], E>;
}
