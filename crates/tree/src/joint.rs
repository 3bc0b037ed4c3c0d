//! Work that several workers do together, as the pool sees it.

/// Work that an idle worker can join.
pub(crate) trait Joint: Clone {
    /// Returns whether both are the same work.
    fn is(&self, other: &Self) -> bool;

    /// Returns whether another worker would only obstruct the others.
    fn is_full(&self) -> bool;

    /// Returns whether other work comes first. This is true for work that any number of workers can divide
    /// until its end.
    fn can_wait(&self) -> bool;

    /// Registers a worker, so that the work does not end before the worker arrives.
    fn join(&self);
}

/// Work on one file that several workers can do together.
pub trait Share: Send + Sync {
    /// Returns whether another worker would only obstruct the others.
    fn is_full(&self) -> bool;

    /// Registers a worker, so that the work does not end before the worker arrives.
    fn join(&self);
}

/// Type of shared work of an operation that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nothing {}

impl Share for Nothing {
    fn is_full(&self) -> bool {
        match *self {}
    }

    fn join(&self) {
        match *self {}
    }
}
