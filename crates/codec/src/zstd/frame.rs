//! The layout of frames, as far as it is needed to find their ends without decompressing them.

use crate::error::DecodeError;
use crate::input::Input;

/// The first bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes of the magic number and the size of a skippable frame.
pub(super) const SKIPPABLE_HEADER_BYTES: usize = 8;

/// Bytes of a frame's header at most.
const HEADER_BYTES_MAX: usize = 18;

/// Content of a frame that is decompressed in one piece at most: our frames are smaller by default.
/// Larger ones are decompressed in order.
pub(super) const CONTENT_BYTES_MAX: u64 = 64 << 20;

/// What comes next in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A frame that is read completely: its bytes, and those of its content.
    Whole { bytes: usize, content: usize },
    /// A frame that is decompressed as it comes, or data that are no frame.
    Frame,
    /// Bytes that are skipped, with their header.
    Skippable(u64),
    /// Something else.
    Unknown,
    /// Nothing.
    End,
}

/// Returns the magic number and the size of a skippable frame with this content.
pub(super) fn skippable_header(variant: u8, bytes: u32) -> [u8; SKIPPABLE_HEADER_BYTES] {
    let [a, b, c, d] = bytes.to_le_bytes();
    [0x50 | (variant & 15), 0x2a, 0x4d, 0x18, a, b, c, d]
}

/// Returns the size of the content of a skippable frame that begins with these bytes.
pub(super) fn skippable_bytes(bytes: &[u8]) -> Option<u32> {
    match bytes {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] => {
            Some(u32::from_le_bytes([*a, *b, *c, *d]))
        }
        _ => None,
    }
}

/// Looks at what comes next. Frames whose content has so many bytes at most are read completely.
pub(super) fn look(input: &mut Input, whole_bytes: u64) -> Result<Ahead, DecodeError> {
    if !input.fill(1)? {
        return Ok(Ahead::End);
    }
    input.fill(HEADER_BYTES_MAX)?;
    let bytes = input.bytes();
    if let Some(content) = skippable_bytes(bytes) {
        return Ok(Ahead::Skippable(SKIPPABLE_HEADER_BYTES as u64 + u64::from(content)));
    }
    if !bytes.starts_with(&MAGIC) {
        let is_begun = MAGIC.starts_with(bytes) || (bytes.len() < 8 && is_skippable_begun(bytes));
        return Ok(if is_begun { Ahead::Frame } else { Ahead::Unknown });
    }
    let Some(header) = Header::read(bytes).filter(|_| whole_bytes > 0) else {
        return Ok(Ahead::Frame);
    };
    match header.content {
        Some(content) if content <= whole_bytes => whole(input, &header, content),
        _ => Ok(Ahead::Frame),
    }
}

fn is_skippable_begun(bytes: &[u8]) -> bool {
    let rest = [0x2a, 0x4d, 0x18];
    matches!(bytes, [0x50..=0x5f, behind @ ..] if rest.iter().zip(behind).all(|(a, b)| a == b))
}

struct Header {
    bytes: usize,
    content: Option<u64>,
    has_checksum: bool,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Header> {
        let descriptor = *bytes.get(4)?;
        let is_single = descriptor & 0x20 != 0;
        let window = usize::from(!is_single);
        let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?;
        let size = match descriptor >> 6 {
            0 => usize::from(is_single),
            power => 1 << power,
        };
        let at = 5 + window + dictionary;
        let field = bytes.get(at..at + size)?;
        let number = field.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let content = match size {
            0 => None,
            2 => Some(number + 256),
            _ => Some(number),
        };
        Some(Header { bytes: at + size, content, has_checksum: descriptor & 4 != 0 })
    }
}

/// Reads blocks up to the last one of a frame. No frame is much longer than its content.
fn whole(input: &mut Input, header: &Header, content: u64) -> Result<Ahead, DecodeError> {
    let content = usize::try_from(content).unwrap_or(usize::MAX);
    let most = content + content / 64 + (1 << 10);
    let mut at = header.bytes;
    loop {
        if !input.fill(at + 3)? {
            return Ok(Ahead::Frame);
        }
        let Some(&[a, b, c]) = input.bytes().get(at..at + 3) else { return Ok(Ahead::Frame) };
        let block = u32::from_le_bytes([a, b, c, 0]);
        let bytes = match block >> 1 & 3 {
            0 | 2 => (block >> 3) as usize,
            1 => 1,
            _ => return Ok(Ahead::Frame),
        };
        at += 3 + bytes;
        if at > most {
            return Ok(Ahead::Frame);
        }
        if block & 1 == 1 {
            break;
        }
    }
    let bytes = at + if header.has_checksum { 4 } else { 0 };
    Ok(if input.fill(bytes)? { Ahead::Whole { bytes, content } } else { Ahead::Frame })
}
