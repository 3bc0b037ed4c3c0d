//! Compresses blocks as frames of their own, or all of them as one frame.

use std::io;
use std::sync::Arc;

use zstd::bulk::Compressor;
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation as _, OutBuffer};

use super::seek::SeekTable;
use crate::encoding::{BlockFormat, Compress, Compressed, Job};

/// The level of `zstd` by default.
const LEVEL: i32 = 3;

/// Room that is made for compressed bytes at a time.
const ROOM_BYTES: usize = 128 << 10;

/// Each block is a frame, with a seek table behind the last one.
pub(crate) struct Frames {
    table: SeekTable,
    attached: Vec<u8>,
}

impl Frames {
    pub(crate) fn new() -> Frames {
        Frames { table: SeekTable::default(), attached: Vec::new() }
    }
}

impl BlockFormat for Frames {
    fn head(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn compressor(&self) -> Arc<dyn Fn() -> Compress + Send + Sync> {
        Arc::new(|| {
            let mut state = None;
            Box::new(move |job: Job| {
                let state = match &mut state {
                    Some(state) => state,
                    None => {
                        let mut made = Compressor::new(LEVEL)?;
                        made.set_parameter(CParameter::ChecksumFlag(true))?;
                        state.insert(made)
                    }
                };
                let bytes = state.compress(&job.bytes)?;
                Ok(Compressed { bytes, check: 0, bytes_in: job.bytes.len() as u64 })
            })
        })
    }

    fn add(&mut self, block: &Compressed) {
        self.table.add(block.bytes.len() as u64, block.bytes_in);
    }

    fn attach(&mut self, bytes: Vec<u8>) {
        self.attached = bytes;
    }

    fn tail(&mut self) -> Vec<u8> {
        self.table.tail(&self.attached)
    }
}

/// All blocks are one frame, compressed by threads of libzstd. The bytes are the same for any number
/// of threads, because libzstd cuts the data by the level alone.
pub(crate) struct OneFrame {
    threads: u32,
}

impl OneFrame {
    pub(crate) fn new(jobs: usize) -> OneFrame {
        OneFrame { threads: u32::try_from(jobs.max(1)).unwrap_or(1) }
    }
}

impl BlockFormat for OneFrame {
    fn head(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn compressor(&self) -> Arc<dyn Fn() -> Compress + Send + Sync> {
        let threads = self.threads;
        Arc::new(move || {
            let mut state = None;
            Box::new(move |job: Job| {
                let state = match &mut state {
                    Some(state) => state,
                    None => {
                        let mut made = Encoder::new(LEVEL)?;
                        made.set_parameter(CParameter::ChecksumFlag(true))?;
                        made.set_parameter(CParameter::NbWorkers(threads))?;
                        state.insert(made)
                    }
                };
                compress(state, &job)
            })
        })
    }

    fn add(&mut self, _block: &Compressed) {}

    fn tail(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

fn compress(state: &mut Encoder<'static>, job: &Job) -> io::Result<Compressed> {
    let mut bytes = Vec::new();
    let mut room = vec![0; ROOM_BYTES];
    let mut input = InBuffer::around(&job.bytes);
    while input.pos() < job.bytes.len() {
        let mut output = OutBuffer::around(room.as_mut_slice());
        state.run(&mut input, &mut output)?;
        bytes.extend_from_slice(output.as_slice());
    }
    let mut left = usize::from(job.is_last);
    while left > 0 {
        let mut output = OutBuffer::around(room.as_mut_slice());
        left = state.finish(&mut output, true)?;
        bytes.extend_from_slice(output.as_slice());
    }
    Ok(Compressed { bytes, check: 0, bytes_in: job.bytes.len() as u64 })
}
