//! The header of a gzip member: written, and read as gzip reads it.

use crate::error::Damage;

/// The first two bytes of a member; the second pair is that of gzip before 1993.
pub(crate) const MAGICS: [[u8; 2]; 2] = [[0x1f, 0x8b], [0x1f, 0x9e]];

/// The second byte of the formats before gzip: `pack`, `compress`, `lzh`.
pub(super) const OLDER: [u8; 3] = [0x1e, 0x9d, 0xa0];

const DEFLATE: u8 = 8;
const HEADER_CRC: u8 = 0x02;
const EXTRA: u8 = 0x04;
const NAME: u8 = 0x08;
const COMMENT: u8 = 0x10;
const ENCRYPTED: u8 = 0x20;
const RESERVED: u8 = 0xc0;

/// The operating system in the header: Unix.
const UNIX: u8 = 3;

/// Bytes of a header without optional fields.
const FIXED_BYTES: usize = 10;

/// The longest header that is read: all optional fields, with a name or comment longer than any known.
const HEADER_BYTES_MAX: usize = 256 << 10;

/// What the header of a new member says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Modification time in seconds since 1970; 0 is none.
    pub mtime: u32,
    /// Name of the original file, without a directory.
    pub name: Option<Vec<u8>>,
}

impl Stamp {
    /// No name and no time.
    pub const NONE: Stamp = Stamp { mtime: 0, name: None };

    /// Returns the header of a member.
    pub(super) fn header(&self, level: u8) -> Vec<u8> {
        let flags = if self.name.is_some() { NAME } else { 0 };
        let extra = match level {
            1 => 4,
            9 => 2,
            _ => 0,
        };
        let mut bytes = vec![0x1f, 0x8b, DEFLATE, flags];
        bytes.extend_from_slice(&self.mtime.to_le_bytes());
        bytes.extend_from_slice(&[extra, UNIX]);
        if let Some(name) = &self.name {
            // The field ends at the first NUL.
            bytes.extend(name.iter().take_while(|byte| **byte != 0));
            bytes.push(0);
        }
        bytes
    }
}

/// What the header of a member says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Modification time in seconds since 1970; 0 is none.
    pub mtime: u32,
    /// Name of the original file, as it was written.
    pub name: Option<Vec<u8>>,
    /// Bytes of the extra field, where there is one.
    pub extra_bytes: Option<u16>,
    /// Bytes of the header.
    pub bytes: u64,
    /// Why a reader should not go on, although it can: reserved flags, a wrong check sum.
    pub doubt: Option<Damage>,
}

/// Reads the header at the beginning of these bytes; `None` if more are needed.
pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Header>, Damage> {
    let mut left = Fields { bytes, at: 2 };
    let Some(method) = left.byte() else { return Ok(None) };
    if method != DEFLATE {
        return Err(Damage::Method(method));
    }
    let Some(flags) = left.byte() else { return Ok(None) };
    if flags & ENCRYPTED != 0 {
        return Err(Damage::Encrypted);
    }
    let mut doubt = (flags & RESERVED != 0).then_some(Damage::Flags(flags));
    let Some(mtime) = bytes.get(4..8).and_then(|field| <[u8; 4]>::try_from(field).ok()) else {
        return Ok(None);
    };
    left.at = FIXED_BYTES;
    match left.optional(flags) {
        Some((name, extra_bytes)) => {
            if flags & HEADER_CRC != 0 {
                let computed = crc32fast::hash(bytes.get(..left.at).unwrap_or(bytes));
                let computed = (computed & 0xffff) as u16;
                let Some(said) = left.number() else { return Ok(None) };
                if said != computed {
                    doubt = Some(Damage::HeaderChecksum(said, computed));
                }
            }
            if bytes.len() < left.at {
                return Ok(None);
            }
            let mtime = u32::from_le_bytes(mtime);
            Ok(Some(Header { mtime, name, extra_bytes, bytes: left.at as u64, doubt }))
        }
        None if bytes.len() > HEADER_BYTES_MAX => Err(Damage::NameTooLarge),
        None => Ok(None),
    }
}

/// The optional fields of a header, one after the other.
struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Fields<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied()?;
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let rest = self.bytes.get(self.at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        let text = rest.get(..length)?.to_vec();
        self.at += length + 1;
        Some(text)
    }

    /// Reads name and length of the extra field; `None` if more bytes are needed.
    fn optional(&mut self, flags: u8) -> Option<(Option<Vec<u8>>, Option<u16>)> {
        let mut extra_bytes = None;
        if flags & EXTRA != 0 {
            let length = self.number()?;
            self.at += usize::from(length);
            extra_bytes = Some(length);
        }
        let name = if flags & NAME != 0 { Some(self.text()?) } else { None };
        if flags & COMMENT != 0 {
            self.text()?;
        }
        Some((name, extra_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let stamp = Stamp { mtime: 1234, name: Some(b"dump.sql".to_vec()) };
        let bytes = stamp.header(9);
        assert_eq!(bytes.len(), 10 + 9);
        assert_eq!(bytes[8..10], [2, 3]);
        let header = parse(&bytes).unwrap().unwrap();
        assert_eq!((header.mtime, header.name), (1234, stamp.name));
        assert_eq!((header.bytes, header.doubt), (19, None));
        for short in 2..bytes.len() {
            assert_eq!(parse(&bytes[..short]), Ok(None), "{short} bytes");
        }
    }

    #[test]
    fn all_fields_are_skipped_and_the_check_sum_is_compared() {
        let mut bytes = vec![0x1f, 0x8b, 8, EXTRA | NAME | COMMENT | HEADER_CRC, 0, 0, 0, 0, 0, 3];
        bytes.extend_from_slice(&[2, 0, b'x', b'y']);
        bytes.extend_from_slice(b"name\0comment\0");
        let crc = crc32fast::hash(&bytes) as u16;
        let good = [&bytes[..], &crc.to_le_bytes()].concat();
        let header = parse(&good).unwrap().unwrap();
        assert_eq!((header.extra_bytes, header.doubt), (Some(2), None));
        assert_eq!(header.bytes, good.len() as u64);
        let bad = [&bytes[..], &(crc ^ 1).to_le_bytes()].concat();
        let doubt = Some(Damage::HeaderChecksum(crc ^ 1, crc));
        assert_eq!(parse(&bad).unwrap().unwrap().doubt, doubt);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(parse(&[0x1f, 0x8b, 7]), Err(Damage::Method(7)));
        assert_eq!(parse(&[0x1f, 0x8b, 8, 0x20]), Err(Damage::Encrypted));
        let reserved = parse(&[0x1f, 0x8b, 8, 0x80, 0, 0, 0, 0, 0, 3]).unwrap().unwrap();
        assert_eq!(reserved.doubt, Some(Damage::Flags(0x80)));
        let mut long = vec![0x1f, 0x8b, 8, NAME, 0, 0, 0, 0, 0, 3];
        long.resize(HEADER_BYTES_MAX + 1, b'n');
        assert_eq!(parse(&long), Err(Damage::NameTooLarge));
    }
}
