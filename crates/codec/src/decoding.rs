//! What the decoder of one format does, and what it tells at the end.

use crate::error::DecodeError;
use crate::input::Input;

/// How a stream is to be decompressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecodePlan {
    /// Workers that decompress at the same time, where the stream allows it.
    pub jobs: usize,
    /// What becomes of bytes behind the last gzip member that are no member.
    pub garbage: Garbage,
    /// Memory that it may take.
    pub memory: Memory,
}

/// Memory that decompressing may take beyond what any stream needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Bytes of frames and blocks that are decompressed at the same time. One of them is always.
    pub in_flight_bytes: u64,
    /// Bytes of the largest window of Zstandard: what a frame may refer to. A larger one is refused.
    pub window_bytes: u64,
}

impl Memory {
    /// The window that `zstd -d` accepts without an option: 128 MiB.
    pub const WINDOW_BYTES: u64 = 1 << 27;
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { in_flight_bytes: 512 << 20, window_bytes: Memory::WINDOW_BYTES }
    }
}

/// What becomes of bytes behind the last gzip member that are no member, and of a stream in no known format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Garbage {
    /// They are ignored; the [`Summary`] tells that there were some. The stream is refused.
    #[default]
    Ignore,
    /// Both are passed on unchanged.
    Pass,
}

/// What lies behind the last member of a gzip stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trailing {
    /// Nothing.
    #[default]
    Nothing,
    /// Only zeros, as tapes and block devices have them.
    Zeros,
    /// Other bytes, which are ignored.
    Garbage,
}

/// Facts about a stream that was read to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Compressed bytes, with everything that was ignored.
    pub bytes_in: u64,
    /// Original bytes.
    pub bytes_out: u64,
    /// Members of a gzip stream.
    pub members: u64,
    /// Original bytes of the last member, or of the stream, where the format has no members.
    pub last_bytes: u64,
    /// CRC-32 of the last member of a gzip stream.
    pub check: Option<u32>,
    /// Segments of a gzip stream that workers decompressed, where the stream allowed it.
    pub by_workers: u64,
    /// What was ignored.
    pub trailing: Trailing,
    /// Whether a ZIP archive has further entries, which were ignored.
    pub has_more_entries: bool,
}

/// The decoder of one format.
pub(crate) trait Decode: Send {
    /// Returns the next bytes, at least one, or `None` at the end.
    fn next(&mut self, input: &mut Input) -> Result<Option<Vec<u8>>, DecodeError>;

    /// Returns what is known at the end; the decoder of the stream counts the bytes.
    fn summary(&self) -> Summary;
}
