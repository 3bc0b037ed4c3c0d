//! What a reader asks for at once.

use haul_sys::CallError;

use super::block::Block;

/// A part of the file, on its way or arrived.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) block: Option<Block>,
    pub(super) offset: u64,
    /// Bytes from the offset on that are asked for, and those that are wanted of them.
    pub(super) asked: usize,
    pub(super) skip: usize,
    pub(super) wanted: usize,
    pub(super) filled: usize,
    pub(super) busy: bool,
    /// What comes after the bytes that are filled.
    pub(super) error: Option<CallError>,
}

impl Slot {
    /// One that has arrived.
    pub(super) fn filled(block: Block, offset: u64, bytes: usize) -> Slot {
        let (asked, wanted, filled) = (bytes, bytes, bytes);
        Slot { block: Some(block), offset, asked, wanted, filled, ..Slot::default() }
    }

    /// One that holds an error alone.
    pub(super) fn failed(error: CallError) -> Slot {
        Slot { error: Some(error), ..Slot::default() }
    }
}
