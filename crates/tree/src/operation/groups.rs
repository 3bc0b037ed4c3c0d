//! Which allocation groups workers are in, so that each worker chooses a group of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of groups that are told apart. A larger file system has more groups than a machine has
/// workers, so that two groups that share a slot cost a choice and nothing else.
const SLOTS: usize = 64;

/// Number of waiting directories among which a worker chooses. XFS gives new directories to its groups
/// in turn, so that a few are enough; and a choice far down the stack would leave more waiting.
const CHOICES: usize = 16;

/// Weight of a worker in a group, and of one that was there before. XFS frees the inodes of removed files
/// in the background, so that a group stays busy for a while after a worker has left it.
const PRESENT: usize = 1 << 16;
const LEFT: usize = 1;

/// Weight of the workers in each group.
pub(crate) struct Groups([AtomicUsize; SLOTS]);

impl Groups {
    pub(crate) const fn new() -> Groups {
        Groups([const { AtomicUsize::new(0) }; SLOTS])
    }

    fn slot(&self, group: u64) -> &AtomicUsize {
        // The remainder is below the number of slots.
        let slot = usize::try_from(group % SLOTS as u64).unwrap_or(0);
        &self.0[slot]
    }

    /// Counts a worker that enters a directory of this group.
    pub(crate) fn enter(&self, group: u64) {
        self.slot(group).fetch_add(PRESENT, Ordering::Relaxed);
    }

    /// Counts a worker of this group as one that was there.
    pub(crate) fn leave(&self, group: u64) {
        self.slot(group).fetch_sub(PRESENT - LEFT, Ordering::Relaxed);
    }

    /// Counts a worker that was in this group no longer.
    pub(crate) fn forget(&self, group: u64) {
        self.slot(group).fetch_sub(LEFT, Ordering::Relaxed);
    }

    /// Returns the position of the newest job of a stack in whose group the fewest other workers are, and
    /// among these, the fewest others have been before; preferably in the group `own`, which the caller
    /// has just left. The newest job if it has no group. The search ends at the first job without a group.
    pub(crate) fn choose<J>(
        &self,
        stack: &[J],
        own: Option<u64>,
        group: impl Fn(&J) -> Option<u64>,
    ) -> Option<usize> {
        let newest = stack.len().checked_sub(1)?;
        let choices = stack.iter().enumerate().rev().take(CHOICES);
        let least = choices
            .map_while(|(position, job)| group(job).map(|group| (position, group)))
            .min_by_key(|(_, group)| {
                let is_own = Some(*group) == own;
                let weight = self.slot(*group).load(Ordering::Relaxed);
                (weight.saturating_sub(if is_own { LEFT } else { 0 }), !is_own)
            });
        Some(least.map_or(newest, |(position, _)| position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(groups: &Groups, stack: &[Option<u64>]) -> Option<usize> {
        groups.choose(stack, None, |job| *job)
    }

    #[test]
    fn the_newest_job_of_a_free_group_is_chosen() {
        let groups = Groups::new();
        let stack = [Some(1), Some(2), Some(3), Some(3)];
        assert_eq!(chosen(&groups, &stack), Some(3));
        groups.enter(3);
        assert_eq!(chosen(&groups, &stack), Some(1));
        groups.enter(2);
        assert_eq!(chosen(&groups, &stack), Some(0));
        groups.enter(1);
        assert_eq!(chosen(&groups, &stack), Some(3), "all are taken");
        groups.leave(3);
        groups.forget(3);
        assert_eq!(chosen(&groups, &stack), Some(3));
        groups.enter(1);
        groups.enter(3);
        groups.enter(3);
        assert_eq!(chosen(&groups, &stack), Some(1), "the others have two workers each");
    }

    #[test]
    fn a_group_that_a_worker_has_left_is_chosen_before_one_that_has_a_worker() {
        let groups = Groups::new();
        let stack = [Some(1), Some(2), Some(3), Some(3)];
        groups.enter(3);
        groups.leave(3);
        assert_eq!(chosen(&groups, &stack), Some(1), "the group of before is still busy");
        groups.enter(2);
        groups.enter(1);
        assert_eq!(chosen(&groups, &stack), Some(3));
        for group in [1, 2] {
            groups.leave(group);
        }
        assert_eq!(chosen(&groups, &stack), Some(3), "all have been left by one");
        groups.forget(2);
        assert_eq!(chosen(&groups, &stack), Some(1));
    }

    #[test]
    fn the_search_ends_where_it_would_leave_too_much_waiting() {
        let groups = Groups::new();
        groups.enter(1);
        assert_eq!(chosen(&groups, &[Some(2), None, Some(1)]), Some(2), "a job without a group");
        let mut stack = vec![Some(2)];
        stack.resize(CHOICES + 1, Some(1));
        assert_eq!(chosen(&groups, &stack), Some(CHOICES), "the free one is too far down");
        assert_eq!(chosen(&groups, &stack[..CHOICES]), Some(0));
        assert_eq!(chosen(&groups, &[]), None);
        assert_eq!(chosen(&groups, &[Some(2), None]), Some(1));
    }

    #[test]
    fn a_worker_stays_in_its_own_group_as_long_as_it_has_it_alone() {
        let groups = Groups::new();
        groups.enter(1);
        groups.leave(1);
        let chosen = |stack: &[Option<u64>]| groups.choose(stack, Some(1), |job| *job);
        assert_eq!(chosen(&[Some(2), Some(1), Some(3)]), Some(1));
        groups.enter(1);
        assert_eq!(chosen(&[Some(2), Some(1), Some(3)]), Some(2), "another worker came");
        groups.leave(1);
        assert_eq!(chosen(&[Some(2), Some(1), Some(3)]), Some(2), "and has just left");
        assert_eq!(chosen(&[Some(1)]), Some(0));
    }

    #[test]
    fn groups_that_share_a_slot_are_one() {
        let groups = Groups::new();
        groups.enter(5 + SLOTS as u64);
        assert_eq!(chosen(&groups, &[Some(6), Some(5)]), Some(0));
    }
}
