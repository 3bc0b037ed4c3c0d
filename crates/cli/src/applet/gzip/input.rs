//! Inputs: opened by name or taken from standard input, and read with many reads in flight.

use std::ffi::{CString, OsStr};
use std::io::{self, Read};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use haul_io::stream::{Block, Pool, ReadPlan, Reader, Source, StreamError, fill_while};
use haul_io::{Cache, DataPolicy};
use haul_sys::Result;
use haul_sys::fs::{CWD, Follow, Kind, OFlags, OpenHow, Stat, fstat, open_directory, openat};

use super::names::base;

/// A name in an open directory.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) directory: Arc<OwnedFd>,
    pub(super) name: CString,
    /// The name as messages show it.
    pub(super) shown: Vec<u8>,
}

/// Returns a name for the kernel. No argument and no entry of a directory has a NUL.
pub(super) fn c_name(name: &[u8]) -> CString {
    CString::new(name).unwrap_or_default()
}

impl Named {
    /// Finds the directory of an operand.
    pub(super) fn operand(word: &OsStr) -> Result<Named> {
        let shown = word.as_bytes().to_vec();
        let end = shown.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
        let stem = &shown[..end];
        let at = end - base(stem).len();
        let (before, name) = shown.split_at(at);
        let directory = if before.is_empty() { c".".to_owned() } else { c_name(before) };
        let name = if name.is_empty() { c_name(&shown) } else { c_name(name) };
        let directory = Arc::new(open_directory(CWD, &directory, Follow::Yes)?);
        Ok(Named { directory, name, shown })
    }

    /// Returns another name in the same directory.
    pub(super) fn beside(&self, shown: Vec<u8>) -> Named {
        Named { directory: Arc::clone(&self.directory), name: c_name(base(&shown)), shown }
    }

    /// Opens the file. Never blocks on a FIFO.
    pub(super) fn open(&self, follow: Follow) -> Result<Opened> {
        let how = OpenHow { extra: OFlags::NOCTTY, ..OpenHow::READ.following(follow) };
        let file = openat(&*self.directory, &self.name, how)?;
        let stat = fstat(&file)?;
        Ok(Opened { source: Source::Own(Arc::new(file)), stat })
    }
}

/// An open input.
#[derive(Clone, Debug)]
pub(super) struct Opened {
    pub(super) source: Source,
    pub(super) stat: Stat,
}

impl Opened {
    pub(super) fn file(&self) -> &Arc<OwnedFd> {
        let (Source::Own(file) | Source::Shared(file)) = &self.source;
        file
    }

    /// Returns the size of a regular file.
    pub(super) fn size(&self) -> Option<u64> {
        (self.stat.kind() == Kind::Regular).then_some(self.stat.size)
    }
}

/// Requests in flight from one input, see `sink.rs`.
const DEPTH: usize = 4;

/// Blocks that wait for the decoder.
const BLOCKS_AHEAD: usize = 2;

/// Bytes of a block from a pipe, as much as one holds unless it is made larger.
const PIPE_BLOCK_BYTES: usize = 64 << 10;

/// Files up to this size are read by plain calls where the page cache may be used: a thread and a
/// queue cost more than they save.
const SMALL_BYTES: u64 = 1 << 20;

/// Makes a reader of an input.
pub(super) fn reader(
    source: Source,
    policy: &DataPolicy,
    stop: &'static AtomicBool,
) -> Result<Reader> {
    let mut policy = policy.clone();
    policy.queue_depth.get_or_insert(DEPTH);
    Reader::new(source, ReadPlan { policy, held: BLOCKS_AHEAD + 2, stop, ..ReadPlan::whole() })
}

/// Makes a source for a decoder, which reads it on another thread.
pub(super) fn decoder_source(
    opened: &Opened,
    policy: &DataPolicy,
    stop: &'static AtomicBool,
) -> io::Result<Box<dyn Read + Send>> {
    let is_small = opened.size().is_some_and(|size| size <= SMALL_BYTES);
    let is_kept = || match policy.cache {
        Cache::Keep => true,
        Cache::Auto => policy.ledger.put(opened.size().unwrap_or(0), 0).is_some(),
        Cache::Drop | Cache::Direct | Cache::Restore => false,
    };
    if is_small && is_kept() {
        let file = opened.file().as_fd().try_clone_to_owned()?;
        return Ok(Box::new(std::fs::File::from(file)));
    }
    let (put, blocks) = sync_channel(BLOCKS_AHEAD);
    if !matches!(opened.stat.kind(), Kind::Regular | Kind::BlockDevice) {
        let file = Arc::clone(opened.file());
        std::thread::Builder::new()
            .name("haul gzip read".to_owned())
            .spawn(move || pump(&file, &put, stop))?;
        return Ok(Box::new(Blocks { blocks, current: None, at: 0 }));
    }
    let (source, policy) = (opened.source.clone(), policy.clone());
    std::thread::Builder::new().name("haul gzip read".to_owned()).spawn(move || {
        let mut reader = match reader(source, &policy, stop) {
            Ok(reader) => reader,
            Err(error) => {
                // A decoder that gave up does not want it.
                let _sent = put.send(Err(StreamError::Call(error)));
                return;
            }
        };
        loop {
            let next = reader.next();
            let is_last = !matches!(next, Ok(Some(_)));
            if let Some(next) = next.transpose()
                && put.send(next).is_err()
            {
                return;
            }
            if is_last {
                return;
            }
        }
    })?;
    Ok(Box::new(Blocks { blocks, current: None, at: 0 }))
}

/// Reads a pipe on a thread that signals need not interrupt.
fn pump(
    file: &OwnedFd,
    put: &SyncSender<std::result::Result<Block, StreamError>>,
    stop: &'static AtomicBool,
) {
    let pool = Pool::new(PIPE_BLOCK_BYTES, BLOCKS_AHEAD + 2);
    loop {
        let (block, error) = match pool.take(stop) {
            Ok(Some(mut block)) => {
                let error = fill_while(file.as_fd(), &mut block, stop, || true).err();
                (Some(block), error)
            }
            Ok(None) => (None, Some(StreamError::Stopped)),
            Err(error) => (None, Some(StreamError::Call(error))),
        };
        let block = block.filter(|block| !block.is_empty());
        let is_end = block.is_none() || error.is_some();
        let events = block.map(Ok).into_iter().chain(error.map(Err));
        for event in events {
            if put.send(event).is_err() {
                return;
            }
        }
        if is_end {
            return;
        }
    }
}

/// Blocks that another thread reads.
struct Blocks {
    blocks: Receiver<std::result::Result<Block, StreamError>>,
    current: Option<Block>,
    at: usize,
}

impl Read for Blocks {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = self.current.as_ref().map_or(&[][..], |block| &block[self.at..]);
            let count = left.len().min(room.len());
            if let (Some(room), Some(left)) = (room.get_mut(..count), left.get(..count))
                && count > 0
            {
                room.copy_from_slice(left);
                self.at += count;
                return Ok(count);
            }
            match self.blocks.recv() {
                Ok(Ok(block)) => (self.current, self.at) = (Some(block), 0),
                Ok(Err(error)) => return Err(io::Error::other(error)),
                // The reader is at the end.
                Err(_) => return Ok(0),
            }
        }
    }
}
