//! Counts requests and decides the result of each: its delay, and the faults that the rules inject.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::operation::OPERATIONS;
use crate::{Config, Effect, Operation, Rule, When};

/// Statistics of one kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestStats {
    /// Number of requests received.
    pub requests: u64,
    /// Total of the bytes requested.
    pub bytes: u64,
    /// Bytes of the largest request.
    pub largest: u64,
    /// Maximum number of requests in flight at once.
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

/// The parts of a request that rules match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestInfo<'a> {
    pub(crate) operation: Operation,
    pub(crate) name: &'a [u8],
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The result that the rules give a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decision {
    /// Error of the request.
    pub(crate) errno: Option<i32>,
    /// Maximum number of bytes to move.
    pub(crate) short: Option<usize>,
    pub(crate) flips: bool,
    pub(crate) is_lost: bool,
    pub(crate) all_hole: bool,
    pub(crate) all_data: bool,
    /// Size to report instead of the true one.
    pub(crate) size: Option<u64>,
    /// Block count to report instead of the true one.
    pub(crate) blocks: Option<u64>,
    /// How many bytes an attribute is longer than its reported length.
    pub(crate) grown: usize,
    /// Delay of the reply.
    pub(crate) wait: Duration,
}

#[derive(Debug)]
struct Counted {
    rule: Rule,
    requests: AtomicU64,
    bytes: AtomicU64,
}

/// All counters and rules of a mount.
#[derive(Debug)]
pub(crate) struct Injector {
    data_delay: Duration,
    metadata_delay: Duration,
    counts: Vec<Arc<Count>>,
    rules: Vec<Counted>,
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Count>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Injector {
    pub(crate) fn new(config: &Config) -> Injector {
        let counted = |rule: &Rule| Counted {
            rule: rule.clone(),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        };
        Injector {
            data_delay: config.data_delay,
            metadata_delay: config.metadata_delay,
            counts: OPERATIONS.iter().map(|_| Arc::default()).collect(),
            rules: config.rules.iter().map(counted).collect(),
        }
    }

    pub(crate) fn seen(&self, operation: Operation) -> RequestStats {
        let count = &self.counts[operation as usize];
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RequestStats {
            requests: read(&count.requests),
            bytes: read(&count.bytes),
            largest: read(&count.largest),
            in_flight: read(&count.most),
        }
    }

    /// Counts a request, which is in flight until the returned guard is dropped, and decides its
    /// result.
    pub(crate) fn receive(&self, request: &RequestInfo<'_>) -> (InFlight, Decision) {
        let count = &self.counts[request.operation as usize];
        count.requests.fetch_add(1, Ordering::Relaxed);
        count.bytes.fetch_add(request.bytes, Ordering::Relaxed);
        count.largest.fetch_max(request.bytes, Ordering::Relaxed);
        let now = count.now.fetch_add(1, Ordering::Relaxed) + 1;
        count.most.fetch_max(now, Ordering::Relaxed);
        let in_flight = InFlight(Arc::clone(count));
        let mut decision = self.decide(request);
        decision.wait +=
            if request.operation.moves_data() { self.data_delay } else { self.metadata_delay };
        (in_flight, decision)
    }

    /// Applies all rules; each counts the requests that it matches.
    fn decide(&self, request: &RequestInfo<'_>) -> Decision {
        let mut decision = Decision::default();
        for counted in &self.rules {
            let rule = &counted.rule;
            if rule.operation != request.operation || !rule.matches_name(request.name) {
                continue;
            }
            let number = counted.requests.fetch_add(1, Ordering::Relaxed) + 1;
            let before = counted.bytes.fetch_add(request.bytes, Ordering::Relaxed);
            let applies = match rule.when {
                When::Always => true,
                When::Nth(nth) => number == nth,
                When::From(first) => number >= first,
                When::Offset(at) => (request.offset..request.offset + request.bytes).contains(&at),
                When::Within(from, to) => {
                    request.offset < to && from < request.offset + request.bytes
                }
                When::After(border) => {
                    let left = border.saturating_sub(before);
                    if left > 0 && left < request.bytes {
                        decision.shorten(usize::try_from(left).unwrap_or(usize::MAX));
                    }
                    left == 0
                }
            };
            if applies {
                decision.take(rule.effect);
            }
        }
        decision
    }
}

impl Decision {
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

    fn write(offset: u64, bytes: u64) -> RequestInfo<'static> {
        RequestInfo { operation: Operation::Write, name: b"a", offset, bytes }
    }

    fn injector(rule: &str) -> Injector {
        Injector::new(&Config { rules: vec![rule.parse().unwrap()], ..Config::default() })
    }

    #[test]
    fn the_nth_is_one_and_from_is_many() {
        let (nth, from) = (injector("write@2=EIO"), injector("write@2+=EIO"));
        let errno = |injector: &Injector| injector.receive(&write(0, 1)).1.errno;
        assert_eq!([errno(&nth), errno(&nth), errno(&nth)], [None, Some(5), None]);
        assert_eq!([errno(&from), errno(&from), errno(&from)], [None, Some(5), Some(5)]);
    }

    #[test]
    fn what_crosses_the_border_falls_short() {
        let injector = injector("write@after=10=ENOSPC");
        let of = |bytes| {
            let decision = injector.receive(&write(0, bytes)).1;
            (decision.short, decision.errno)
        };
        assert_eq!(of(6), (None, None));
        assert_eq!(of(6), (Some(4), None));
        assert_eq!(of(6), (None, Some(28)));
    }

    #[test]
    fn an_offset_is_one_byte() {
        let injector = injector("write@offset=100=EIO");
        let errno = |offset| injector.receive(&write(offset, 10)).1.errno;
        assert_eq!([errno(90), errno(91), errno(100), errno(101)], [None, Some(5), Some(5), None]);
    }

    #[test]
    fn a_range_is_every_byte_in_it() {
        let injector = injector("write@in=100-200=EIO");
        let errno = |offset| injector.receive(&write(offset, 10)).1.errno;
        assert_eq!([errno(90), errno(91), errno(199), errno(200)], [None, Some(5), Some(5), None]);
    }

    #[test]
    fn requests_are_counted() {
        let injector = injector("read=EIO");
        injector.receive(&write(0, 7));
        let held = injector.receive(&write(7, 3));
        let seen = injector.seen(Operation::Write);
        assert_eq!(seen, RequestStats { requests: 2, bytes: 10, largest: 7, in_flight: 1 });
        drop(held);
        assert_eq!(injector.seen(Operation::Read), RequestStats::default());
    }
}
