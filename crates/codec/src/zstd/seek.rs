//! Where each frame of a file is: the table of Zstandard's seekable format, in a skippable frame at
//! the end, which every other reader skips.

use super::frame::{SKIPPABLE_HEADER_BYTES, skippable_bytes, skippable_header};

/// The last bytes of a file with a table.
const MAGIC: [u8; 4] = 0x8f92_eab1_u32.to_le_bytes();

/// Bytes of the number of frames, the descriptor and the magic number.
const FOOTER_BYTES: usize = 9;

/// Variants of skippable frames: the seekable format's, and the one of attached bytes.
const TABLE_VARIANT: u8 = 0xe;
const ATTACHED_VARIANT: u8 = 0xd;

/// Frames in a table at most, by the seekable format.
const FRAMES_MAX: usize = 0x0800_0000;

/// The descriptor's bit for check sums of frames.
const HAS_CHECKSUMS: u8 = 0x80;

/// A frame of a seekable file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekableFrame {
    /// Bytes in the file.
    pub bytes: u32,
    /// Bytes of its content; 0 if it is skipped.
    pub content_bytes: u32,
}

/// The frames of a seekable file, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeekTable {
    frames: Vec<SeekableFrame>,
    /// Whether the table cannot say what was added.
    is_full: bool,
}

impl SeekTable {
    /// Returns the frames.
    #[must_use]
    pub fn frames(&self) -> &[SeekableFrame] {
        &self.frames
    }

    pub(super) fn add(&mut self, bytes: u64, content_bytes: u64) {
        match (u32::try_from(bytes), u32::try_from(content_bytes)) {
            (Ok(bytes), Ok(content_bytes)) if self.frames.len() < FRAMES_MAX => {
                self.frames.push(SeekableFrame { bytes, content_bytes });
            }
            _ => self.is_full = true,
        }
    }

    /// Returns what is behind the last frame: the attached bytes, if any, and the table.
    pub(super) fn tail(&mut self, attached: &[u8]) -> Vec<u8> {
        let mut tail = Vec::new();
        if let Some(bytes) = u32::try_from(attached.len()).ok().filter(|bytes| *bytes > 0) {
            tail.extend_from_slice(&skippable_header(ATTACHED_VARIANT, bytes));
            tail.extend_from_slice(attached);
            self.add(tail.len() as u64, 0);
        }
        let bytes = self.frames.len() * 8 + FOOTER_BYTES;
        let Some(bytes) = u32::try_from(bytes).ok().filter(|_| !self.is_full) else {
            return Vec::new();
        };
        tail.extend_from_slice(&skippable_header(TABLE_VARIANT, bytes));
        for frame in &self.frames {
            tail.extend_from_slice(&frame.bytes.to_le_bytes());
            tail.extend_from_slice(&frame.content_bytes.to_le_bytes());
        }
        let count = u32::try_from(self.frames.len()).unwrap_or(0);
        tail.extend_from_slice(&count.to_le_bytes());
        tail.push(0);
        tail.extend_from_slice(&MAGIC);
        tail
    }

    /// Returns the bytes of the whole table of a file that ends in these bytes, at least nine; `None`
    /// if it has none.
    #[must_use]
    pub fn table_bytes(end: &[u8]) -> Option<usize> {
        let footer = end.last_chunk::<FOOTER_BYTES>()?;
        let [a, b, c, d, descriptor, magic @ ..] = *footer;
        let count = u32::from_le_bytes([a, b, c, d]) as usize;
        if magic != MAGIC || descriptor & !HAS_CHECKSUMS != 0 || count > FRAMES_MAX {
            return None;
        }
        let entry = if descriptor & HAS_CHECKSUMS != 0 { 12 } else { 8 };
        Some(SKIPPABLE_HEADER_BYTES + count * entry + FOOTER_BYTES)
    }

    /// Reads a table, of which these are all bytes, of a file of this size. `None` if it does not
    /// describe exactly the bytes before it.
    #[must_use]
    pub fn read(table: &[u8], file_bytes: u64) -> Option<SeekTable> {
        if SeekTable::table_bytes(table)? != table.len() {
            return None;
        }
        let content = skippable_bytes(table)? as usize;
        if content + SKIPPABLE_HEADER_BYTES != table.len() {
            return None;
        }
        let footer = table.len() - FOOTER_BYTES;
        let has_checksums = table.get(footer + 4)? & HAS_CHECKSUMS != 0;
        let entries = table.get(SKIPPABLE_HEADER_BYTES..footer)?;
        let frames: Vec<SeekableFrame> = entries
            .chunks_exact(if has_checksums { 12 } else { 8 })
            .filter_map(|entry| {
                let (bytes, rest) = entry.split_first_chunk::<4>()?;
                let content_bytes = u32::from_le_bytes(*rest.first_chunk::<4>()?);
                Some(SeekableFrame { bytes: u32::from_le_bytes(*bytes), content_bytes })
            })
            .collect();
        let all: u64 = frames.iter().map(|frame| u64::from(frame.bytes)).sum();
        (all + table.len() as u64 == file_bytes).then_some(SeekTable { frames, is_full: false })
    }

    /// Returns the attached bytes of a frame that may have some.
    #[must_use]
    pub fn attached(frame: &[u8]) -> Option<&[u8]> {
        let (header, content) = frame.split_first_chunk::<SKIPPABLE_HEADER_BYTES>()?;
        let bytes = u32::try_from(content.len()).ok()?;
        (*header == skippable_header(ATTACHED_VARIANT, bytes)).then_some(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_describes_the_file_before_it() {
        let mut table = SeekTable::default();
        table.add(100, 1000);
        table.add(50, 700);
        let tail = table.tail(b"index");
        let file_bytes = 150 + tail.len() as u64;
        let bytes = SeekTable::table_bytes(&tail).unwrap();
        let found = SeekTable::read(&tail[tail.len() - bytes..], file_bytes).unwrap();
        assert_eq!(found.frames(), table.frames());
        assert_eq!(found.frames().len(), 3);
        assert_eq!(SeekTable::attached(&tail[..13]), Some(&b"index"[..]));
        assert_eq!(SeekTable::attached(&tail[..12]), None);
        assert_eq!(SeekTable::read(&tail[tail.len() - bytes..], file_bytes + 1), None);
        assert_eq!(SeekTable::table_bytes(&tail[..tail.len() - 1]), None);
    }
}
