//! The answer to the process that found a file, about a part of it.

use haul_io::block_digests::Piece;

use crate::data::wire::{Malformed, Put, Take};
use crate::peers::Answer;

/// What became of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PartAnswer {
    /// Nothing, or not all of it; what was written is on stable storage.
    NotMoved,
    /// Something was written, and may reach the file later.
    NotFlushed,
    /// All bytes are on stable storage. These are their digests, if there are any.
    Arrived(Vec<Piece>),
}

impl PartAnswer {
    pub(crate) fn encode(&self) -> Answer {
        let mut put = Put::default();
        match self {
            PartAnswer::NotMoved => {}
            PartAnswer::NotFlushed => put.flag(false),
            PartAnswer::Arrived(pieces) => {
                put.flag(true);
                put.list(pieces.iter(), |put, piece| {
                    put.number(piece.offset);
                    put.number(piece.bytes);
                    put.bytes(piece.digest());
                });
            }
        }
        put.0
    }

    /// Returns what an answer says. One of another version, which cannot be read, says nothing about what
    /// may reach the file later.
    pub(crate) fn decode(answer: &[u8]) -> PartAnswer {
        if answer.is_empty() {
            return PartAnswer::NotMoved;
        }
        arrived(&mut Take(answer)).map_or(PartAnswer::NotFlushed, PartAnswer::Arrived)
    }
}

/// Returns the digests of a part that has arrived.
fn arrived(take: &mut Take<'_>) -> Result<Vec<Piece>, Malformed> {
    if !take.flag()? {
        return Err(Malformed);
    }
    let piece = |take: &mut Take<'_>| -> Result<Piece, Malformed> {
        let (offset, bytes) = (take.number()?, take.number()?);
        Ok(Piece::new(offset, bytes, take.bytes()?))
    };
    let pieces = take.list(piece)?;
    take.end()?;
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_says_that_a_part_has_arrived() {
        let pieces = vec![Piece::new(5, 6, &[7; 32]), Piece::new(11, 1, &[8; 32])];
        let answer = PartAnswer::Arrived(pieces);
        let whole = answer.encode();
        for answer in
            [answer, PartAnswer::Arrived(Vec::new()), PartAnswer::NotMoved, PartAnswer::NotFlushed]
        {
            assert_eq!(PartAnswer::decode(&answer.encode()), answer);
        }
        for length in 1..whole.len() {
            assert_eq!(PartAnswer::decode(&whole[..length]), PartAnswer::NotFlushed);
        }
        assert_eq!(PartAnswer::decode(&[whole, vec![0]].concat()), PartAnswer::NotFlushed);
    }
}
