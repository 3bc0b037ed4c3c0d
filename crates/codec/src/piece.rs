//! Pieces: the unit in which a decoder returns bytes. A frame of Zstandard that a worker decompressed is a
//! piece of its own.

/// Bytes of any other piece at most: in the processor's cache while it is written.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Pieces that are filled one after the other.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    complete: Vec<Vec<u8>>,
    open: Vec<u8>,
    /// Bytes of the open piece that are filled.
    filled: usize,
    /// Bytes of all pieces.
    bytes: usize,
}

impl Pieces {
    /// Returns room for at least one byte.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.open.len() {
            let full = std::mem::replace(&mut self.open, vec![0; PIECE_BYTES]);
            if !full.is_empty() {
                self.complete.push(full);
            }
            self.filled = 0;
        }
        self.open.get_mut(self.filled..).unwrap_or(&mut [])
    }

    /// Says that so many bytes of the room are filled.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.filled = (self.filled + bytes).min(self.open.len());
        self.bytes += bytes;
    }

    /// Adds bytes.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while !left.is_empty() {
            let room = self.room();
            let (now, later) = left.split_at(left.len().min(room.len()));
            if let Some(room) = room.get_mut(..now.len()) {
                room.copy_from_slice(now);
            }
            self.advance(now.len());
            left = later;
        }
    }

    /// Returns the number of bytes in all pieces.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns all pieces; none is empty.
    pub(crate) fn into_pieces(mut self) -> Vec<Vec<u8>> {
        self.open.truncate(self.filled);
        if !self.open.is_empty() {
            self.complete.push(self.open);
        }
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_what_was_added() {
        let bytes: Vec<u8> = (0..PIECE_BYTES + 1000).map(|at| (at % 251) as u8).collect();
        let mut pieces = Pieces::default();
        bytes.chunks(777).for_each(|part| pieces.extend(part));
        assert_eq!(pieces.bytes(), bytes.len());
        let pieces = pieces.into_pieces();
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE_BYTES, 1000]);
        assert_eq!(pieces.concat(), bytes);
        assert!(Pieces::default().into_pieces().is_empty());
    }
}
