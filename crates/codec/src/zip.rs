//! The first entry of a ZIP archive, which gzip can read.

use zlib_rs::Inflate;

use crate::decoding::{Decode, Summary};
use crate::error::{Damage, DecodeError};
use crate::gzip::{StreamEnd, inflate, raw_inflate};
use crate::input::Input;
use crate::piece::Pieces;

/// Bytes of a local header without name and extra field.
const HEADER_BYTES: usize = 30;

const ENCRYPTED: u16 = 1;

/// Sums and sizes follow the data.
const DESCRIPTOR: u16 = 8;

/// Bytes of a data descriptor with its signature.
const DESCRIPTOR_BYTES: usize = 16;

/// The entry's data.
enum Data {
    Deflated(Box<Inflate>),
    /// Bytes that are left.
    Stored(u64),
}

/// Reads the first entry.
pub(crate) struct Zip {
    /// `None` before the header.
    data: Option<Data>,
    said: Option<(u32, u32)>,
    check: crc32fast::Hasher,
    bytes: u64,
    has_more_entries: bool,
    has_ended: bool,
}

impl Zip {
    pub(crate) fn new() -> Zip {
        Zip {
            data: None,
            said: None,
            check: crc32fast::Hasher::new(),
            bytes: 0,
            has_more_entries: false,
            has_ended: false,
        }
    }

    fn header(&mut self, input: &mut Input) -> Result<Data, DecodeError> {
        if !input.fill(HEADER_BYTES)? {
            return Err(Damage::ZipHeader.into());
        }
        let header = input.bytes()[..HEADER_BYTES].to_vec();
        let short = |at: usize| match header.get(at..at + 2) {
            Some(&[low, high]) => u16::from_le_bytes([low, high]),
            _ => 0,
        };
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let (flags, method) = (short(6), short(8));
        let (check, packed, length) = (long(14), long(18), long(22));
        let whole = HEADER_BYTES + usize::from(short(26)) + usize::from(short(28));
        if !input.fill(whole)? {
            return Err(Damage::ZipHeader.into());
        }
        if flags & ENCRYPTED != 0 {
            return Err(Damage::ZipEncrypted.into());
        }
        if flags & DESCRIPTOR == 0 {
            self.said = Some((check, length));
        }
        input.take(whole);
        match method {
            8 => Ok(Data::Deflated(Box::new(raw_inflate()))),
            0 if packed != length => Err(Damage::Length.into()),
            0 => Ok(Data::Stored(u64::from(length))),
            _ => Err(Damage::ZipMethod.into()),
        }
    }

    /// Compares sum and length, and looks at what follows.
    fn end(&mut self, input: &mut Input) -> Result<(), DecodeError> {
        let (check, length) = match self.said {
            Some(said) => said,
            None => {
                if !input.fill(DESCRIPTOR_BYTES)? {
                    return Err(Damage::UnexpectedEnd.into());
                }
                let number = |at: usize| {
                    let field = input.bytes().get(at..at + 4);
                    field.and_then(|field| field.try_into().ok()).map_or(0, u32::from_le_bytes)
                };
                let said = (number(4), number(12));
                input.take(DESCRIPTOR_BYTES);
                said
            }
        };
        if self.check.clone().finalize() != check {
            return Err(Damage::Checksum.into());
        }
        if (self.bytes & 0xffff_ffff) as u32 != length {
            return Err(Damage::Length.into());
        }
        self.has_more_entries = input.fill(4)? && input.bytes().starts_with(b"PK\x03\x04");
        self.has_ended = true;
        Ok(())
    }
}

impl Decode for Zip {
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError> {
        if self.has_ended {
            return Ok(None);
        }
        let mut data = match self.data.take() {
            Some(data) => data,
            None => self.header(input)?,
        };
        let mut pieces = Pieces::default();
        let mut is_complete = false;
        while pieces.bytes() == 0 && !is_complete {
            if matches!(data, Data::Stored(0)) {
                break;
            }
            if !input.fill(1)? {
                return Err(Damage::UnexpectedEnd.into());
            }
            match &mut data {
                Data::Deflated(state) => {
                    let did = inflate(state, input.bytes(), pieces.room());
                    pieces.advance(did.produced);
                    input.take(did.consumed);
                    match did.end {
                        StreamEnd::Damaged => return Err(Damage::Format.into()),
                        end => is_complete = end == StreamEnd::Final,
                    }
                }
                Data::Stored(left) => {
                    let room = pieces.room().len() as u64;
                    let count = room.min(*left).min(input.bytes().len() as u64);
                    *left -= count;
                    let count = usize::try_from(count).unwrap_or(0);
                    pieces.extend(&input.bytes()[..count]);
                    input.take(count);
                }
            }
        }
        self.bytes += pieces.bytes() as u64;
        let piece = pieces.into_pieces().concat();
        self.check.update(&piece);
        if is_complete || matches!(data, Data::Stored(0)) {
            self.end(input)?;
        }
        self.data = Some(data);
        Ok((!piece.is_empty()).then_some(piece))
    }

    fn summary(&self) -> Summary {
        Summary {
            last_bytes: self.bytes,
            has_more_entries: self.has_more_entries,
            ..Summary::default()
        }
    }
}
