//! Passing bytes on from one descriptor to another, from where each stands, without taking them into
//! our own memory where the kernel can do without.
//!
//! `splice` puts the file's own pages into a pipe: a program that changes the file then changes what
//! the reader of the pipe will see, even after this process has ended. So the last pipeful is copied:
//! when it fits into the pipe, every page of the file has left it. Pages that come out of a pipe may
//! be those of a file, put there by a process that relies on their leaving; so they are not passed
//! on to another pipe or to a socket, but copied.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::data::{
    Allocate, copy_file_range_on, fallocate, read, seek_tell, splice, widen_pipe,
};
use haul_sys::fs::{Kind, appends, fstat, fstatfs};
use haul_sys::memory::AlignedBuffer;
use haul_sys::process::{Ready, wait_until};
use haul_sys::{CallError, Errno};

use super::in_order::write_stream;
use crate::method::caching::WINDOW_BYTES;
use crate::method::policy::DataPolicy;
use crate::method::trail::{SourceTrail, TargetTrail};
use crate::system::errno::{Verdict, verdict};
use crate::system::gentle;
use crate::system::kit::BUFFER_BYTES;
use crate::system::quirk::{Preallocate, ReportedSize, of_magic};
use crate::system::retry::{Retries, STOP_CHECK, wait_briefly, when_ready_unless};
use crate::system::stream_error::StreamError;

/// The room that is asked for in pipes: what an ordinary user may have, see pipe(7).
pub const PIPE_BYTES: usize = 1 << 20;

/// Bytes of one call that copies within the kernel: few enough that a signal is heard, and that their pages
/// do not count before it is known whether they may stay.
const STEP_BYTES: usize = WINDOW_BYTES as usize;

/// Space that is reserved at a time where bytes are copied within the kernel: as much as a run that is
/// killed may leave behind, unseen, at the end of a file.
const RESERVE_BYTES: u64 = 32 << 20;

/// On which side it went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the bytes come from.
    Source,
    /// Where they go.
    Target,
}

/// Why not everything was passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassError {
    /// On which side.
    pub side: Side,
    /// The error.
    pub error: StreamError,
}

impl std::fmt::Display for PassError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let side = match self.side {
            Side::Source => "reading",
            Side::Target => "writing",
        };
        write!(f, "{side}: {}", self.error)
    }
}

impl std::error::Error for PassError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Whose the pages are that a pipe holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipePages {
    /// They may be those of a file, which may change.
    Shared,
    /// No file has them.
    Own,
}

/// How bytes are passed on.
pub struct Passing<'a> {
    /// What becomes of the pages of files.
    pub policy: &'a DataPolicy,
    /// Whose pages the source has, where that is a pipe.
    pub pages: PipePages,
    /// Ends it when it is set.
    pub stop: &'a AtomicBool,
    /// The most bytes that are wanted; `None` is all there are.
    pub most: Option<u64>,
    /// Called with the number of bytes that arrived.
    pub moved: &'a mut dyn FnMut(u64),
}

/// Which call can do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    CopyRange,
    /// Up to this many bytes, for the last of a file are copied.
    Splice(u64),
    Memory,
}

/// Passes bytes on until the source ends. Blocks as the descriptors do; a descriptor that does not
/// block is waited for.
pub fn pass(
    source: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    passing: &mut Passing<'_>,
) -> Result<u64, PassError> {
    let trails =
        (SourceTrail::new(source, passing.policy), TargetTrail::new(target, passing.policy));
    let mut work = Work { source, target, passing, trails, total: 0, retries: Retries::new() };
    let passed = work.all();
    work.trails.0.finish(source);
    let finished = work.trails.1.finish(target).map_err(of_target);
    passed.and(finished)?;
    Ok(work.total)
}

fn of_target(error: CallError) -> PassError {
    PassError { side: Side::Target, error: StreamError::Call(error) }
}

/// The sides of a call that are pipes or sockets, for which a gentle run has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitedFor {
    Both,
    OneAtMost,
}

/// Space of the target for which reserving pays.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Where the target stands.
    at: u64,
    /// Up to where space is reserved.
    reserved: u64,
    /// Where the target will stand.
    end: u64,
}

struct Work<'a, 'p, 'f> {
    source: BorrowedFd<'a>,
    target: BorrowedFd<'a>,
    passing: &'p mut Passing<'f>,
    /// Their pages.
    trails: (SourceTrail, TargetTrail),
    total: u64,
    retries: Retries,
}

