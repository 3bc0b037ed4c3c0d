//! The identity of a compressed file: a digest of its size and of samples of its bytes.
//!
//! An index is for one file. Neither a time nor a size tells whether a file is still the same, and to
//! read all of it would cost more than the index saves. So the digest is BLAKE3 of the size, of 4 KiB
//! at every multiple of a stride, and of the last 4 KiB, which end in the check sum and the length of
//! the data. The stride is the first power of two from 1 MiB on that makes at most 32 samples: known
//! only at the end of a stream, so [`Sampler`] doubles it as the stream grows.

use std::os::fd::OwnedFd;

use haul_io::digest::TABLE;
use haul_sys::data::pread;
use haul_sys::{Errno, Result};

/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 4 << 10;

/// Samples at most, besides the last bytes.
const SAMPLES_MAX: u64 = 32;

/// Bytes from one sample to the next in a small file.
const STRIDE_BYTES: u64 = 1 << 20;

/// An identity.
pub(super) type Identity = [u8; 32];

/// Takes samples of a stream.
#[derive(Debug)]
pub(super) struct Sampler {
    bytes: u64,
    stride: u64,
    samples: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Sampler {
    pub(super) fn new() -> Sampler {
        Sampler { bytes: 0, stride: STRIDE_BYTES, samples: Vec::new(), last: Vec::new() }
    }

    /// Takes the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let kept = SAMPLE_BYTES as usize;
        let from = bytes.len().saturating_sub(kept);
        self.last.extend_from_slice(&bytes[from..]);
        self.last.drain(..self.last.len().saturating_sub(kept));
        let mut left = bytes;
        while !left.is_empty() {
            let is_full = self.samples.len() as u64 == SAMPLES_MAX;
            if is_full && self.bytes.is_multiple_of(self.stride) {
                self.stride *= 2;
                let mut is_kept = false;
                self.samples.retain(|_| {
                    is_kept = !is_kept;
                    is_kept
                });
            }
            let within = self.bytes % self.stride;
            if within == 0 {
                self.samples.push(Vec::new());
            }
            let is_sample = within < SAMPLE_BYTES;
            let end = if is_sample { SAMPLE_BYTES } else { self.stride };
            let count = usize::try_from(end - within).unwrap_or(usize::MAX).min(left.len());
            let (now, later) = left.split_at(count);
            if let Some(sample) = self.samples.last_mut().filter(|_| is_sample) {
                sample.extend_from_slice(now);
            }
            self.bytes += count as u64;
            left = later;
        }
    }

    /// Returns how many bytes there were.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the check sum in the trailer of the last member, if nothing follows it.
    pub(super) fn last_check(&self) -> Option<u32> {
        let (check, _) = trailer(&self.last)?;
        Some(check)
    }

    /// Returns the identity of what was taken.
    pub(super) fn identity(&self) -> Identity {
        let mut digest = TABLE.first().map(haul_io::digest::Algorithm::start);
        let size = self.bytes.to_le_bytes();
        let samples = self.samples.iter().map(Vec::as_slice);
        for part in [size.as_slice()].into_iter().chain(samples).chain([self.last.as_slice()]) {
            if let Some(digest) = &mut digest {
                digest.update(part);
            }
        }
        let bytes = digest.map(haul_io::digest::Digest::finish).unwrap_or_default();
        bytes.try_into().unwrap_or_default()
    }
}

/// Returns check sum and length from the last bytes of a gzip file.
pub(super) fn trailer(last: &[u8]) -> Option<(u32, u32)> {
    let [.., a, b, c, d, e, f, g, h] = *last else { return None };
    Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
}

/// Returns the identity of an open file of this size, and its last bytes. Reads 33 samples at most.
pub(super) fn of_file(file: &OwnedFd, size: u64) -> Result<(Identity, Vec<u8>)> {
    let mut sampler = Sampler::new();
    while size > sampler.stride * SAMPLES_MAX {
        sampler.stride *= 2;
    }
    let mut at = 0;
    while at < size {
        sampler.samples.push(read_at(file, at, SAMPLE_BYTES.min(size - at))?);
        at += sampler.stride;
    }
    let last = SAMPLE_BYTES.min(size);
    sampler.last = read_at(file, size - last, last)?;
    sampler.bytes = size;
    Ok((sampler.identity(), sampler.last))
}

fn read_at(file: &OwnedFd, at: u64, bytes: u64) -> Result<Vec<u8>> {
    let mut room = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match pread(file, rest, at + filled as u64) {
            // The file has become shorter, so it is another one.
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.errno == Errno::INTR => {}
            Err(error) => return Err(error),
        }
    }
    room.truncate(filled);
    Ok(room)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_stream_and_a_file_have_the_same_identity() {
        for size in [0, 1, 4096, 5000, 1 << 20, (1 << 20) + 1, 32 << 20, (33 << 20) + 4095] {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251 + at / 70_001) as u8).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let (identity, last) = of_file(&OwnedFd::from(file), size).unwrap();
            for step in [777_777, 65_536] {
                let mut sampler = Sampler::new();
                bytes.chunks(step).for_each(|part| sampler.add(part));
                assert_eq!(sampler.identity(), identity, "{size} bytes, {step} at a time");
                assert_eq!((sampler.bytes(), &sampler.last), (size, &last));
            }
        }
    }

    #[test]
    fn any_sampled_byte_and_the_size_count() {
        let bytes = vec![1; 3 << 20];
        let identity = |bytes: &[u8]| {
            let mut sampler = Sampler::new();
            sampler.add(bytes);
            sampler.identity()
        };
        let all = identity(&bytes);
        for at in [0, 4095, 1 << 20, 2 << 20, (3 << 20) - 1] {
            let mut other = bytes.clone();
            other[at] = 2;
            assert_ne!(identity(&other), all, "{at}");
        }
        assert_ne!(identity(&bytes[1..]), all);
    }
}
