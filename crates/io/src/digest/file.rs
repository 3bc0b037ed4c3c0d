//! One file, from its first byte to its last, into something that takes bytes.
//!
//! Through the page cache it is read with a buffer that stays in a core's cache: what is cached is
//! read from there, and the kernel reads ahead of the rest. Otherwise the ordered reader brings it
//! past the cache, with many requests in flight.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::data::{Advice, fadvise, read};
use haul_sys::fs::{Kind, Stat};
use haul_sys::process::{Ready, wait_until};
use haul_sys::{CallError, Errno};

use crate::cache::large_bytes;
use crate::errno::{RETRIES, Verdict, verdict};
use crate::kit::BUFFER_BYTES;
use crate::stream::{ReadPlan, Reader, Source, Trouble};
use crate::{Cache, DataPolicy};

/// What takes a file's bytes.
pub trait Take {
    /// Takes the next ones.
    fn take(&mut self, bytes: &[u8]);
}

impl Take for super::Digest {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

impl Take for blake3::Hasher {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }
}

/// What came of it besides the digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHash {
    /// Bytes that were read.
    pub bytes: u64,
    /// Why reading was not direct, where that was asked for and is not possible.
    pub not_direct: Option<CallError>,
}

/// Below this size the kernel needs no advice: it reads ahead as far by itself.
const ADVICE_BYTES: u64 = 128 << 10;

/// Reads a file to its end. `Cache::Auto` keeps what is read cached, but for files that would push
/// out everything else.
pub fn hash_file(
    file: Source,
    stat: &Stat,
    policy: &DataPolicy,
    to: &mut dyn Take,
) -> Result<FileHash, CallError> {
    let keeps = match policy.cache {
        Cache::Keep => true,
        Cache::Auto => stat.size <= large_bytes(),
        Cache::Drop | Cache::Direct | Cache::Restore => false,
    };
    if keeps || stat.kind() != Kind::Regular {
        let (Source::Own(file) | Source::Shared(file)) = file;
        if stat.size > ADVICE_BYTES {
            // Only speed is lost where it is refused.
            let _refused = fadvise(&file, 0, 0, Advice::Sequential);
        }
        let bytes = through_cache(&file, to)?;
        return Ok(FileHash { bytes, not_direct: None });
    }
    let mut policy = policy.clone();
    if policy.cache == Cache::Auto {
        policy.cache = Cache::Restore;
    }
    let mut reader = Reader::new(file, ReadPlan { policy, ..ReadPlan::WHOLE })?;
    let mut bytes = 0;
    loop {
        match reader.next() {
            Ok(Some(block)) => {
                to.take(&block);
                bytes += block.len() as u64;
            }
            Ok(None) => return Ok(FileHash { bytes, not_direct: reader.not_direct() }),
            Err(Trouble::Call(error)) => return Err(error),
            // Nobody stops this reader, and reading always takes.
            Err(Trouble::Stopped | Trouble::NoProgress) => {
                return Err(CallError::new(haul_sys::Call::Read, Errno::CANCELED));
            }
        }
    }
}

fn through_cache(file: &Arc<OwnedFd>, to: &mut dyn Take) -> Result<u64, CallError> {
    thread_local! {
        /// Lent to one file after the other.
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(BUFFER_BYTES, 0);
        let mut bytes = 0;
        let mut retries = RETRIES;
        loop {
            match read(file.as_fd(), buffer) {
                Ok(0) => return Ok(bytes),
                Ok(filled) => {
                    to.take(buffer.get(..filled).unwrap_or(&[]));
                    bytes += filled as u64;
                    retries = RETRIES;
                }
                Err(error) if error.errno == Errno::AGAIN => {
                    match wait_until(file.as_fd(), Ready::ToRead, None) {
                        Err(error) if error.errno != Errno::INTR => return Err(error),
                        _ => {}
                    }
                }
                Err(error) if retries > 0 && verdict(error.call, error.errno) == Verdict::Retry => {
                    retries -= 1;
                }
                Err(error) => return Err(error),
            }
        }
    })
}
