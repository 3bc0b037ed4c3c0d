//! Decompresses what `compress` wrote: adaptive codes that grow from 9 to 16 bits.
//!
//! Codes come in groups of eight, of as many bytes as a code has bits; when the width changes, the
//! rest of the group is filler.

use crate::decoding::{Decode, Summary};
use crate::error::{Damage, DecodeError};
use crate::input::Input;
use crate::piece::Pieces;

/// Magic number and flags.
const HEADER_BYTES: usize = 3;

/// The flag of data with codes that clear the table.
const BLOCK_MODE: u8 = 0x80;

const WIDTH_MASK: u8 = 0x1f;
const WIDTH_MIN: u8 = 9;
const WIDTH_MAX: u8 = 16;

/// The code that clears the table.
const CLEAR: usize = 256;

/// Bytes that are made before they are returned.
const STEP_BYTES: usize = 256 << 10;

/// Reads codes.
pub(crate) struct Lzw {
    /// `None` before the header.
    table: Option<Table>,
    bytes: u64,
    has_ended: bool,
}

/// The strings that codes stand for: each is that of another code, and a byte.
struct Table {
    prefixes: Vec<u16>,
    suffixes: Vec<u8>,
    /// The first code that has no string.
    free: usize,
    /// The first code that is not in use: 257 where there is a code that clears the table.
    first: usize,
    width: u8,
    most_width: u8,
    /// The code before.
    previous: Option<usize>,
    /// The first byte of its string.
    first_byte: u8,
    /// The string of a code, backwards.
    string: Vec<u8>,
}

/// What a code does to its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Continues,
    /// The width has changed, or the table was cleared.
    Ends,
}

impl Lzw {
    pub(crate) fn new() -> Lzw {
        Lzw { table: None, bytes: 0, has_ended: false }
    }
}

impl Table {
    fn new(flags: u8) -> Result<Table, Damage> {
        let most_width = flags & WIDTH_MASK;
        if most_width > WIDTH_MAX {
            return Err(Damage::CodeBits(most_width));
        }
        // With fewer bits than the first codes have, the width never grows.
        let most_width = most_width.max(WIDTH_MIN);
        let first = if flags & BLOCK_MODE != 0 { CLEAR + 1 } else { CLEAR };
        let size = 1 << most_width;
        Ok(Table {
            prefixes: vec![0; size],
            suffixes: (0..size).map(|code| (code & 0xff) as u8).collect(),
            free: first,
            first,
            width: WIDTH_MIN,
            most_width,
            previous: None,
            first_byte: 0,
            string: Vec::new(),
        })
    }

    /// Adds the string of a code to the output.
    fn code(&mut self, code: usize, pieces: &mut Pieces) -> Result<Group, Damage> {
        if code == CLEAR && self.first > CLEAR {
            (self.free, self.width, self.previous) = (self.first, WIDTH_MIN, None);
            return Ok(Group::Ends);
        }
        let Some(previous) = self.previous else {
            if code >= CLEAR {
                return Err(Damage::Code);
            }
            self.first_byte = (code & 0xff) as u8;
            self.previous = Some(code);
            pieces.extend(&[self.first_byte]);
            return Ok(Group::Continues);
        };
        if code > self.free {
            return Err(Damage::Code);
        }
        self.string.clear();
        let mut at = code;
        if code == self.free {
            // The string that is about to be added: the one before, and its own first byte.
            self.string.push(self.first_byte);
            at = previous;
        }
        while at >= CLEAR {
            self.string.push(*self.suffixes.get(at).ok_or(Damage::Code)?);
            let prefix = usize::from(*self.prefixes.get(at).ok_or(Damage::Code)?);
            // A string is made of earlier ones, so this ends.
            if prefix >= at {
                return Err(Damage::Code);
            }
            at = prefix;
        }
        self.first_byte = (at & 0xff) as u8;
        self.string.push(self.first_byte);
        self.string.reverse();
        pieces.extend(&self.string);
        self.previous = Some(code);
        Ok(self.add(previous))
    }

    /// Adds the string of the code before and the first byte of this one.
    fn add(&mut self, previous: usize) -> Group {
        if let (Some(prefix), Some(suffix)) =
            (self.prefixes.get_mut(self.free), self.suffixes.get_mut(self.free))
        {
            *prefix = (previous & 0xffff) as u16;
            *suffix = self.first_byte;
            self.free += 1;
        }
        if self.width < self.most_width && self.free >= 1 << self.width {
            self.width += 1;
            return Group::Ends;
        }
        Group::Continues
    }

    /// Reads a group of codes. Returns `false` at the end.
    fn group(&mut self, input: &mut Input, pieces: &mut Pieces) -> Result<bool, DecodeError> {
        let width = usize::from(self.width);
        let is_whole = input.fill(width)?;
        let length = input.bytes().len().min(width);
        let mut bytes = [0; 2 * WIDTH_MAX as usize];
        for (to, from) in bytes.iter_mut().zip(input.bytes().iter().take(length)) {
            *to = *from;
        }
        input.take(length);
        for index in 0..8 * length / width {
            let bit = index * width;
            let window = bytes.get(bit / 8..bit / 8 + 4).and_then(|window| window.try_into().ok());
            let word = window.map_or(0, u32::from_le_bytes) >> (bit % 8);
            let code = (word & ((1 << width) - 1)) as usize;
            if self.code(code, pieces)? == Group::Ends {
                break;
            }
        }
        Ok(is_whole)
    }
}

impl Decode for Lzw {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        let mut table = match self.table.take() {
            Some(table) => table,
            None => {
                if !input.fill(HEADER_BYTES)? {
                    return Err(Damage::UnexpectedEnd.into());
                }
                let table = Table::new(input.bytes().get(2).copied().unwrap_or(0))?;
                input.take(HEADER_BYTES);
                table
            }
        };
        let mut pieces = Pieces::default();
        while !self.has_ended && pieces.bytes() < STEP_BYTES {
            self.has_ended = !table.group(input, &mut pieces)?;
        }
        self.table = Some(table);
        self.bytes += pieces.bytes() as u64;
        let piece = pieces.into_pieces().concat();
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn summary(&self) -> Summary {
        Summary { last_bytes: self.bytes, ..Summary::default() }
    }
}
