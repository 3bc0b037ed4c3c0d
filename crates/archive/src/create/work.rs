//! What goes along the line from the thread that walks to the one that writes members.

use haul_sys::CallError;

use super::entry::Described;
use super::line::Line;
use super::tag::TagScope;
use super::walk::Found;

/// What comes along the line in order.
pub(super) enum Item {
    Entry(Box<Described>),
    Unreadable(Vec<u8>, CallError, bool),
    Changed(Vec<u8>),
    Tagged(Vec<u8>, Vec<u8>, TagScope),
}

/// What a worker is given.
pub(super) enum Work {
    Describe(Found),
    Pass(Item),
}

/// The line between the thread that walks and the one that writes.
pub(super) type Batches = Line<Vec<Work>, Vec<Item>>;
