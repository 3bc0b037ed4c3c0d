//! Decompresses what `pack` wrote: one Huffman code for all bytes of a file, and one for its end.
//!
//! In each length the inner nodes of the tree have the lowest numbers and the leaves the ones behind
//! them, so a number of bits is a leaf's if it is not below the number of inner nodes.

use crate::decoding::{Decode, Summary, Trailing};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::piece::Pieces;

/// The longest code.
const CODE_BITS_MAX: usize = 25;

/// Bytes that are made before they are returned.
const STEP_BYTES: usize = 256 << 10;

/// The leaves of one length.
#[derive(Clone, Debug, Default)]
struct Level {
    inner: u32,
    bytes: Vec<u8>,
}

/// Reads codes.
pub(crate) struct Pack {
    /// By length, from 1; empty before the header.
    levels: Vec<Level>,
    said: u32,
    bits: (u8, u8),
    bytes: u64,
    trailing: Trailing,
    has_ended: bool,
}

impl Pack {
    pub(crate) fn new() -> Pack {
        Pack {
            levels: Vec::new(),
            said: 0,
            bits: (0, 0),
            bytes: 0,
            trailing: Trailing::Nothing,
            has_ended: false,
        }
    }

    fn header(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        let mut byte = || input.byte()?.ok_or(DecodeError::Data(Damage::UnexpectedEnd));
        let _magic = (byte()?, byte()?);
        self.said = u32::from_be_bytes([byte()?, byte()?, byte()?, byte()?]);
        let deepest = usize::from(byte()?);
        if !(1..=CODE_BITS_MAX).contains(&deepest) {
            return Err(Damage::CodeLength.into());
        }
        let (mut counts, mut nodes, mut leaves) = (Vec::new(), 1_u32, 0);
        for level in 1..=deepest {
            nodes *= 2;
            // Of the deepest level two leaves are not counted: the last byte's and the end's.
            let count = u32::from(byte()?) + if level == deepest { 2 } else { 0 };
            leaves += count;
            let is_room = if level == deepest { count <= nodes } else { count < nodes };
            if !is_room || leaves > 257 {
                return Err(Damage::CodeTable.into());
            }
            nodes -= count;
            counts.push(count);
        }
        if nodes > 0 {
            return Err(Damage::CodeTableIncomplete.into());
        }
        let mut inner = 1_u32;
        for (index, count) in counts.iter().enumerate() {
            inner = 2 * inner - count;
            let named = if index + 1 == deepest { count - 1 } else { *count };
            let bytes = (0..named).map(|_| byte()).collect::<Result<_, _>>()?;
            self.levels.push(Level { inner, bytes });
        }
        Ok(())
    }

    fn bit(&mut self, input: &mut Input) -> Result<u32, DecodeError> {
        if self.bits.1 == 0 {
            let byte = input.byte()?.ok_or(DecodeError::Data(Damage::UnexpectedEnd))?;
            self.bits = (byte, 8);
        }
        self.bits.1 -= 1;
        Ok(u32::from(self.bits.0 >> self.bits.1 & 1))
    }

    /// Reads a code; `None` is the end.
    fn symbol(&mut self, input: &mut Input) -> Result<Option<u8>, DecodeError> {
        let mut number = 0;
        for index in 0..self.levels.len() {
            number = number << 1 | self.bit(input)?;
            let Some(level) = self.levels.get(index) else { break };
            if number >= level.inner {
                let leaf = (number - level.inner) as usize;
                // The last leaf of the deepest level has no byte.
                return Ok(level.bytes.get(leaf).copied());
            }
        }
        Err(Damage::CodeTable.into())
    }

    fn end(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        self.has_ended = true;
        if (self.bytes & 0xffff_ffff) as u32 != self.said {
            return Err(Damage::Length.into());
        }
        while let Some(byte) = input.byte()? {
            if byte != 0 {
                self.trailing = Trailing::Garbage;
                break;
            }
            self.trailing = Trailing::Zeros;
        }
        Ok(())
    }
}

impl Decode for Pack {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        if self.levels.is_empty() {
            self.header(input)?;
        }
        let mut pieces = Pieces::default();
        while !self.has_ended && pieces.bytes() < STEP_BYTES {
            match self.symbol(input)? {
                Some(byte) => {
                    pieces.extend(&[byte]);
                    self.bytes += 1;
                }
                None => self.end(input)?,
            }
        }
        let piece = pieces.into_pieces().concat();
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn summary(&self) -> Summary {
        Summary { last_bytes: self.bytes, trailing: self.trailing, ..Summary::default() }
    }
}
