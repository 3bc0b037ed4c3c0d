//! One file that a writer writes: how its bytes go there, what became of them.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::data::{self, Advice, Allocate, Writeback, fadvise, fallocate, set_way, write_back};
use haul_sys::fs::{Kind, Stat, fstat, fstatfs};
use haul_sys::process::file_size_limit;
use haul_sys::{Call, CallError, Errno, Result};

use crate::cache::ledger::Ledger;
use crate::method::caching::Written;
use crate::method::policy::{Cache, DataPolicy};
use crate::method::sides::{Way, go_direct};
use crate::method::trail::TargetTrail;
use crate::system::quirk::Quirk;
use crate::system::quirk::{DirectIo, Extension, Latency, Preallocate, of_magic};
use crate::system::stream_error::StreamError;

/// The first piece of space that is reserved, or of length that is set, ahead of a stream of unknown
/// length; each further one is as large as all before it.
const AHEAD_BYTES_MIN: u64 = 64 << 20;

/// The largest piece: what is reserved too much is given back at the end, and until then no
/// other file can have it.
const AHEAD_BYTES_MAX: u64 = 1 << 30;

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

/// What becomes of blocks of zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zeros {
    /// They are written.
    Write,
    /// They are left out of a regular file that ends where the stream begins, and is to end where the
    /// stream does: there it reads as zeros what is not written. Every other target gets them: a block
    /// device, for example, keeps its old bytes where nothing is written.
    Skip,
}

/// What is done to a file before bytes get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ahead {
    Nothing,
    /// Space is reserved, so that writes past the cache need not wait for each other.
    Space,
    /// It is made longer: to a server, a write that does that is made alone.
    Length,
}

/// A target at work.
pub(super) struct Lane {
    pub(super) target: Target,
    pub(super) quirk: &'static Quirk,
    is_regular: bool,
    /// Whether bytes go to offsets.
    pub(super) positioned: bool,
    /// What becomes of zeros in this target, whatever the plan asks for.
    pub(super) zeros: Zeros,
    /// Number of zeros that were left out.
    pub(super) left_out: u64,
    pub(super) way: Way,
    pub(super) align: u64,
    drops: bool,
    /// The pages of what is written at a position.
    trail: TargetTrail,
    ahead: Ahead,
    /// How far that has been done.
    ahead_bytes: u64,
    behind: Written,
    ledger: Ledger,
    pub(super) error: Option<StreamError>,
    /// The lowest offset of the stream of which the write failed.
    pub(super) broken_at: u64,
    pub(super) not_direct: Option<CallError>,
}

impl Lane {
    pub(super) fn new(target: Target, policy: &DataPolicy, wanted: Zeros) -> Result<Lane> {
        let stat = fstat(&target.file)?;
        let is_regular = stat.kind() == Kind::Regular;
        let has_offsets = is_regular || stat.kind() == Kind::BlockDevice;
        let quirk = of_magic(fstatfs(&target.file)?.magic);
        Ok(Lane {
            zeros: if is_empty_behind(&target, &stat) { wanted } else { Zeros::Write },
            positioned: has_offsets && target.place == Place::Offsets,
            trail: match target.place {
                Place::Position => TargetTrail::new(target.file.as_fd(), policy),
                Place::Offsets => TargetTrail::default(),
            },
            quirk,
            is_regular,
            left_out: 0,
            way: Way::Cached,
            align: 1,
            drops: has_offsets && !matches!(policy.cache, Cache::Keep | Cache::Auto),
            ahead: match quirk.latency {
                _ if !is_regular || target.end == End::Keep => Ahead::Nothing,
                Latency::Remote if quirk.extension == Extension::MayFill => Ahead::Nothing,
                Latency::Remote => Ahead::Length,
                Latency::Local if quirk.preallocate == Preallocate::Pays => Ahead::Space,
                Latency::Local => Ahead::Nothing,
            },
            ahead_bytes: 0,
            behind: Written::default(),
            ledger: policy.ledger.clone(),
            error: None,
            broken_at: u64::MAX,
            not_direct: None,
            target,
        })
    }

    pub(super) fn latency(&self) -> Latency {
        self.quirk.latency
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

    /// Enters the only block of a file in the run's ledger. What it does not admit leaves no pages.
    pub(super) fn enter(&mut self, bytes: u64) {
        if self.positioned && !self.drops && self.ledger.put(bytes, bytes).is_none() {
            self.drops = true;
        }
    }

    /// Sees to the pages of what was written at the position of the file.
    pub(super) fn passed(&mut self, bytes: u64) -> Result<()> {
        self.trail.after_write_here(self.target.file.as_fd(), bytes)
    }

    /// Goes on through the page cache. Nothing may be on its way.
    pub(super) fn leave_way(&mut self) {
        // Clearing a flag cannot be refused; if it were, the next write says so.
        let _cleared = set_way(&self.target.file, data::Way::Cached);
        self.way = Way::Cached;
        self.align = 1;
    }

    /// Makes ready for bytes up to this one of the stream, and for more, for more is to come.
    pub(super) fn go_ahead(&mut self, upto: u64, size: Option<u64>) {
        if self.ahead == Ahead::Nothing || upto <= self.ahead_bytes {
            return;
        }
        let step = self.ahead_bytes.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        let wanted = match size {
            Some(size) if size >= upto => size,
            _ => upto.max(self.ahead_bytes + step),
        };
        let (base, done) = (self.target.base, self.ahead_bytes);
        let answer = match self.ahead {
            Ahead::Space if self.zeros == Zeros::Write => {
                fallocate(&self.target.file, base + done, wanted - done, Allocate::KeepSize)
            }
            // A byte less than it will have, and an odd length where that is unknown: should the run
            // be killed, no such file looks whole. Above the limit the kernel would kill it.
            Ahead::Length if base + wanted <= file_size_limit() => {
                data::ftruncate(&self.target.file, base + wanted - 1)
            }
            Ahead::Nothing | Ahead::Space | Ahead::Length => return self.ahead = Ahead::Nothing,
        };
        match answer {
            Ok(()) => self.ahead_bytes = wanted,
            // Not here, or not as much: the writes find out how much there is.
            Err(_) => self.ahead = Ahead::Nothing,
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
        for due in self.behind.push(range, &self.ledger) {
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
        self.trail.finish(self.target.file.as_fd())
    }
}

/// Returns whether a target reads as zeros what the stream does not write: it has no bytes where the stream
/// begins, and its length is set in the end.
fn is_empty_behind(target: &Target, stat: &Stat) -> bool {
    stat.kind() == Kind::Regular && stat.size <= target.base && target.end == End::Exact
}

/// Waits for the writeback of a range and drops its pages, as far as they can be dropped.
fn drop_pages(file: &Arc<OwnedFd>, start: u64, end: u64) -> Result<()> {
    // Whole pages: the kernel keeps what is asked for in part.
    let start = start / haul_sys::memory::page_bytes() * haul_sys::memory::page_bytes();
    write_back(file, start, end - start, Writeback::Complete)?;
    let _advised = fadvise(file, start, 0, Advice::DontNeed);
    Ok(())
}
