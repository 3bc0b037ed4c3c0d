//! The two sides of a copy, and the way that bytes take on each: through the page cache, through it
//! without a trace, or past it.
//!
//! A file system may refuse a way that the other one takes, so each side falls back by itself, from
//! direct to uncached to cached, remembers why, and is never tried again for this file, or this part of it.

use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use haul_sys::data::{self, pread, pread_uncached, pwrite, pwrite_uncached, set_way};
use haul_sys::fs::{DirectAlign, direct_align};
use haul_sys::{Call, CallError, Errno, Result};

use crate::method::pair::Pair;
pub use crate::method::pair::Which;
use crate::method::policy::DataPolicy;
use crate::system::errno::is_impossible;
use crate::system::kit::Watch;
use crate::system::quirk::DirectIo;
use crate::system::retry::requesting;

/// The way that bytes take between a file and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Way {
    /// Through the page cache, where they stay.
    #[default]
    Cached,
    /// Through the page cache, which forgets them (`RWF_DONTCACHE`).
    Uncached,
    /// Past the page cache (`O_DIRECT`).
    Direct,
}

impl Way {
    const ALL: [Way; 3] = [Way::Cached, Way::Uncached, Way::Direct];

    fn of(number: u8) -> Way {
        Way::ALL.get(usize::from(number)).copied().unwrap_or_default()
    }
}

/// A file, and the way that its bytes are to take.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The file.
    pub fd: BorrowedFd<'a>,
    /// The way.
    pub way: Way,
}

/// The two files of a range, while it is moved.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) source: BorrowedFd<'a>,
    pub(crate) target: BorrowedFd<'a>,
    pub(crate) pair: &'a Pair,
    pub(crate) watch: Watch<'a>,
}

#[derive(Debug, Default)]
struct Side {
    way: AtomicU8,
    error: OnceLock<CallError>,
}

impl Side {
    fn way(&self) -> Way {
        Way::of(self.way.load(Ordering::Relaxed))
    }

    fn set(&self, way: Way) {
        self.way.store(way as u8, Ordering::Relaxed);
    }
}

/// Both sides of one file's copy. Shared by the workers that move it.
#[derive(Debug, Default)]
pub struct Sides {
    source: Side,
    target: Side,
    /// What direct offsets and lengths are multiples of, in bytes; 1 where nothing is direct.
    align: OnceLock<u32>,
}

/// The alignment that is assumed where a file system does not tell: the page, and the largest
/// logical block of common devices.
const ASSUMED_ALIGN: u32 = 4096;

impl Sides {
    /// Sets both sides on their way, as far as they let themselves be.
    #[must_use]
    pub fn prepare(source: Wanted<'_>, target: Wanted<'_>, pair: &Pair) -> Sides {
        let sides = Sides::default();
        let one = sides.set_out(Which::Source, source, pair);
        let two = sides.set_out(Which::Target, target, pair);
        let _first = sides.align.set(one.max(two));
        sides
    }

    fn set_out(&self, which: Which, Wanted { fd, way }: Wanted<'_>, pair: &Pair) -> u32 {
        let (side, quirk) = match which {
            Which::Source => (&self.source, pair.source),
            Which::Target => (&self.target, pair.target),
        };
        if way == Way::Direct {
            let answer = match quirk.direct_io {
                DirectIo::Real => go_direct(fd),
                DirectIo::Pretended => Err(CallError::new(Call::Fcntl, Errno::OPNOTSUPP)),
            };
            match answer {
                Ok(align) => {
                    side.set(Way::Direct);
                    return align;
                }
                Err(error) => {
                    let _first = side.error.set(error);
                }
            }
        }
        if way >= Way::Uncached && pair.uncached(which) {
            side.set(Way::Uncached);
        }
        1
    }

    /// Returns what direct offsets and lengths are multiples of; 1 where nothing is direct.
    #[must_use]
    pub fn align(&self) -> u32 {
        self.align.get().copied().unwrap_or(1)
    }

    fn side(&self, which: Which) -> &Side {
        match which {
            Which::Source => &self.source,
            Which::Target => &self.target,
        }
    }

    /// Returns the way of a side at this moment; it only ever falls back.
    #[must_use]
    pub fn way(&self, which: Which) -> Way {
        self.side(which).way()
    }

    /// Returns why a side is not on the way that was wanted, if a call said so.
    #[must_use]
    pub fn error(&self, which: Which) -> Option<CallError> {
        self.side(which).error.get().copied()
    }

    /// Tells whether either side is on this way.
    #[must_use]
    pub fn any(&self, way: Way) -> bool {
        self.source.way() == way || self.target.way() == way
    }

