//! The answer to the process that found a file: a part of it has arrived.

use haul_io::block_digests::Piece;

use crate::peers::Answer;
use crate::peers::wire::{Malformed, Put, Take};

/// Encodes the digests of a part of which all bytes are on stable storage.
pub(crate) fn arrived(pieces: &[Piece]) -> Answer {
    let mut put = Put::default();
    put.list(pieces.iter(), |put, piece| {
        put.number(piece.offset);
        put.number(piece.bytes);
        put.bytes(piece.digest());
    });
    put.0
}

/// Returns the digests; `None` if the part has not arrived.
pub(super) fn pieces_of(answer: &[u8]) -> Option<Vec<Piece>> {
    let mut take = Take(answer);
    let piece = |take: &mut Take<'_>| -> Result<Piece, Malformed> {
        let (offset, bytes) = (take.number()?, take.number()?);
        Ok(Piece::new(offset, bytes, take.bytes()?))
    };
    let pieces = take.list(piece).ok()?;
    take.end().ok()?;
    Some(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_says_that_a_part_has_arrived() {
        let pieces = [Piece::new(5, 6, &[7; 32]), Piece::new(11, 1, &[8; 32])];
        let whole = arrived(&pieces);
        assert_eq!(pieces_of(&whole).as_deref(), Some(&pieces[..]));
        assert_eq!(pieces_of(&arrived(&[])), Some(Vec::new()));
        for length in 0..whole.len() {
            assert_eq!(pieces_of(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(pieces_of(&[whole, vec![0]].concat()), None);
    }
}
