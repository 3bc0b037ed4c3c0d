//! Bytes in no format, passed on as they are.

use crate::decoding::{Decode, Summary};
use crate::error::DecodeError;
use crate::input::Input;
use crate::piece::PIECE_BYTES;

/// Passes bytes on.
pub(crate) struct Plain;

impl Decode for Plain {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        input.fill(1)?;
        let count = input.bytes().len().min(PIECE_BYTES);
        let piece = input.bytes()[..count].to_vec();
        input.take(count);
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn summary(&self) -> Summary {
        Summary::default()
    }
}
