//! What the encoder of one format does with the blocks of a stream.

use std::io;
use std::sync::Arc;

/// One block, compressed.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) bytes: Vec<u8>,
    /// Check sum of the original bytes, in the format's own kind.
    pub(crate) check: u32,
    pub(crate) bytes_in: u64,
}

/// A block to be compressed; the last one of a stream ends it.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_last: bool,
}

/// The compressor of one worker.
pub(crate) type Compress = Box<dyn FnMut(Job) -> io::Result<Compressed>>;

/// What a format adds to its blocks.
pub(crate) trait BlockFormat: Send {
    /// Returns the bytes before the first block.
    fn head(&mut self) -> Vec<u8>;

    /// Makes the compressor of one worker.
    fn compressor(&self) -> Arc<dyn Fn() -> Compress + Send + Sync>;

    /// Takes note of a block, in order.
    fn add(&mut self, block: &Compressed);

    /// Takes bytes that readers skip, to be written behind the last block, if the format has room for
    /// them.
    fn attach(&mut self, _bytes: Vec<u8>) {}

    /// Returns the bytes behind the last block.
    fn tail(&mut self) -> Vec<u8>;
}
