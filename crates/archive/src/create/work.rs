//! What goes from the thread that walks to the one that writes members.

use haul_sys::CallError;

use super::entry::Described;
use super::found::Found;
use super::tag::TagScope;
use super::turns::Turns;

/// What is written in order.
#[expect(
    clippy::large_enum_variant,
    reason = "almost all are entries, and a batch has one allocation"
)]
pub(super) enum Item {
    Entry(Described),
    Unreadable(Vec<u8>, CallError, bool),
    Changed(Vec<u8>),
    Tagged(Vec<u8>, Vec<u8>, TagScope),
}

/// What a thread describes.
pub(super) enum Work {
    Describe(Found),
    Pass(Box<Item>),
}

/// The turns of the threads that make members.
pub(super) type Batches = Turns<Vec<Work>, Vec<Item>>;
