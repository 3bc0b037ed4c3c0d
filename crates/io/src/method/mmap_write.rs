//! `mmap-write`: shows the source a window at a time at one address, and writes from there.
//!
//! The classic of Solaris' cp, where it saved a copy. On Linux it does, too, but setting up and
//! tearing down page tables costs more than the copy, so it is here to be measured and is never
//! chosen. A source that shrinks is an answer, `EFAULT`, for only the kernel looks at the window.

use haul_sys::data::pread;
use haul_sys::fs::fstat;
use haul_sys::{Call, Errno};

use super::{Attempt, Cause, Fit, Info, Method, RangeJob, Several, Want, Zeros, ended};
use crate::method::pair::Pair;
use crate::method::sides::Way;
use crate::system::fully::write_each;
use crate::system::kit::Kit;
use crate::system::quirk::ReportedSize;
use crate::system::retry::{requesting, retrying};

pub(super) struct MmapWrite;

/// Bytes of one window, as in the benchmark that made the method known.
const WINDOW_BYTES: usize = 8 << 20;

static INFO: Info = Info {
    name: "mmap-write",
    summary: "maps the source and writes from there, mmap(2) with MAP_POPULATE",
    several: Several::Can,
    way: Way::Cached,
};

impl Method for MmapWrite {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn fits(&self, pair: &Pair, want: &Want<'_>) -> Fit {
        if want.zeros == Zeros::Skip {
            return Fit::No("zeros are to become holes, and the window is not looked into");
        }
        if pair.source.reported_size == ReportedSize::Guessed {
            return Fit::No("the kernel makes these files up as they are read");
        }
        Fit::Unwise("page tables cost more than the copy that a mapping saves")
    }

    fn attempt(&self, job: &RangeJob<'_>, kit: &mut Kit) -> Attempt {
        let page = haul_sys::memory::page_bytes();
        let bytes = job.want.policy.request_bytes(WINDOW_BYTES) as u64;
        let window = match kit.window(usize::try_from(bytes.max(page)).unwrap_or(usize::MAX)) {
            Ok(window) => window,
            Err(error) => return ended(0, error),
        };
        let mut offset = job.source_offset;
        while offset < job.end {
            // A window begins on a page.
            let start = offset / page * page;
            // A mapping goes on with zeros up to the end of the page; the file may end before.
            let end = match fstat(job.source) {
                Ok(now) => job.end.min(now.size),
                Err(error) => return ended(offset - job.source_offset, error),
            };
            if end <= offset {
                break;
            }
            let length = usize::try_from(end - start).unwrap_or(usize::MAX).min(window.len());
            if let Err(error) = retrying(&job.watch, || window.show(job.source, start, length)) {
                return ended(offset - job.source_offset, error);
            }
            let shown = start + length as u64 - offset;
            let (written, cause) = write_each(shown, Call::Pwrite, |done| {
                if job.watch.stopped() {
                    return Err(Cause::Stopped);
                }
                let at = offset + done;
                let skip = usize::try_from(at - start).unwrap_or(length);
                requesting(&job.watch, || window.pwrite(job.target, skip, job.target_at(at)))
                    .inspect(|count| job.watch.moved(*count as u64))
                    .map_err(Cause::Call)
            });
            offset += written;
            match cause {
                None => {}
                Some(Cause::Call(error)) if error.errno == Errno::FAULT => {
                    return vanished(job, offset, error);
                }
                Some(Cause::Call(error)) => return ended(offset - job.source_offset, error),
                Some(cause) => {
                    return Attempt::Failed { written: offset - job.source_offset, cause };
                }
            }
        }
        Attempt::Done(offset - job.source_offset)
    }
}

/// Finds out why a page of the window is not there: reading says it in so many words.
fn vanished(job: &RangeJob<'_>, offset: u64, error: haul_sys::CallError) -> Attempt {
    let written = offset - job.source_offset;
    let mut byte = [0];
    match retrying(&job.watch, || pread(job.source, &mut byte, offset)) {
        Ok(0) => Attempt::Done(written),
        Ok(_) => Attempt::Failed { written, cause: Cause::Call(error) },
        Err(error) => ended(written, error),
    }
}
