//! Cutting into pieces of whole lines that are as large as possible but no larger than a limit.
//!
//! A line that is longer than the limit is cut. What is behind the last line end of a piece that is
//! not full is held until it is known whether the rest of its line fits.

use memchr::memrchr;

use super::{Pieces, Source};

struct Run<'p, P> {
    pieces: &'p mut P,
    limit: u64,
    end: u8,
    /// Bytes that the piece has.
    written: u64,
    /// The beginning of a line of which it is not known yet where it goes.
    held: Vec<u8>,
    /// Whether a line has ended in this piece.
    has_line: bool,
}

/// Pieces of at most this many bytes of whole lines, each of which ends in `end`.
pub fn by_line_bytes<P: Pieces>(
    limit: u64,
    end: u8,
    source: &mut dyn Source<P::Error>,
    pieces: &mut P,
) -> Result<(), P::Error> {
    let mut run = Run { pieces, limit, end, written: 0, held: Vec::new(), has_line: false };
    loop {
        let mut bytes = source.next()?;
        if bytes.is_empty() {
            return run.release();
        }
        while !bytes.is_empty() {
            bytes = run.take(bytes)?;
        }
    }
}

impl<P: Pieces> Run<'_, P> {
    fn write(&mut self, bytes: &[u8]) -> Result<(), P::Error> {
        if self.written == 0 {
            self.pieces.begin()?;
        }
        self.pieces.write(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn release(&mut self) -> Result<(), P::Error> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let written = self.write(&held);
        self.held = held;
        self.held.clear();
        written
    }

    /// Takes what belongs to this piece, and returns what is left.
    fn take<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], P::Error> {
        let room = self.limit - self.written - self.held.len() as u64;
        let (mut now, later) =
            bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
        let fills = now.len() as u64 == room;
        let line_end = memrchr(self.end, now);
        // What is held belongs here if its line ends here, or if there is nothing else here.
        if line_end.is_some() || self.written == 0 {
            self.release()?;
        }
        if let Some(at) = line_end {
            let (lines, rest) = now.split_at(at + 1);
            self.has_line = true;
            self.write(lines)?;
            now = rest;
        }
        if !now.is_empty() && !self.has_line {
            self.write(now)?;
            now = &[];
        }
        self.held.extend_from_slice(now);
        if fills {
            self.written = 0;
            self.has_line = false;
        }
        Ok(later)
    }
}