impl Work<'_, '_, '_> {
    fn all(&mut self) -> Result<(), PassError> {
        match self.choose() {
            Through::CopyRange => self.copy_range()?,
            Through::Splice(most) => self.splice(most)?,
            Through::Memory => {}
        }
        // Whatever the kernel said before: the end is where reading says so.
        if self.left() > 0 { self.read_and_write() } else { Ok(()) }
    }

    fn choose(&self) -> Through {
        // What cannot be described is read, which says why.
        let (Ok(from), Ok(to)) = (fstat(self.source), fstat(self.target)) else {
            return Through::Memory;
        };
        let made_up = || {
            fstatfs(self.source).map(|system| of_magic(system.magic).reported_size)
                != Ok(ReportedSize::True)
        };
        match (from.kind(), to.kind()) {
            (Kind::Regular, _) if from.size == 0 || made_up() => Through::Memory,
            (Kind::Regular, Kind::Regular) => Through::CopyRange,
            (Kind::Regular, Kind::Fifo) => {
                let room = widen_pipe(self.target, PIPE_BYTES).unwrap_or(PIPE_BYTES) as u64;
                let left = from.size.saturating_sub(seek_tell(self.source).unwrap_or(0));
                Through::Splice(left.saturating_sub(room))
            }
            (Kind::Fifo, Kind::Fifo | Kind::Regular | Kind::BlockDevice | Kind::Socket) => {
                widen_pipe(self.source, PIPE_BYTES);
                widen_pipe(self.target, PIPE_BYTES);
                // Files and block devices take copies of pages; the others take the pages.
                let copies = matches!(to.kind(), Kind::Regular | Kind::BlockDevice);
                let may_splice = copies || self.passing.pages == PipePages::Own;
                if may_splice { Through::Splice(u64::MAX) } else { Through::Memory }
            }
            _ => Through::Memory,
        }
    }

    fn left(&self) -> u64 {
        self.passing.most.map_or(u64::MAX, |most| most.saturating_sub(self.total))
    }

    fn moved(&mut self, bytes: usize) -> Result<(), PassError> {
        self.total += bytes as u64;
        self.retries.reset();
        (self.passing.moved)(bytes as u64);
        self.trails.0.after_read_here(self.source, bytes as u64);
        self.trails.1.after_write_here(self.target, bytes as u64).map_err(of_target)
    }

    fn check_stop(&self) -> Result<(), PassError> {
        if self.passing.stop.load(Ordering::Relaxed) {
            return Err(PassError { side: Side::Source, error: StreamError::Stopped });
        }
        Ok(())
    }

    fn copy_range(&mut self) -> Result<(), PassError> {
        let mut room = self.room();
        while self.left() > 0 {
            self.check_stop()?;
            let step = usize::try_from(self.left()).unwrap_or(usize::MAX);
            let step = step.min(gentle::request_bytes(STEP_BYTES));
            room = room.and_then(|room| self.reserve(room));
            match gentle::request(|| copy_file_range_on(self.source, self.target, step)) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.moved(count)?;
                    room = room.map(|room| Room { at: room.at + count as u64, ..room });
                }
                Err(error) if self.retries.allow(error) => {}
                Err(error) => match verdict(error.call, error.errno) {
                    Verdict::NextMethod(_) => return Ok(()),
                    Verdict::Retry | Verdict::Flush | Verdict::Fail => return Err(of_both(error)),
                },
            }
        }
        Ok(())
    }

    /// Returns where the target stands and where it will, if space for that is worth reserving: on
    /// ext4, 400 MiB so took 0.9 of the time. Not where blocks can be shared, nor for holes.
    fn room(&self) -> Option<Room> {
        let (from, to) = (fstat(self.source).ok()?, fstat(self.target).ok()?);
        let quirk = of_magic(fstatfs(self.target).ok()?.magic);
        let pays = quirk.preallocate == Preallocate::Pays && !quirk.reflinks;
        let at = seek_tell(self.target).ok()?;
        let left = from.size.saturating_sub(seek_tell(self.source).ok()?).min(self.left());
        let is_plain = !from.may_have_holes() && at >= to.size && !appends(self.target).ok()?;
        (pays && is_plain && left >= RESERVE_BYTES).then_some(Room {
            at,
            reserved: at,
            end: at + left,
        })
    }

    /// Reserves what the next step takes; `None` where there is no room, which the copy finds out.
    fn reserve(&self, room: Room) -> Option<Room> {
        let upto = room.end.min(room.at + STEP_BYTES as u64);
        if upto <= room.reserved {
            return Some(room);
        }
        let bytes = (room.end - room.reserved).min(RESERVE_BYTES);
        fallocate(self.target, room.reserved, bytes, Allocate::KeepSize).ok()?;
        Some(Room { reserved: room.reserved + bytes, ..room })
    }

    fn splice(&mut self, most: u64) -> Result<(), PassError> {
        let most = most.min(self.left());
        while self.total < most {
            self.check_stop()?;
            let waited = self.wait_in_gentle_run()?;
            let left = usize::try_from(most - self.total).unwrap_or(usize::MAX);
            let step = left.min(gentle::request_bytes(PIPE_BYTES));
            let call = || splice(self.source, self.target, step);
            let answer = match waited {
                WaitedFor::Both => gentle::elsewhere(call),
                WaitedFor::OneAtMost => gentle::request(call),
            };
            match answer {
                Ok(0) => return Ok(()),
                Ok(count) => self.moved(count)?,
                Err(error) if error.errno == Errno::AGAIN => self.wait_for_both()?,
                Err(error) if self.retries.allow(error) => {}
                Err(error) => match verdict(error.call, error.errno) {
                    Verdict::NextMethod(_) => return Ok(()),
                    Verdict::Retry | Verdict::Flush | Verdict::Fail => {
                        return Err(self.of_splice(error));
                    }
                },
            }
        }
        Ok(())
    }

    /// Lets a gentle run wait for pipes and sockets before a call that moves bytes between one and a file, so that
    /// the time of the call is that of the file.
    fn wait_in_gentle_run(&self) -> Result<WaitedFor, PassError> {
        let mut waited = 0;
        for (fd, ready) in [(self.source, Ready::ToRead), (self.target, Ready::ToWrite)] {
            if !gentle::is_of_others(fd) {
                continue;
            }
            waited += 1;
            loop {
                match gentle::elsewhere(|| wait_until(fd, ready, Some(STOP_CHECK))) {
                    Ok(false) => self.check_stop()?,
                    Err(error) if error.errno == Errno::INTR => self.check_stop()?,
                    // The call tells what is wrong.
                    Ok(true) | Err(_) => break,
                }
            }
        }
        Ok(if waited == 2 { WaitedFor::Both } else { WaitedFor::OneAtMost })
    }

    /// A pipe has no errors but EPIPE; so it is the other side that failed.
    fn of_splice(&self, error: CallError) -> PassError {
        let reads_file = fstat(self.source).is_ok_and(|stat| stat.kind() != Kind::Fifo);
        let side = match error.errno {
            Errno::PIPE => Side::Target,
            _ if reads_file => Side::Source,
            _ => Side::Target,
        };
        PassError { side, error: StreamError::Call(error) }
    }

    /// The kernel does not say which side was not ready.
    fn wait_for_both(&self) -> Result<(), PassError> {
        let of = |side| move |error| PassError { side, error };
        wait_briefly(self.source, Ready::ToRead).map_err(of(Side::Source))?;
        wait_briefly(self.target, Ready::ToWrite).map_err(of(Side::Target))
    }

    fn read_and_write(&mut self) -> Result<(), PassError> {
        let of = |side| move |error: StreamError| PassError { side, error };
        let mut buffer = AlignedBuffer::new(BUFFER_BYTES)
            .map_err(|error| of(Side::Source)(StreamError::Call(error)))?;
        while self.left() > 0 {
            self.check_stop()?;
            let most = usize::try_from(self.left()).unwrap_or(usize::MAX).min(buffer.len());
            let room = &mut buffer[..most];
            let (source, stop) = (self.source, self.passing.stop);
            let is_stopped = || stop.load(Ordering::Relaxed);
            let filled =
                when_ready_unless(is_stopped, source, Ready::ToRead, || read(source, &mut *room));
            let filled = match filled.map_err(of(Side::Source))? {
                0 => break,
                filled => filled,
            };
            let bytes = &buffer[..filled];
            write_stream(self.target, bytes, self.passing.stop)
                .1
                .map_or(Ok(()), |error| Err(of(Side::Target)(error)))?;
            self.moved(filled)?;
        }
        Ok(())
    }
}

/// An error of a call that reads and writes: the errnos that only writing has tell the side.
fn of_both(error: CallError) -> PassError {
    let side = match error.errno {
        Errno::NOSPC | Errno::DQUOT | Errno::FBIG | Errno::ROFS | Errno::PIPE => Side::Target,
        _ => Side::Source,
    };
    PassError { side, error: StreamError::Call(error) }
}
