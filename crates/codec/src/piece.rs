//! Pieces: the unit in which a decoder returns bytes. A frame of Zstandard that a worker decompressed is a
//! piece of its own.

/// Bytes of any other piece at most: in the processor's cache while it is written.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Bytes of the first piece at least: what most small members and files have.
const PIECE_BYTES_MIN: usize = 16 << 10;

/// Times that data are longer than their compressed form, at a guess.
const EXPANSION: usize = 4;

/// Pieces that are filled one after the other.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// Bytes of the first piece: memory is zeroed before it is filled.
    first_bytes: usize,
    complete: Vec<Vec<u8>>,
    open: Vec<u8>,
    /// Bytes of the open piece that are filled.
    filled: usize,
    /// Bytes of all pieces.
    bytes: usize,
}

impl Default for Pieces {
    fn default() -> Pieces {
        Pieces {
            first_bytes: PIECE_BYTES,
            complete: Vec::new(),
            open: Vec::new(),
            filled: 0,
            bytes: 0,
        }
    }
}

impl Pieces {
    /// Makes pieces for what so many compressed bytes become: the first one is about as long as that.
    pub(crate) fn of_compressed(bytes: usize) -> Pieces {
        let expected = bytes.saturating_mul(EXPANSION);
        let first_bytes = expected.clamp(PIECE_BYTES_MIN, PIECE_BYTES);
        Pieces { first_bytes, ..Pieces::default() }
    }

    /// Returns room for at least one byte.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.filled == self.open.len() {
            let bytes = if self.bytes == 0 { self.first_bytes } else { PIECE_BYTES };
            let full = std::mem::replace(&mut self.open, vec![0; bytes]);
            if !full.is_empty() {
                self.complete.push(full);
            }
            self.filled = 0;
        }
        &mut self.open[self.filled..]
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

    /// Drops all bytes but the first.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        let mut pieces = std::mem::take(self).into_pieces();
        let mut left = bytes;
        for piece in &mut pieces {
            piece.truncate(left);
            left -= piece.len();
        }
        pieces.retain(|piece| !piece.is_empty());
        let bytes = pieces.iter().map(Vec::len).sum();
        *self = Pieces { complete: pieces, bytes, ..Pieces::default() };
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

    #[test]
    fn small_data_take_little_memory() {
        let mut pieces = Pieces::of_compressed(200);
        assert_eq!(pieces.room().len(), PIECE_BYTES_MIN);
        pieces.advance(PIECE_BYTES_MIN);
        assert_eq!(pieces.room().len(), PIECE_BYTES, "they were longer than expected");
        assert_eq!(Pieces::of_compressed(1 << 20).room().len(), PIECE_BYTES);
    }

    #[test]
    fn what_is_cut_off_is_gone() {
        for bytes in [0, 1, PIECE_BYTES, PIECE_BYTES + 1, PIECE_BYTES + 999, PIECE_BYTES + 1000] {
            let mut pieces = Pieces::default();
            pieces.extend(&vec![7; PIECE_BYTES + 1000]);
            pieces.truncate(bytes);
            assert_eq!(pieces.bytes(), bytes);
            let pieces = pieces.into_pieces();
            assert_eq!(pieces.concat(), vec![7; bytes]);
            assert!(pieces.iter().all(|piece| !piece.is_empty()));
        }
    }
}
