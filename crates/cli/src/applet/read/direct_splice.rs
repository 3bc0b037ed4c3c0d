//! Direct splice: where the reader of the pipe is slower than the storage, haul copies no byte on the way.

use haul_io::stream::{Side, Watch};

use crate::progress::Tally;

/// Bytes after which it is looked which side was waited for.
const LOOK_BYTES: u64 = 32 << 20;

/// The ratio of the waits for the pipe and for the file above which the reader of the pipe is the
/// slower one.
const SLOWER: u64 = 4;

/// What is known of both sides since the last look.
pub(super) struct Look<'t> {
    tally: &'t Tally,
    bytes: u64,
    waits: (u64, u64),
}

impl<'t> Look<'t> {
    pub(super) fn new(tally: &'t Tally) -> Look<'t> {
        Look { tally, bytes: 0, waits: tally.waits() }
    }

    /// Counts bytes that were moved. Returns how long the file and the pipe were waited for since the
    /// last look, in nanoseconds, when it is time for one.
    fn moved(&mut self, bytes: u64) -> Option<(u64, u64)> {
        self.bytes += bytes;
        if self.bytes < LOOK_BYTES {
            return None;
        }
        let (before, now) = (self.waits, self.tally.waits());
        (self.bytes, self.waits) = (0, now);
        Some((now.0 - before.0, now.1 - before.1))
    }

    /// Counts bytes that were moved. Returns whether the reader of the pipe is slower than the file.
    pub(super) fn shows_a_slow_reader(&mut self, bytes: u64) -> bool {
        self.moved(bytes).is_some_and(|(file, pipe)| pipe / SLOWER >= file)
    }
}

impl Watch for Look<'_> {
    fn waiting<T>(&self, side: Side, call: impl FnOnce() -> T) -> T {
        self.tally.waiting(side, call)
    }

    /// It continues until the file is the slower side.
    fn moved(&mut self, bytes: u64) -> bool {
        self.tally.moved(bytes);
        Look::moved(self, bytes).is_none_or(|(file, pipe)| file <= pipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_tells_who_is_slower() {
        let tally = Tally::new(None);
        let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
        let mut look = Look::new(&tally);
        tally.waiting(Side::Target, pause);
        assert!(!look.shows_a_slow_reader(LOOK_BYTES - 1), "it is not time");
        assert!(look.shows_a_slow_reader(1));
        tally.waiting(Side::Source, pause);
        assert!(!look.shows_a_slow_reader(LOOK_BYTES));
        tally.waiting(Side::Source, pause);
        assert!(Watch::moved(&mut look, LOOK_BYTES - 1), "it is not time");
        assert!(!Watch::moved(&mut look, 1), "the file is slower");
        tally.waiting(Side::Target, pause);
        assert!(Watch::moved(&mut look, LOOK_BYTES));
    }
}
