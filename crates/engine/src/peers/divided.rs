//! What an operation on a tree defines so that several processes can carry it out together.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_tree::{Entries, Node, Operation, Worker};

use super::state::{Foreign, PeerState, ROOT, Token};

/// A unit that one certain process must have.
pub(crate) struct Routed<O: Operation> {
    pub(crate) to: usize,
    /// The directory, once for each name: it waits for each.
    pub(crate) nodes: Vec<Arc<Node<O::Directory>>>,
    pub(crate) bytes: Vec<u8>,
}

/// An operation whose work moves between processes as units.
pub(crate) trait Divided: Operation<Directory: 'static, Shared: 'static> {
    /// Returns the state of this process among all; `None` if it works alone.
    fn peers(&self) -> Option<&PeerState>;

    /// Returns the flag that ends the run.
    fn stop_flag(&self) -> &AtomicBool;

    /// Returns which process has to finish a directory.
    fn foreign(directory: &Self::Directory) -> Foreign;

    /// Returns whether a directory that was found may go to another process.
    fn may_send(&self, found: &Self::Found) -> bool;

    /// Returns whether names of a directory may go to another process.
    fn may_share(&self, node: &Node<Self::Directory>) -> bool;

    /// Encodes a directory that was found. Returns its parent, which waits for it, too.
    fn directory_unit(&self, found: Self::Found) -> (Arc<Node<Self::Directory>>, Vec<u8>);

    /// Encodes entries of a directory.
    fn entries_unit(&self, node: &Arc<Node<Self::Directory>>, entries: &Entries) -> Vec<u8>;

    /// Takes names that one certain process must have, up to `most` names of one directory.
    fn routed_unit(&self, _most: usize) -> Option<Routed<Self>> {
        None
    }

    /// Returns whether a unit is a part of a file. [`Divided::adopt`] then calls
    /// [`PeerState::part_opened`] once, and [`PeerState::part_ended`] after the end of an open part.
    fn is_part(_bytes: &[u8]) -> bool {
        false
    }

    /// Adds the work of a unit to a worker. If that fails, reports it and completes the unit.
    fn adopt(worker: &mut Worker<'_, Self>, token: Token, bytes: &[u8]);

    /// Returns whether complete files wait for a common flush.
    fn holds_files(&self) -> bool {
        false
    }

    /// Commits the files that wait for a common flush.
    fn commit(_worker: &mut Worker<'_, Self>) {}

    /// Called before a directory is released from a unit that another process has done.
    fn returned(_node: &Node<Self::Directory>, _answer: &[u8]) {}

    /// Returns whether parts of a file may go to other processes.
    fn may_split(&self, _file: &Self::Shared) -> bool {
        false
    }

    /// Takes a part of a file, which the caller has joined. Returns it with the unit in which the file
    /// was found, and the unit for another process; `None` if too little is left.
    fn part_unit(&self, _file: &Self::Shared) -> Option<(Range<u64>, Token, Vec<u8>)> {
        None
    }

    /// Called when a part comes back, with the answer of the process that had it; it is empty if that
    /// one did not do the part. Must not block. A worker leaves the file afterwards, through
    /// [`Operation::work`].
    fn part_returned(_file: &Self::Shared, _part: &Range<u64>, _answer: &[u8]) {}
}

/// Returns the unit that a directory belongs to.
pub(crate) fn within<O: Divided>(node: &Arc<Node<O::Directory>>) -> Token {
    let mut at = Some(node);
    while let Some(node) = at {
        if let Foreign::Unit(token) | Foreign::Part(token) = O::foreign(node) {
            return token;
        }
        at = node.parent.as_ref();
    }
    ROOT
}
