//! What every operation offers to the thread of the caller.

use crate::report::{Item, Totals};

/// Receives items, from any thread.
pub(crate) type Tell<'a> = &'a (dyn Fn(Item) + Sync);

/// One call that has begun: a thread carries it out while another one asks for the totals.
pub(crate) trait Carry: Send + Sync {
    /// Carries out the call. Blocks until it is complete or stopped.
    fn carry_out(&self, tell: Tell<'_>);

    /// Returns what was done so far.
    fn totals(&self) -> Totals;
}
