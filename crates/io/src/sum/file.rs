//! One file, from its first byte to its last, into something that takes bytes.
//!
//! What is cached is hashed where it lies, a mapped window at a time. The rest is read through the page
//! cache with a buffer that stays in a core's own, and the kernel reads ahead; or the ordered reader
//! brings it past the cache, with many requests in flight.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::data::{Advice, fadvise, read, seek_set};
use haul_sys::fs::{Kind, Stat, fstat};
use haul_sys::memory::Window;
use haul_sys::process::Ready;
use haul_sys::{CallError, Errno};

use crate::digest::pane::{PANE_BYTES, Pane};
use crate::method::policy::{Cache, DataPolicy};
use crate::stream::{ReadPlan, Reader, Source, StreamError};
use crate::system::gentle;
use crate::system::kit::BUFFER_BYTES;
use crate::system::retry::when_ready;

/// What takes a file's bytes.
pub trait Take {
    /// Takes the next ones.
    fn take(&mut self, bytes: &[u8]);

    /// Takes what a window shows: all of it, or nothing where some was gone or `is_sound` says no.
    fn take_shown(&mut self, window: &Window, is_sound: &dyn Fn() -> bool) -> bool;
}

impl Take for crate::digest::Digest {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn take_shown(&mut self, window: &Window, is_sound: &dyn Fn() -> bool) -> bool {
        take_or_leave(self, window, is_sound)
    }
}

impl Take for blake3::Hasher {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn take_shown(&mut self, window: &Window, is_sound: &dyn Fn() -> bool) -> bool {
        take_or_leave(self, window, is_sound)
    }
}

/// Lets a hasher take what a window shows, and puts it back to what it was where that was not sound.
fn take_or_leave<T: Take + Clone>(
    hasher: &mut T,
    window: &Window,
    is_sound: &dyn Fn() -> bool,
) -> bool {
    let mut next = hasher.clone();
    let is_taken = window.look(|bytes| next.take(bytes)).is_some() && is_sound();
    if is_taken {
        *hasher = next;
    }
    is_taken
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

/// Reads a file to its end. `Cache::Auto` keeps what is read cached as long as the policy's ledger
/// admits it.
pub fn hash_file(
    file: Source,
    stat: &Stat,
    policy: &DataPolicy,
    to: &mut dyn Take,
) -> Result<FileHash, CallError> {
    // Holds the bytes in the ledger until they were read.
    let put = match policy.cache {
        Cache::Auto => policy.ledger.put(stat.size, stat.size),
        Cache::Keep | Cache::Drop | Cache::Direct | Cache::Restore => None,
    };
    let keeps = policy.cache == Cache::Keep || put.is_some();
    if keeps || stat.kind() != Kind::Regular {
        let in_place = match &file {
            Source::Own(file) if stat.kind() == Kind::Regular => in_place(file, stat.size, to)?,
            _ => 0,
        };
        let (Source::Own(file) | Source::Shared(file)) = file;
        if stat.size > ADVICE_BYTES {
            // Only speed is lost where it is refused.
            let _refused = fadvise(&file, 0, 0, Advice::Sequential);
        }
        let bytes = in_place + through_cache(&file, to)?;
        return Ok(FileHash { bytes, not_direct: None });
    }
    let mut policy = policy.clone();
    if policy.cache == Cache::Auto {
        policy.cache = Cache::Restore;
    }
    let mut reader = Reader::new(file, ReadPlan { policy, ..ReadPlan::whole() })?;
    let mut bytes = 0;
    loop {
        match reader.next() {
            Ok(Some(block)) => {
                to.take(&block);
                bytes += block.len() as u64;
            }
            Ok(None) => return Ok(FileHash { bytes, not_direct: reader.not_direct() }),
            Err(StreamError::Call(error)) => return Err(error),
            // As for every other reader, a file has the bytes that reading gives.
            Err(StreamError::Shrank) => {
                return Ok(FileHash { bytes, not_direct: reader.not_direct() });
            }
            // Nothing stops this reader, and reading always takes.
            Err(StreamError::Stopped) => {
                return Err(CallError::new(haul_sys::Call::Read, Errno::CANCELED));
            }
        }
    }
}

/// Hashes the beginning of a file where it lies in the page cache, as far as it does, and returns how
/// much that was; the descriptor then stands behind it.
fn in_place(file: &Arc<OwnedFd>, file_bytes: u64, to: &mut dyn Take) -> Result<u64, CallError> {
    thread_local! {
        /// Shows one file after the other.
        static PANE: std::cell::RefCell<Pane> = const { std::cell::RefCell::new(Pane::new()) };
    }
    let mut at = 0;
    PANE.with_borrow_mut(|pane| {
        while file_bytes - at >= PANE_BYTES {
            // What cannot be mapped, or is no longer there, is read, which says why.
            let Ok(Some(window)) = pane.show(file.as_fd(), at, PANE_BYTES) else { return };
            let is_whole = || fstat(&**file).is_ok_and(|now| now.size >= at + PANE_BYTES);
            if !to.take_shown(window, &is_whole) {
                return;
            }
            at += PANE_BYTES;
            gentle::rest();
        }
    });
    if at > 0 {
        seek_set(&**file, at)?;
    }
    Ok(at)
}

fn through_cache(file: &Arc<OwnedFd>, to: &mut dyn Take) -> Result<u64, CallError> {
    thread_local! {
        /// Lent to one file after the other.
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with_borrow_mut(|buffer| {
        buffer.resize(BUFFER_BYTES, 0);
        let mut bytes = 0;
        loop {
            match when_ready(file.as_fd(), Ready::ToRead, || read(file.as_fd(), buffer))? {
                0 => return Ok(bytes),
                filled => {
                    to.take(&buffer[..filled]);
                    bytes += filled as u64;
                    gentle::rest();
                }
            }
        }
    })
}
