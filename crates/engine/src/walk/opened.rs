//! The order in which directories were opened, and how many may stay open.
//!
//! The oldest are closed first: in a depth-first walk those are needed last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A node that holds a directory open.
pub(crate) trait Holds {
    /// Tells whether it does.
    fn is_open(&self) -> bool;

    /// Closes it, if it can be opened again.
    fn close(&self);
}

/// Nodes whose directories are open.
pub(crate) struct Opened<N> {
    most: usize,
    nodes: Mutex<VecDeque<Weak<N>>>,
}

impl<N: Holds> Opened<N> {
    pub(crate) const fn new(most: usize) -> Opened<N> {
        Opened { most, nodes: Mutex::new(VecDeque::new()) }
    }

    /// How many may stay open.
    pub(crate) const fn most(&self) -> usize {
        self.most
    }

    /// Takes in a node that was opened, and closes the oldest ones beyond the budget.
    pub(crate) fn add(&self, node: &Arc<N>) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        // In a depth-first walk those that are done are the newest.
        while nodes.back().is_some_and(|node| node.strong_count() == 0) {
            nodes.pop_back();
        }
        nodes.push_back(Arc::downgrade(node));
        if nodes.len() <= self.most {
            return;
        }
        nodes.retain(|node| node.upgrade().is_some_and(|node| node.is_open()));
        while nodes.len() > self.most {
            let Some(oldest) = nodes.pop_front() else { return };
            if let Some(node) = oldest.upgrade() {
                node.close();
            }
        }
    }

    /// Closes all of them, for the descriptors are needed.
    pub(crate) fn close_all(&self) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        for node in nodes.drain(..).filter_map(|node| node.upgrade()) {
            node.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    struct Door(AtomicBool);

    impl Holds for Door {
        fn is_open(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }

        fn close(&self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }

    fn doors(count: usize) -> Vec<Arc<Door>> {
        (0..count).map(|_| Arc::new(Door(AtomicBool::new(true)))).collect()
    }

    fn open(doors: &[Arc<Door>]) -> Vec<bool> {
        doors.iter().map(|door| door.is_open()).collect()
    }

    #[test]
    fn the_oldest_are_closed_beyond_the_budget() {
        let (opened, doors) = (Opened::new(2), doors(4));
        for door in &doors {
            opened.add(door);
        }
        assert_eq!(open(&doors), [false, false, true, true]);
        opened.close_all();
        assert_eq!(open(&doors), [false; 4]);
    }

    #[test]
    fn what_is_done_or_closed_counts_no_more() {
        let (opened, mut doors) = (Opened::new(2), doors(4));
        opened.add(&doors[0]);
        opened.add(&doors[1]);
        doors[1].close();
        opened.add(&doors[2]);
        assert_eq!(open(&doors), [true, false, true, true]);
        doors.remove(2);
        opened.add(&doors[2]);
        assert_eq!(open(&doors), [true, false, true]);
    }
}
