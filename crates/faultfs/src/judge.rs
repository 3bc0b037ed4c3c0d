//! Counts requests, and says what becomes of each: its delay, and what the rules make of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::operation::OPERATIONS;
use crate::{Config, Effect, Operation, Rule, When};

/// What is known of one kind of request so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests that arrived.
    pub requests: u64,
    /// Bytes that they were for.
    pub bytes: u64,
    /// The bytes of the largest of them.
    pub largest: u64,
    /// The most that were on their way at once.
    pub in_flight: u64,
}

#[derive(Debug, Default)]
struct Count {
    requests: AtomicU64,
    bytes: AtomicU64,
    largest: AtomicU64,
    now: AtomicU64,
    most: AtomicU64,
}

/// What a request is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) operation: Operation,
    pub(crate) name: &'a [u8],
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// It fails with this.
    pub(crate) errno: Option<i32>,
    /// It moves no more than this.
    pub(crate) short: Option<usize>,
    pub(crate) flips: bool,
    pub(crate) is_lost: bool,
    pub(crate) all_hole: bool,
    pub(crate) all_data: bool,
    /// A size that is told instead of the true one.
    pub(crate) size: Option<u64>,
    /// Blocks that are told instead of the true ones.
    pub(crate) blocks: Option<u64>,
    /// How much longer an attribute is than it was said to be.
    pub(crate) grown: usize,
    /// It is answered after this time.
    pub(crate) wait: Duration,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// All counts and rules of a mount.
#[derive(Debug)]
pub(crate) struct Judge {
    data_delay: Duration,
    metadata_delay: Duration,
    counts: Vec<Arc<Count>>,
    rules: Vec<Counted>,
}

/// A request that is on its way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Count>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Judge {
    pub(crate) fn new(config: &Config) -> Judge {
        let counted = |rule: &Rule| Counted {
            rule: rule.clone(),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Judge {
            data_delay: config.data_delay,
            metadata_delay: config.metadata_delay,
            counts: OPERATIONS.iter().map(|_| Arc::default()).collect(),
            rules: config.rules.iter().map(counted).collect(),
        }
    }

    pub(crate) fn seen(&self, operation: Operation) -> Seen {
        let count = &self.counts[operation as usize];
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Seen {
            requests: read(&count.requests),
            bytes: read(&count.bytes),
            largest: read(&count.largest),
            in_flight: read(&count.most),
        }
    }

    /// Takes a request in: it is on its way until what is returned is dropped.
    pub(crate) fn receive(&self, about: &About<'_>) -> (UnderWay, Verdict) {
        let count = &self.counts[about.operation as usize];
        count.requests.fetch_add(1, Ordering::Relaxed);
        count.bytes.fetch_add(about.bytes, Ordering::Relaxed);
        count.largest.fetch_max(about.bytes, Ordering::Relaxed);
        let now = count.now.fetch_add(1, Ordering::Relaxed) + 1;
        count.most.fetch_max(now, Ordering::Relaxed);
        let under_way = UnderWay(Arc::clone(count));
        let mut verdict = self.verdict(about);
        verdict.wait +=
            if about.operation.moves_data() { self.data_delay } else { self.metadata_delay };
        (under_way, verdict)
    }

    /// Applies all rules; each counts the requests that it is about.
    fn verdict(&self, about: &About<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for counted in &self.rules {
            let rule = &counted.rule;
            if rule.operation != about.operation || !rule.is_about(about.name) {
                continue;
            }
            let number = counted.requests.fetch_add(1, Ordering::Relaxed) + 1;
            let before = counted.bytes.fetch_add(about.bytes, Ordering::Relaxed);
            let applies = match rule.when {
                When::Always => true,
                When::Nth(nth) => number == nth,
                When::From(first) => number >= first,
                When::Offset(at) => (about.offset..about.offset + about.bytes).contains(&at),
                When::Within(from, to) => about.offset < to && from < about.offset + about.bytes,
                When::After(border) => {
                    let left = border.saturating_sub(before);
                    if left > 0 && left < about.bytes {
                        verdict.shorten(usize::try_from(left).unwrap_or(usize::MAX));
                    }
                    left == 0
                }
            };
            if applies {
                verdict.take(rule.effect);
            }
        }
        verdict
    }
}

impl Verdict {
    fn shorten(&mut self, most: usize) {
        self.short = Some(self.short.map_or(most, |short| short.min(most)));
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Errno(errno) => self.errno = Some(errno),
            Effect::Short(most) => self.shorten(most),
            Effect::Flip => self.flips = true,
            Effect::Lose => self.is_lost = true,
            Effect::Hole => self.all_hole = true,
            Effect::Data => self.all_data = true,
            Effect::Size(size) => self.size = Some(size),
            Effect::Blocks(count) => self.blocks = Some(count),
            Effect::Grow(bytes) => self.grown = bytes,
            Effect::Wait(time) => self.wait += time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(offset: u64, bytes: u64) -> About<'static> {
        About { operation: Operation::Write, name: b"a", offset, bytes }
    }

    fn judge(rule: &str) -> Judge {
        Judge::new(&Config { rules: vec![rule.parse().unwrap()], ..Config::default() })
    }

    #[test]
    fn the_nth_is_one_and_from_is_many() {
        let (nth, from) = (judge("write@2=EIO"), judge("write@2+=EIO"));
        let errno = |judge: &Judge| judge.receive(&write(0, 1)).1.errno;
        assert_eq!([errno(&nth), errno(&nth), errno(&nth)], [None, Some(5), None]);
        assert_eq!([errno(&from), errno(&from), errno(&from)], [None, Some(5), Some(5)]);
    }

    #[test]
    fn what_crosses_the_border_falls_short() {
        let judge = judge("write@after=10=ENOSPC");
        let of = |bytes| {
            let verdict = judge.receive(&write(0, bytes)).1;
            (verdict.short, verdict.errno)
        };
        assert_eq!(of(6), (None, None));
        assert_eq!(of(6), (Some(4), None));
        assert_eq!(of(6), (None, Some(28)));
    }

    #[test]
    fn an_offset_is_one_byte() {
        let judge = judge("write@offset=100=EIO");
        let errno = |offset| judge.receive(&write(offset, 10)).1.errno;
        assert_eq!([errno(90), errno(91), errno(100), errno(101)], [None, Some(5), Some(5), None]);
    }

    #[test]
    fn a_range_is_every_byte_in_it() {
        let judge = judge("write@in=100-200=EIO");
        let errno = |offset| judge.receive(&write(offset, 10)).1.errno;
        assert_eq!([errno(90), errno(91), errno(199), errno(200)], [None, Some(5), Some(5), None]);
    }

    #[test]
    fn requests_are_counted() {
        let judge = judge("read=EIO");
        judge.receive(&write(0, 7));
        let held = judge.receive(&write(7, 3));
        let seen = judge.seen(Operation::Write);
        assert_eq!(seen, Seen { requests: 2, bytes: 10, largest: 7, in_flight: 1 });
        drop(held);
        assert_eq!(judge.seen(Operation::Read), Seen::default());
    }
}
