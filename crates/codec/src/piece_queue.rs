//! The pieces that a decoder has ready, and how its stream ends behind them.
//!
//! A decoder works ahead of its caller, so it knows of an error before the caller has the bytes that
//! precede it. The queue returns them in the order of the stream: pieces, then the error, then
//! nothing.

use std::collections::VecDeque;

use crate::error::DecodeError;

/// Pieces in order, and the end.
#[derive(Debug, Default)]
pub(crate) struct PieceQueue {
    ready: VecDeque<Vec<u8>>,
    failed: Option<DecodeError>,
    has_ended: bool,
}

impl PieceQueue {
    /// Tells whether there is nothing to return and the stream goes on.
    pub(crate) fn wants_more(&self) -> bool {
        self.ready.is_empty() && self.failed.is_none() && !self.has_ended
    }

    /// Adds pieces, none of which is empty.
    pub(crate) fn add(&mut self, pieces: impl IntoIterator<Item = Vec<u8>>) {
        self.ready.extend(pieces);
    }

    /// Ends the stream with an error behind the pieces.
    pub(crate) fn fail(&mut self, error: DecodeError) {
        self.failed = Some(error);
    }

    /// Ends the stream behind the pieces.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Returns the next piece; behind the last one the error, once, and then `None`.
    pub(crate) fn take(&mut self) -> Result<Option<Vec<u8>>, DecodeError> {
        if let Some(piece) = self.ready.pop_front() {
            return Ok(Some(piece));
        }
        match self.failed.take() {
            Some(error) => {
                self.has_ended = true;
                Err(error)
            }
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Damage;

    #[test]
    fn pieces_come_before_the_error_and_the_error_once() {
        let mut queue = PieceQueue::default();
        assert!(queue.wants_more());
        queue.add([vec![1], vec![2]]);
        queue.fail(Damage::Checksum.into());
        assert_eq!(queue.take().unwrap(), Some(vec![1]));
        assert_eq!(queue.take().unwrap(), Some(vec![2]));
        assert!(!queue.wants_more());
        assert!(matches!(queue.take(), Err(DecodeError::Data(Damage::Checksum))));
        assert_eq!(queue.take().unwrap(), None);
        assert!(!queue.wants_more());
    }
}