    /// Returns what spoke first against a way that neither side is on any more.
    pub(crate) fn cause(&self, way: Way) -> CallError {
        let is_of_way = |error: &CallError| {
            matches!(error.call, Call::Preadv2 | Call::Pwritev2) == (way == Way::Uncached)
        };
        let known = |which| self.error(which).filter(is_of_way);
        known(Which::Target)
            .or_else(|| known(Which::Source))
            .unwrap_or(CallError::new(Call::DirectRead, Errno::INVAL))
    }

    /// Falls back on one side from a way that was refused, unless another worker did meanwhile.
    /// Blocks no longer than `fcntl` does.
    pub(crate) fn fall_back(&self, which: Which, from: Way, ends: &Ends<'_>, cause: CallError) {
        let side = self.side(which);
        let _first = side.error.set(cause);
        if side.way() != from {
            return;
        }
        match from {
            Way::Direct => {
                let fd = match which {
                    Which::Source => ends.source,
                    Which::Target => ends.target,
                };
                clear_direct(fd);
                side.set(if ends.pair.uncached(which) { Way::Uncached } else { Way::Cached });
            }
            Way::Uncached => {
                ends.pair.refuse_uncached(which);
                side.set(Way::Cached);
            }
            Way::Cached => {}
        }
    }

    /// Sets files that are on the direct way on that through the page cache.
    pub(crate) fn leave_direct(&self, source: BorrowedFd<'_>, target: BorrowedFd<'_>) {
        for (side, fd) in [(&self.source, source), (&self.target, target)] {
            if side.way() == Way::Direct {
                clear_direct(fd);
            }
        }
    }

    /// Reads at an offset of the source on its way, and on the next where that one is refused.
    pub(crate) fn read(&self, ends: &Ends<'_>, buffer: &mut [u8], offset: u64) -> Result<usize> {
        loop {
            let way = self.source.way();
            let answer = requesting(&ends.watch, || match way {
                Way::Direct => renamed(pread(ends.source, buffer, offset), Call::DirectRead),
                Way::Uncached => pread_uncached(ends.source, buffer, offset),
                Way::Cached => pread(ends.source, buffer, offset),
            });
            match answer {
                // By now another worker may have met the same, and the way be another.
                Err(error) if is_impossible(error) && way != Way::Cached => {
                    self.fall_back(Which::Source, way, ends, error);
                }
                answer => return answer,
            }
        }
    }

    /// Writes at an offset of the target on its way, and on the next where that one is refused.
    pub(crate) fn write(&self, ends: &Ends<'_>, bytes: &[u8], offset: u64) -> Result<usize> {
        loop {
            let way = self.target.way();
            let answer = requesting(&ends.watch, || match way {
                Way::Direct => renamed(pwrite(ends.target, bytes, offset), Call::DirectWrite),
                Way::Uncached => pwrite_uncached(ends.target, bytes, offset),
                Way::Cached => pwrite(ends.target, bytes, offset),
            });
            match answer {
                Err(error) if is_impossible(error) && way != Way::Cached => {
                    self.fall_back(Which::Target, way, ends, error);
                }
                answer => return answer,
            }
        }
    }
}

fn clear_direct(fd: BorrowedFd<'_>) {
    // Clearing the flag cannot be refused; if it were, the next request would say so.
    let _cleared = set_way(fd, data::Way::Cached);
}

fn renamed(answer: Result<usize>, call: Call) -> Result<usize> {
    answer.map_err(|error| CallError::new(call, error.errno))
}

/// Sets a file on the direct way and returns what offsets are to be aligned to.
pub(crate) fn go_direct(fd: BorrowedFd<'_>) -> Result<u32> {
    /// More than any device asks for; a request has to be a multiple of it.
    const OFFSET_ALIGN_MAX: u32 = DataPolicy::IO_UNIT as u32;
    // A kernel that does not know the question has the answer "unknown" as well.
    let align = match direct_align(fd).unwrap_or(DirectAlign::Unknown) {
        DirectAlign::Unknown => ASSUMED_ALIGN,
        DirectAlign::Bytes { memory, offset }
            if memory <= ASSUMED_ALIGN && offset <= OFFSET_ALIGN_MAX =>
        {
            offset
        }
        DirectAlign::Bytes { .. } => return Err(CallError::new(Call::Statx, Errno::INVAL)),
        DirectAlign::Refused => return Err(CallError::new(Call::Statx, Errno::OPNOTSUPP)),
    };
    set_way(fd, data::Way::Direct)?;
    Ok(align.max(1))
}
