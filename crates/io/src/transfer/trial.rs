//! Whether a second worker of a large file is worth its processor time.
//!
//! One worker moves pages through a pipe and copies each byte once. Two workers copy each byte twice, with a
//! buffer each, because the kernel makes their writes one after another; so they take more processor time.
//! Which of the two is faster depends on the file system, the processors, and what else these do. So
//! one worker moves the first bytes of a file, and two move the next ones. If two were faster, one moves some
//! more, because the first bytes are slower either way. What is left is moved in the better way.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Transfer;
use crate::method::Sharing;
use crate::method::job::FileJob;
use crate::method::report::{Compared, Speed};
use crate::method::shape::Shape;
use crate::method::sides::Way;
use crate::system::quirk::CachedWrites;

/// Smallest file that has a trial: in a smaller one, what a worker does in a few milliseconds would decide.
const TRIAL_BYTES: u64 = 256 << 20;

/// Part of the file that each way moves before the decision: long enough that one interruption does not
/// decide, and not more than the wrong way may cost.
const SHARE: u64 = 16;
const SHARE_BYTES: (u64, u64) = (32 << 20, 512 << 20);

/// Speed of two workers, in percent of that of one, from which on they are worth their processor time.
const GAIN_PERCENT: u128 = 110;

/// A trial of one file.
#[derive(Debug)]
pub(super) struct Trial {
    /// Number of bytes that each way moves.
    share: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// One worker moves bytes.
    Alone(Span),
    /// One worker has moved its share, at this speed; no other one has come.
    Waiting(Speed),
    /// Two workers move bytes.
    Together(Speed, Span),
    /// One worker moves bytes again, or is about to.
    Again(Speed, Span),
    /// It is known how the rest is to be moved.
    Decided(Compared),
}

/// Bytes that were drawn from a moment on.
#[derive(Debug)]
struct Span {
    /// Number of ranges that are not counted: each worker's first one.
    skipped: u32,
    since: Option<Instant>,
    bytes: u64,
}

impl Span {
    const fn after(skipped: u32) -> Span {
        Span { skipped, since: None, bytes: 0 }
    }

    /// Counts a range that is drawn now. Returns the speed once the ranges before it have that many bytes.
    fn count(&mut self, bytes: u64, share: u64, now: Instant) -> Option<Speed> {
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        let since = *self.since.get_or_insert(now);
        if self.bytes >= share {
            return Some(Speed { bytes: self.bytes, time: now.duration_since(since) });
        }
        self.bytes += bytes;
        None
    }
}

impl Trial {
    /// Returns a trial, if a transfer is to have one: nothing but the speed speaks for one worker or several.
    pub(super) fn of(job: &FileJob<'_>, sharing: Sharing, shape: Shape, way: Way) -> Option<Trial> {
        let pair = job.pair;
        let is_open = sharing == Sharing::Several
            && job.extent.is_none()
            && job.digests.is_none()
            && job.stat.size >= TRIAL_BYTES
            && shape == Shape::DENSE
            && way == Way::Cached
            && job.policy.takes_any_method(job.stat.size)
            && !pair.is_remote()
            && pair.target.cached_writes == CachedWrites::InTurn;
        is_open.then(|| Trial::over(job.stat.size))
    }

    fn over(file_bytes: u64) -> Trial {
        let (least, most) = SHARE_BYTES;
        let share = (file_bytes / SHARE).clamp(least, most);
        Trial { share, stage: Stage::Alone(Span::after(1)) }
    }

    /// Counts a range that is drawn now, while so many workers move the file.
    fn drawn(&mut self, bytes: u64, workers: usize, now: Instant) {
        let share = self.share;
        let next = match &mut self.stage {
            // Another one came with a part of another process, or has not left yet.
            Stage::Alone(_) | Stage::Again(..) if workers > 1 => None,
            Stage::Alone(span) => span.count(bytes, share, now).map(Stage::Waiting),
            Stage::Waiting(alone) => (workers > 1).then(|| Stage::Together(*alone, Span::after(2))),
            Stage::Together(alone, _) if workers < 2 => Some(Stage::Waiting(*alone)),
            Stage::Together(alone, span) => {
                let together = span.count(bytes, share, now);
                together.map(|two| match compare(*alone, two) {
                    Compared { took_two: true, .. } => Stage::Again(two, Span::after(1)),
                    compared => Stage::Decided(compared),
                })
            }
            Stage::Again(two, span) => {
                span.count(bytes, share, now).map(|one| Stage::Decided(compare(one, *two)))
            }
            Stage::Decided(_) => None,
        };
        if let Some(next) = next {
            self.stage = next;
        }
    }

