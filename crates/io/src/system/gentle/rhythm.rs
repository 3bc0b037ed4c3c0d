//! The rhythm of a worker of a gentle run: for how long it has worked, and which rest it owes for that.

use std::time::Duration;

use super::ALL;

/// A rest that is owed is taken when it is as long as this: shorter sleeps are less exact.
const SHORTEST: Duration = Duration::from_millis(2);

/// The longest rest at a time, and the longest work that counts: a worker may have waited for another one.
const LONGEST: Duration = Duration::from_millis(200);

/// When a worker rested last, and what it owes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    /// Since the governor's beginning.
    resumed: Option<Duration>,
    owed: Duration,
}

impl Rhythm {
    /// A worker that has not worked yet.
    pub(super) const NEW: Rhythm = Rhythm { resumed: None, owed: Duration::ZERO };

    /// Takes note that the worker goes on.
    pub(super) fn resume(&mut self, now: Duration) {
        self.resumed = Some(now);
    }

    /// Leaves out a time in which the worker has waited for another program.
    pub(super) fn without(self, time: Duration) -> Rhythm {
        Rhythm { resumed: self.resumed.map(|since| since + time), ..self }
    }

    /// Returns how long the worker has worked.
    pub(super) fn worked(self, now: Duration) -> Duration {
        self.resumed.map_or(Duration::ZERO, |since| now.saturating_sub(since)).min(LONGEST)
    }

    /// Returns the rest that is due after so much work, or nothing as long as it is too short to be taken.
    pub(super) fn due(&mut self, worked: Duration, share: u32) -> Duration {
        if share >= ALL {
            self.owed = Duration::ZERO;
            return Duration::ZERO;
        }
        self.owed = (self.owed + worked * (ALL - share) / share.max(1)).min(LONGEST);
        if self.owed < SHORTEST { Duration::ZERO } else { std::mem::take(&mut self.owed) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LEAST;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn work_is_followed_by_rest_in_proportion() {
        let mut rhythm = Rhythm::NEW;
        assert_eq!(rhythm.due(30 * MS, ALL / 4), 90 * MS);
        assert_eq!(rhythm.due(30 * MS, ALL), Duration::ZERO);
        // Short rests add up.
        assert_eq!(rhythm.due(MS, ALL / 2), Duration::ZERO);
        assert_eq!(rhythm.due(MS, ALL / 2), 2 * MS);
        assert_eq!(rhythm.due(100 * MS, LEAST), LONGEST);
        let rhythm = Rhythm { resumed: Some(5 * MS), owed: Duration::ZERO };
        assert_eq!(rhythm.worked(12 * MS), 7 * MS);
        assert_eq!(rhythm.without(4 * MS).worked(12 * MS), 3 * MS);
        assert_eq!(rhythm.without(4 * MS).without(4 * MS).worked(12 * MS), Duration::ZERO);
        assert_eq!(rhythm.worked(Duration::from_secs(9)), LONGEST);
        assert_eq!(Rhythm::NEW.worked(9 * MS), Duration::ZERO);
    }
}
