//! What is done to a target before any worker moves bytes: blocks are shared, space is reserved.

use std::sync::atomic::Ordering;

use haul_sys::data::{Allocate, fallocate};

use super::Transfer;
use crate::method::error::DataError;
use crate::method::job::FileJob;
use crate::method::ladder::{attempt, data_error};
use crate::method::policy::{Choice, Reflink};
use crate::method::report::{Refusal, Why};
use crate::method::shape::Shape;
use crate::method::sides::{Way, Which};
use crate::method::{Attempt, Fit, MethodId, Sharing};
use crate::system::errno::{Memory, Verdict, verdict};
use crate::system::kit::{Kit, Watch};
use crate::system::quirk::{Extension, Preallocate};
use crate::system::retry::retrying;
use crate::system::segment::Map;

/// From this size on space is reserved before writing; below it the transaction costs more than
/// it saves.
const PREALLOCATE_BYTES: u64 = 4 << 20;

impl Transfer {
    /// Shares the source's blocks where that is possible, which ends the transfer, and reserves
    /// space where that pays. One worker calls it, before any works. One part among others is prepared by
    /// the process that completes the file.
    pub fn prepare(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
    ) -> Result<(), DataError> {
        if job.is_part_among_others() {
            return Ok(());
        }
        // A worker alone that draws the whole file meets this method on the ladder.
        let meets_it = self.sharing == Sharing::Sole && self.draw_bytes(job) == u64::MAX;
        if self.shape.map == Map::Ask || !meets_it {
            self.share_blocks(job, kit, watch)?;
        }
        let pays = job.ends_target() && job.pair.target.preallocate == Preallocate::Pays;
        if self.must_not_extend(job) {
            self.draws.lock().reserved = true;
            job.set_size_below(&watch)?;
        }
        if self.shape == Shape::DENSE
            && pays
            && job.bytes() >= PREALLOCATE_BYTES
            && !self.ended.load(Ordering::Relaxed)
            && !self.expects_reflink(job)
        {
            let to = job.in_target(&job.wanted());
            let reserve = || fallocate(job.target, to.start, job.bytes(), Allocate::KeepSize);
            let is_stopped = || watch.stopped();
            match job.pair.space.retry(job.target, is_stopped, || retrying(&watch, reserve)) {
                Ok(()) => self.reserved(job, &watch)?,
                Err(error) => match verdict(error.call, error.errno) {
                    // Writing will allocate; or the run is being stopped.
                    Verdict::NextMethod(_) | Verdict::Retry => {}
                    Verdict::Flush | Verdict::Fail => return Err(error.into()),
                },
            }
        }
        Ok(())
    }

    /// Books that space was reserved. Direct writes that extend a file are made one at a time, so
    /// there the size is set as well: to less than the source's, by the block that comes last.
    fn reserved(&self, job: &FileJob<'_>, watch: &Watch<'_>) -> Result<(), DataError> {
        self.draws.lock().reserved = true;
        if self.keeper.sides.way(Which::Target) == Way::Direct {
            job.set_size_below(watch)?;
        }
        Ok(())
    }

    /// Tells whether writes of several workers would be made one after another because they extend
    /// the file: a client of a server holds the file's lock while it waits for such a write. Where
    /// is known of the file system they may: some file systems fill what lies before a length with zeros.
    fn must_not_extend(&self, job: &FileJob<'_>) -> bool {
        self.sharing == Sharing::Several
            && job.pair.target.is_remote()
            && job.pair.target.extension == Extension::Hole
            && self.shape == Shape::DENSE
            && job.bytes() > 0
            && !self.ended.load(Ordering::Relaxed)
    }

    /// Tells whether the whole file will be tried as a reflink first, for then space that was
    /// reserved would be thrown away again.
    fn expects_reflink(&self, job: &FileJob<'_>) -> bool {
        let want = self.want(job, self.portion(job, &job.wanted()));
        self.sharing == Sharing::Sole
            && !job.pair.is_refused(MethodId::Reflink)
            && job.digests.is_none()
            && matches!(job.policy.choice, Choice::Auto | Choice::Only(MethodId::Reflink))
            && MethodId::Reflink.method().fits(job.pair, &want) == Fit::Yes
    }

    fn share_blocks(
        &self,
        job: &FileJob<'_>,
        kit: &mut Kit,
        watch: Watch<'_>,
    ) -> Result<(), DataError> {
        let reflink = MethodId::Reflink.method();
        if job.digests.is_some() && job.policy.reflink != Reflink::Always {
            // Sharing blocks shows no bytes to the digests.
            return Ok(());
        }
        let must = match job.policy.choice {
            Choice::Only(MethodId::Reflink) => true,
            Choice::Only(_) => return Ok(()),
            Choice::Auto => job.policy.reflink == Reflink::Always,
        };
        let portion = self.portion(job, &job.wanted());
        match reflink.fits(job.pair, &self.want(job, portion)) {
            Fit::Yes if must || !job.pair.is_refused(MethodId::Reflink) => {}
            Fit::Unwise(_) if must => {}
            Fit::No(why) if must => {
                return Err(DataError::Unfit { method: MethodId::Reflink, why });
            }
            _ => return Ok(()),
        }
        let mut range = self.range_job(job, job.wanted(), watch);
        match attempt(reflink, &mut range, kit).0 {
            Attempt::Done(bytes) => {
                self.moved.store(bytes, Ordering::Relaxed);
                self.method.store(MethodId::Reflink.index(), Ordering::Relaxed);
                self.ended.store(true, Ordering::Relaxed);
                Ok(())
            }
            Attempt::NextMethod { cause, .. } if !must => {
                if verdict(cause.call, cause.errno) == Verdict::NextMethod(Memory::Pair) {
                    job.pair.refuse(MethodId::Reflink);
                }
                if let Some(told) = &self.told {
                    let mut notes = told.notes.lock();
                    notes.push(Refusal { method: MethodId::Reflink, why: Why::Refused(cause) });
                }
                Ok(())
            }
            Attempt::NextMethod { cause, .. } => Err(cause.into()),
            Attempt::Failed { cause, .. } => Err(data_error(cause)),
        }
    }
}
