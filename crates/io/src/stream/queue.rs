//! Requests, and the seam behind which they are made: by a ring, by threads, by plain calls.
//!
//! The reader and the writer are one algorithm each, for every executor of their requests;
//! with plain calls the queue has a depth of one. Tests put a queue here that answers late, short or not at all.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_sys::data::{pread, pread_uncached, pwrite, pwrite_uncached};
use haul_sys::memory::AlignedBuffer;
use haul_sys::{Call, CallError, Errno, Result};

use crate::method::sides::Way;
use crate::system::gentle;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Fills the memory from the file.
    Read,
    /// Writes the memory to the file.
    Write,
}

/// One transfer between memory and an offset of a file.
pub(crate) struct Request {
    /// Whose request it is.
    pub(crate) tag: u64,
    pub(crate) direction: Direction,
    pub(crate) file: Arc<OwnedFd>,
    pub(crate) way: Way,
    pub(crate) offset: u64,
    pub(crate) memory: Arc<AlignedBuffer>,
    pub(crate) range: Range<usize>,
}

/// A request that is over.
pub(crate) struct Done {
    pub(crate) request: Request,
    pub(crate) result: Result<usize>,
}

/// Makes requests.
pub(crate) trait Queue {
    /// Returns how many requests may be on their way at a time.
    fn depth(&self) -> usize;

    /// Returns how many requests are on their way.
    fn in_flight(&self) -> usize;

    /// Takes a request on. There has to be room for it.
    fn ask(&mut self, request: Request) -> Result<()>;

    /// Lets what was asked begin, without waiting.
    fn start(&mut self) -> Result<()>;

    /// Waits until a request is over, whichever; `None` when none is on its way, and when a wait
    /// was cut short, by a signal or to see whether the run was stopped.
    fn wait(&mut self, stop: &AtomicBool) -> Result<Option<Done>>;
}

/// Makes a request by the plain call. Blocks.
pub(crate) fn make(request: &mut Request) -> Result<usize> {
    let direct = request.way == Way::Direct;
    gentle::request(|| call(request)).map_err(|error| match error.call {
        Call::Pread if direct => CallError::new(Call::DirectRead, error.errno),
        Call::Pwrite if direct => CallError::new(Call::DirectWrite, error.errno),
        _ => error,
    })
}

fn call(request: &mut Request) -> Result<usize> {
    let invalid = CallError::new(Call::Pread, Errno::INVAL);
    let (range, offset, file) = (request.range.clone(), request.offset, &*request.file);
    match request.direction {
        Direction::Read => {
            let memory = Arc::get_mut(&mut request.memory).ok_or(invalid)?;
            let room = memory.get_mut(range).ok_or(invalid)?;
            match request.way {
                Way::Uncached => pread_uncached(file, room, offset),
                Way::Cached | Way::Direct => pread(file, room, offset),
            }
        }
        Direction::Write => {
            let bytes = request.memory.get(range).ok_or(invalid)?;
            match request.way {
                Way::Uncached => pwrite_uncached(file, bytes, offset),
                Way::Cached | Way::Direct => pwrite(file, bytes, offset),
            }
        }
    }
}
