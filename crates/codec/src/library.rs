//! Decoders of libraries that take bytes as they come: one loop for all of them.

use crate::decoding::{Decode, Summary, Trailing};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::piece::PIECE_BYTES;

/// What one call of a library did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) consumed: usize,
    pub(crate) produced: usize,
    /// Whether the stream may end behind what was consumed.
    pub(crate) may_end: bool,
}

/// A library's decoder.
pub(crate) trait Library: Send {
    /// Decodes bytes into room. At the end of the input, `is_end` is set.
    fn step(&mut self, bytes: &[u8], room: &mut [u8], is_end: bool) -> Result<Step, Damage>;

    /// Returns what was ignored behind the last stream.
    fn trailing(&self) -> Trailing {
        Trailing::Nothing
    }
}

/// Decodes a whole stream, in order, by a library.
pub(crate) struct InOrder<L> {
    library: L,
    may_end: bool,
    bytes: u64,
    failed: Option<Damage>,
}

impl<L: Library> InOrder<L> {
    pub(crate) fn new(library: L) -> InOrder<L> {
        InOrder { library, may_end: false, bytes: 0, failed: None }
    }
}

impl<L: Library> Decode for InOrder<L> {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        if let Some(damage) = self.failed {
            return Err(damage.into());
        }
        let mut piece = vec![0; PIECE_BYTES];
        let mut filled = 0;
        while let Some(room) = piece.get_mut(filled..).filter(|room| !room.is_empty()) {
            let is_end = !input.fill(1)?;
            let step = match self.library.step(input.bytes(), room, is_end) {
                Ok(step) => step,
                Err(damage) => {
                    self.failed = Some(damage);
                    break;
                }
            };
            input.take(step.consumed);
            filled += step.produced;
            self.may_end = step.may_end;
            if is_end && step.produced == 0 && (step.may_end || step.consumed == 0) {
                self.failed = Some(Damage::UnexpectedEnd).filter(|_| !step.may_end);
                break;
            }
        }
        piece.truncate(filled);
        self.bytes += filled as u64;
        match self.failed {
            // What precedes an error is returned before it.
            Some(damage) if piece.is_empty() => Err(damage.into()),
            _ => Ok((!piece.is_empty()).then_some(piece)),
        }
    }

    fn summary(&self) -> Summary {
        let trailing = self.library.trailing();
        Summary { last_bytes: self.bytes, trailing, ..Summary::default() }
    }
}
