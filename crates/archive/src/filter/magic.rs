//! Tells a compressed archive by its first bytes.

use super::Filter;

/// Bytes that are needed.
pub const MAGIC_BYTES: usize = 13;

/// Returns the format that data with these first bytes have, or `None` if they are not compressed.
#[must_use]
pub fn of_magic(bytes: &[u8]) -> Option<Filter> {
    match bytes {
        [0x1f, 0x8b, ..] => Some(Filter::Gzip),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Filter::Bzip2),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Filter::Xz),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Filter::Zstd),
        // A skippable frame, which a seekable file may begin with.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Filter::Zstd),
        // Properties, a dictionary of a power of two, and a size of less than 256 GiB or none.
        [0x5d, 0, 0, _, _, _, _, _, _, _, 0, 0, 0, ..]
        | [0x5d, 0, 0, _, _, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..] => {
            Some(Filter::Lzma)
        }
        _ => None,
    }
}
