//! The entries of one directory, handed out in batches to whoever works on it.
//!
//! A chunk is read, put in order, and drawn from both ends: two workers in one directory of ext4
//! then never want the same block of the inode table.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::sync::Arc;

use haul_sys::fs::{DirectoryBuffer, Kind, directory_position, for_each_entry, seek_directory};

use super::delete_profile::{DeleteProfile, Sequence};
use super::handles::Handle;
use crate::request::Order;

/// Bytes of one `getdents64` call: about two thousand entries. A larger buffer saves nothing that
/// can be measured.
pub(super) const BUFFER_BYTES: usize = 64 << 10;

/// Bytes of names that are enough for now where the order does not matter.
const ENOUGH_BYTES: usize = 16 << 10;

/// Bytes of names that are put in order at a time where it does: some 400,000 entries, with 15 MiB
/// altogether, so that memory stays bounded however large the directory is.
const SORTED_BYTES: usize = 6 << 20;

/// Subdirectories after which a chunk ends. All of a chunk's subdirectories wait at once, at each
/// level of the tree.
const SUBDIRECTORIES: usize = 2048;

/// An entry: where its name begins, and what the directory said about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    ino: u64,
    start: u32,
    pub(super) kind: Option<Kind>,
}

/// Entries, with their names end to end, each with its NUL.
#[derive(Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    pub(super) slots: Vec<Slot>,
}

impl Names {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
    }

    fn push(&mut self, name: &CStr, kind: Option<Kind>, ino: u64) {
        // A chunk is far smaller than 4 GiB, and operands are bounded by the kernel.
        let start = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
        self.slots.push(Slot { ino, start, kind });
    }

    pub(super) fn name(&self, slot: &Slot) -> &CStr {
        self.bytes
            .get(slot.start as usize..)
            .and_then(|bytes| CStr::from_bytes_until_nul(bytes).ok())
            .unwrap_or(c"")
    }
}

/// From which end of a chunk a batch is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

/// What a batch was followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drawn {
    /// More entries are at hand.
    More,
    /// The next entries take a call; a good moment to do something else first.
    Boundary,
    /// That was the last.
    End,
}

/// Reads a directory from front to back, also across a close and an open.
pub(super) struct Reader {
    chunk: Names,
    /// What of the chunk is still to be drawn.
    left: std::ops::Range<usize>,
    ended: bool,
    generation: u64,
    position: u64,
}

impl Reader {
    /// Reads a directory whose handle was opened just now.
    pub(super) fn new(handle: &Handle) -> Reader {
        Reader {
            chunk: Names::default(),
            left: 0..0,
            ended: false,
            generation: handle.generation,
            position: 0,
        }
    }

    /// Reads a directory from the beginning whose handle may be anywhere.
    pub(super) fn again() -> Reader {
        Reader {
            chunk: Names::default(),
            left: 0..0,
            ended: false,
            generation: u64::MAX,
            position: 0,
        }
    }

    /// Hands out operands instead of a directory's entries.
    pub(super) fn of_operands(operands: &[CString]) -> Reader {
        let mut reader = Reader::again();
        for operand in operands {
            reader.chunk.push(operand, None, 0);
        }
        reader.left = 0..operands.len();
        reader.ended = true;
        reader
    }

    /// Moves up to `most` entries into `batch`. An error ends the directory and is returned once.
    pub(super) fn draw(
        &mut self,
        (handle, delete_profile, order): (&Arc<Handle>, &DeleteProfile, Order),
        buffer: &mut Option<DirectoryBuffer>,
        batch: &mut Names,
        (most, end): (usize, End),
    ) -> (Drawn, Option<haul_sys::CallError>) {
        batch.clear();
        let mut trouble = None;
        if self.left.is_empty() && !self.ended {
            trouble = self.refill(handle, delete_profile, order, buffer).err();
        }
        let count = most.max(1).min(self.left.len());
        let drawn = match end {
            End::Front => self.left.start..self.left.start + count,
            End::Back => self.left.end - count..self.left.end,
        };
        match end {
            End::Front => self.left.start += count,
            End::Back => self.left.end -= count,
        }
        for slot in self.chunk.slots.get(drawn).unwrap_or(&[]) {
            batch.push(self.chunk.name(slot), slot.kind, slot.ino);
        }
        if !self.left.is_empty() {
            return (Drawn::More, trouble);
        }
        // A directory may wait long for its next turn; it does not keep memory meanwhile.
        self.chunk = Names::default();
        self.left = 0..0;
        (if self.ended { Drawn::End } else { Drawn::Boundary }, trouble)
    }

    fn refill(
        &mut self,
        handle: &Arc<Handle>,
        delete_profile: &DeleteProfile,
        order: Order,
        buffer: &mut Option<DirectoryBuffer>,
    ) -> haul_sys::Result<()> {
        let buffer = buffer.get_or_insert_with(|| DirectoryBuffer::new(BUFFER_BYTES));
        self.chunk.clear();
        if self.generation != handle.generation {
            seek_directory(handle, self.position).inspect_err(|_| self.ended = true)?;
            self.generation = handle.generation;
        }
        let sorted = delete_profile.sequence == Sequence::ByInode && order == Order::Any;
        let enough = if sorted { SORTED_BYTES } else { ENOUGH_BYTES };
        let mut subdirectories = 0;
        let chunk = &mut self.chunk;
        // Directories are mostly small: asking until the end is known saves them another turn.
        let answer = loop {
            let answer = for_each_entry(handle, buffer, |entry| {
                subdirectories += usize::from(entry.kind == Some(Kind::Directory));
                chunk.push(entry.name, entry.kind, entry.ino);
                ControlFlow::Continue(())
            });
            match answer {
                Ok(true) if chunk.bytes.len() < enough && subdirectories < SUBDIRECTORIES => {}
                other => break other,
            }
        };
        if sorted {
            self.chunk.slots.sort_unstable_by_key(|slot| slot.ino);
        }
        self.left = 0..self.chunk.slots.len();
        let answer = answer.and_then(|more| {
            self.ended = !more;
            self.position = if more { directory_position(handle)? } else { 0 };
            Ok(())
        });
        answer.inspect_err(|_| self.ended = true)
    }
}
