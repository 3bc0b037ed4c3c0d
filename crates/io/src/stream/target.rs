//! One file that a writer writes: how its bytes go there, what became of them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::data::{self, Advice, Allocate, Writeback, fadvise, fallocate, set_way, write_back};
use haul_sys::fs::{Kind, fstat, fstatfs};
use haul_sys::{Call, CallError, Errno, Result};

use super::trouble::Trouble;
use crate::cache::Behind;
use crate::quirk::{DirectIo, Preallocate, Trips, of_magic};
use crate::sides::{Way, go_direct};
use crate::{Cache, Quirk};

/// The first piece of space that is reserved ahead of a stream of unknown length; each further one
/// is as large as all before it.
const RESERVE_BYTES_MIN: u64 = 64 << 20;

/// The largest piece: what is reserved too much is given back at the end, and until then nobody
/// else can have it.
const RESERVE_BYTES_MAX: u64 = 1 << 30;

/// A file to be written.
#[derive(Clone, Debug)]
pub struct Target {
    /// The file. It has to be ours alone, for its flags are changed.
    pub file: Arc<OwnedFd>,
    /// Where the stream's first byte goes. Means nothing to what has no offsets.
    pub base: u64,
    /// What becomes of what lies behind the stream's last byte.
    pub end: End,
    /// Whether offsets may be used: not for standard output, nor where everything is appended.
    pub place: Place,
}

/// What becomes of a regular file behind the last byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The file ends there; it was empty behind its base when the stream began.
    Exact,
    /// Whatever was there stays.
    Keep,
}

/// Where bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To offsets, if the file has them.
    Offsets,
    /// To where the descriptor stands.
    Position,
}

/// A target at work.
pub(super) struct Lane {
    pub(super) target: Target,
    quirk: &'static Quirk,
    is_regular: bool,
    /// Whether bytes go to offsets.
    pub(super) positioned: bool,
    pub(super) way: Way,
    pub(super) align: u64,
    drops: bool,
    reserved: u64,
    may_reserve: bool,
    behind: Behind,
    pub(super) trouble: Option<Trouble>,
    /// The lowest offset of the stream of which the write failed.
    pub(super) broken_at: u64,
    pub(super) not_direct: Option<CallError>,
}

impl Lane {
    pub(super) fn new(target: Target, cache: Cache) -> Result<Lane> {
        let stat = fstat(&target.file)?;
        let is_regular = stat.kind() == Kind::Regular;
        let has_offsets = is_regular || stat.kind() == Kind::BlockDevice;
        let quirk = of_magic(fstatfs(&target.file)?.magic);
        Ok(Lane {
            positioned: has_offsets && target.place == Place::Offsets,
            quirk,
            is_regular,
            way: Way::Cached,
            align: 1,
            drops: has_offsets && !matches!(cache, Cache::Keep | Cache::Auto),
            reserved: 0,
            may_reserve: is_regular
                && target.end == End::Exact
                && quirk.preallocate == Preallocate::Pays,
            behind: Behind::default(),
            trouble: None,
            broken_at: u64::MAX,
            not_direct: None,
            target,
        })
    }

    pub(super) fn trips(&self) -> Trips {
        self.quirk.trips
    }

    /// Leaves the page cache out, if the file lets itself be written so.
    pub(super) fn go_past_cache(&mut self, cache: Cache) {
        if !self.positioned || cache == Cache::Keep {
            return;
        }
        self.drops = true;
        let answer = match self.quirk.direct_io {
            DirectIo::Real => go_direct(self.target.file.as_fd()),
            DirectIo::Pretended => Err(CallError::new(Call::Fcntl, Errno::OPNOTSUPP)),
        };
        match answer {
            Ok(align) if self.target.base.is_multiple_of(u64::from(align)) => {
                self.way = Way::Direct;
                self.align = u64::from(align);
            }
            Ok(_) => self.leave_way(),
            Err(error) => self.not_direct = (cache == Cache::Direct).then_some(error),
        }
    }

    /// Goes on through the page cache. Nothing may be on its way.
    pub(super) fn leave_way(&mut self) {
        // Clearing a flag cannot be refused; if it were, the next write says so.
        let _cleared = set_way(&self.target.file, data::Way::Cached);
        self.way = Way::Cached;
        self.align = 1;
    }

    /// Reserves space up to this byte of the stream, and more, for more is likely to come.
    pub(super) fn reserve(&mut self, upto: u64, size: Option<u64>) {
        if !self.may_reserve || upto <= self.reserved {
            return;
        }
        let step = self.reserved.clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX);
        let wanted = size.unwrap_or(0).max(upto.max(self.reserved + step));
        let (start, bytes) = (self.target.base + self.reserved, wanted - self.reserved);
        match fallocate(&self.target.file, start, bytes, Allocate::KeepSize) {
            Ok(()) => self.reserved = wanted,
            // Not here, or not as much: the writes find out how much there is.
            Err(_) => self.may_reserve = false,
        }
    }

    /// Sees to the pages of a part that has arrived.
    pub(super) fn arrived(&mut self, start: u64, end: u64) -> Result<()> {
        if !self.drops || self.way == Way::Direct {
            return Ok(());
        }
        let file = &self.target.file;
        let range = self.target.base + start..self.target.base + end;
        // Only a start: what goes wrong is heard when it is waited for.
        let _started = write_back(file, range.start, range.end - range.start, Writeback::Start);
        for due in self.behind.push(range) {
            drop_pages(file, due.start, due.end)?;
        }
        Ok(())
    }

    /// Makes the file what it is to be when all bytes have arrived, or when no more will.
    pub(super) fn settle(&mut self, bytes: u64) -> Result<()> {
        let whole = bytes.min(self.broken_at);
        if self.is_regular && self.positioned && self.target.end == End::Exact {
            data::ftruncate(&self.target.file, self.target.base + whole)?;
        }
        if self.drops && self.positioned && whole > 0 {
            let end = self.target.base + whole;
            drop_pages(&self.target.file, self.target.base, end)?;
        }
        Ok(())
    }
}

/// Waits for the writeback of a range and drops its pages, as far as they can be dropped.
fn drop_pages(file: &Arc<OwnedFd>, start: u64, end: u64) -> Result<()> {
    // Whole pages: the kernel keeps what is asked for in part.
    let start = start / haul_sys::memory::page_bytes() * haul_sys::memory::page_bytes();
    write_back(file, start, end - start, Writeback::Complete)?;
    let _advised = fadvise(file, start, 0, Advice::DontNeed);
    Ok(())
}