    /// Returns whether the file has room for one worker only.
    const fn is_for_one(&self) -> bool {
        match self.stage {
            Stage::Alone(_) | Stage::Again(..) => true,
            Stage::Waiting(_) | Stage::Together(..) => false,
            Stage::Decided(compared) => !compared.took_two,
        }
    }

    /// Returns what was found out, if it was.
    pub(super) const fn result(&self) -> Option<Compared> {
        match self.stage {
            Stage::Decided(compared) => Some(compared),
            _ => None,
        }
    }
}

fn compare(one: Speed, two: Speed) -> Compared {
    let scaled = |speed: Speed, time: Duration| u128::from(speed.bytes) * time.as_nanos();
    let took_two = 100 * scaled(two, one.time) >= GAIN_PERCENT * scaled(one, two.time);
    Compared { one, two, took_two }
}

impl Transfer {
    /// Counts a range in the trial, and decides how it is moved.
    pub(super) fn try_out(&self, trial: &mut Trial, bytes: u64) {
        let workers = self.workers.load(Ordering::Relaxed);
        trial.drawn(bytes, workers, Instant::now());
        self.is_alone.store(workers < 2, Ordering::Relaxed);
        self.is_for_one.store(trial.is_for_one(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: u64 = 2 << 20;

    /// Draws ranges at this rate until one worker, or several, are to move the rest.
    struct Clock {
        trial: Trial,
        now: Instant,
    }

    impl Clock {
        fn new(file_bytes: u64) -> Clock {
            Clock { trial: Trial::over(file_bytes), now: Instant::now() }
        }

        /// Draws ranges until one has changed the stage, or so many bytes are drawn.
        fn draw(&mut self, workers: usize, micros: u64, most: u64) -> u64 {
            let before = std::mem::discriminant(&self.trial.stage);
            let mut drawn = 0;
            while drawn < most && std::mem::discriminant(&self.trial.stage) == before {
                self.trial.drawn(RANGE, workers, self.now);
                self.now += Duration::from_micros(micros);
                drawn += RANGE;
            }
            drawn
        }
    }

    #[test]
    fn the_faster_way_moves_the_rest() {
        for (alone, together, is_one) in [
            (400, 400, true),
            (400, 300, false),
            (400, 364, true),
            (400, 363, false),
            (300, 900, true),
        ] {
            let mut clock = Clock::new(1 << 30);
            assert!(clock.trial.is_for_one());
            // The first range and the one that ends the share are not counted.
            assert_eq!(clock.draw(1, alone, u64::MAX), (64 << 20) + 2 * RANGE);
            assert!(!clock.trial.is_for_one(), "a second worker may come");
            clock.draw(2, together, u64::MAX);
            clock.draw(2, together, u64::MAX);
            assert!(clock.trial.is_for_one(), "the second worker leaves");
            if matches!(clock.trial.stage, Stage::Again(..)) {
                clock.draw(1, alone, u64::MAX);
            }
            assert_eq!(clock.trial.is_for_one(), is_one, "{alone} and {together} µs a range");
            assert_eq!(clock.trial.result().map(|it| it.took_two), Some(!is_one));
            clock.draw(2, 1, 1 << 30);
            assert_eq!(clock.trial.is_for_one(), is_one, "it stays so");
        }
    }

    #[test]
    fn the_first_bytes_alone_do_not_speak_for_several_workers() {
        let mut clock = Clock::new(1 << 30);
        clock.draw(1, 800, u64::MAX);
        clock.draw(2, 400, u64::MAX);
        clock.draw(2, 400, u64::MAX);
        assert!(matches!(clock.trial.stage, Stage::Again(..)));
        // Ranges that are drawn before the second worker has left do not count.
        clock.draw(2, 900, 8 << 20);
        clock.draw(1, 400, u64::MAX);
        assert_eq!(clock.trial.result().map(|it| it.took_two), Some(false));
    }

    #[test]
    fn a_worker_that_leaves_ends_the_comparison_and_another_one_begins_it_again() {
        let mut clock = Clock::new(1 << 30);
        clock.draw(1, 400, u64::MAX);
        clock.draw(1, 400, 512 << 20);
        assert!(matches!(clock.trial.stage, Stage::Waiting(_)));
        clock.draw(2, 100, u64::MAX);
        clock.draw(2, 100, 32 << 20);
        clock.draw(1, 100, u64::MAX);
        assert!(matches!(clock.trial.stage, Stage::Waiting(_)));
        clock.draw(2, 500, u64::MAX);
        clock.draw(2, 500, u64::MAX);
        assert_eq!(clock.trial.result().map(|it| it.took_two), Some(false));
    }

    #[test]
    fn each_way_moves_a_sixteenth_of_a_file_within_limits() {
        for (file, share) in [(256, 32), (1024, 64), (1 << 20, 512)] {
            assert_eq!(Trial::over(file << 20).share, share << 20);
        }
    }
}
