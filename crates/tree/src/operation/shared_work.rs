//! Work on one file that several workers do together, as a worker deals with it.

use std::sync::Arc;

use super::worker::{Joinable, Worker};
use super::{Operation, Order};
use crate::pool::Spare;

impl<'w, O: Operation> Worker<'w, O> {
    /// Leaves everything to other workers, because this one will be busy with one entry for long: all its
    /// jobs, and its directory.
    pub fn leave_to_others(&mut self) {
        if self.operation.order() == Order::Listed || !self.crew.pool.has_others() {
            return;
        }
        self.crew.pool.donate_all(&mut self.stack);
        let Some(task) = &self.directory else { return };
        if !std::mem::replace(&mut self.is_away, true) {
            task.stay_away();
        }
        if !task.is_full() {
            self.crew.pool.offer(&Joinable::Directory(Arc::clone(task)));
        }
    }

    /// Counts this worker as one that leaves what it does for other work, until the value is dropped.
    #[must_use]
    pub fn spare(&self) -> Spare<'w> {
        self.crew.pool.spare()
    }

    /// Returns whether there is work for this worker that comes before shared work.
    #[must_use]
    pub fn has_urgent_work(&self) -> bool {
        self.crew.pool.has_urgent_work()
    }

    /// Offers shared work to any number of workers.
    pub fn offer(&self, shared: &Arc<O::Shared>) {
        self.crew.pool.offer(&Joinable::Shared(Arc::clone(shared)));
    }

    /// Assigns shared work to one worker that is idle or was just started for it. Returns `false`
    /// if there is none.
    #[must_use]
    pub fn assign(&self, shared: &Arc<O::Shared>, started: usize) -> bool {
        self.crew.pool.assign(&Joinable::Shared(Arc::clone(shared)), started)
    }

    /// Withdraws an offer, because no part of the work is left.
    pub fn withdraw(&self, shared: &Arc<O::Shared>) {
        self.crew.pool.withdraw(&Joinable::Shared(Arc::clone(shared)));
    }
}
