//! Reads one directory, or a list of operands, and returns the entries in batches to its workers.
//!
//! The reader reads a chunk of entries, sorts it if the operation requires that, and returns
//! batches from either end: two workers in one directory of ext4 then never need the same block of
//! the inode table.

use std::ops::{ControlFlow, Range};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{DirectoryBuffer, Kind, directory_position, for_each_entry, seek_directory};
use haul_sys::{CallError, Result};

use crate::entries::{Entries, Operand};

/// Bytes of one `getdents64` call: about two thousand entries. A larger buffer has no measurable
/// advantage. All subdirectories of one chunk wait at each level of a tree, so a smaller chunk
/// saves memory.
pub(crate) const BUFFER_BYTES: usize = 64 << 10;

/// Order in which the entries of a chunk are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    /// As the directory returns them.
    AsRead,
    /// By inode number: a disk with a cold cache is then read forwards, and ext4's inode tables as
    /// well.
    ByInode,
}

/// Amount of a directory that is read at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Order of the entries.
    pub sequence: Sequence,
    /// Number of bytes, counted as `getdents64` returns them, after which reading pauses.
    pub bytes: usize,
    /// Number of subdirectories after which reading pauses, because all of them wait at once at
    /// each level of the tree.
    pub subdirectories: usize,
}

impl Chunk {
    /// One buffer, in the order of inodes. A buffer that is less than half full holds the whole
    /// directory: the next call confirms that, and the directory need not stay open while others
    /// come first.
    pub const BUFFER: Chunk =
        Chunk { sequence: Sequence::ByInode, bytes: BUFFER_BYTES / 2, subdirectories: usize::MAX };
}

/// End of a chunk from which a batch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first entries.
    Front,
    /// The last entries.
    Back,
}

/// Content after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// More entries in memory.
    Entries,
    /// More entries that need a call; a good moment to handle other work first.
    Chunk,
    /// No more entries: this was the last batch.
    End,
}

/// Whether a directory may be closed before the reader reaches its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// The directory stays open, so the kernel keeps the position.
    Open,
    /// The directory may be closed, so the reader asks for the position after each chunk.
    MayClose,
}

/// Descriptor of the directory.
#[derive(Clone, Copy)]
pub(crate) struct Stream<'a> {
    pub(crate) fd: BorrowedFd<'a>,
    /// Number that differs between any two opens.
    pub(crate) generation: u64,
    pub(crate) hold: Hold,
}

/// Generation that no open has, so that the reader seeks to its position first.
const ANY_OTHER: u64 = u64::MAX;

/// Memory that a worker lends to the readers of the directories that it works on.
#[derive(Default)]
pub(crate) struct Memory {
    buffer: Option<DirectoryBuffer>,
    /// Arena of a chunk that has been returned completely.
    spare: Entries,
}

/// Position in one directory, with the entries that were read and not yet returned.
#[derive(Debug, Default)]
pub struct Reader {
    chunk: Entries,
    /// Entries of the chunk that were not yet returned.
    left: Range<usize>,
    ended: bool,
    /// Open that the kernel's position belongs to; 0 before the first read.
    generation: u64,
    position: u64,
}

impl Reader {
    /// Creates a reader that starts at the beginning of a directory.
    #[must_use]
    pub fn new() -> Reader {
        Reader::default()
    }

    /// Creates a reader that starts at the beginning of a directory that was read before.
    #[must_use]
    pub fn again() -> Reader {
        Reader { generation: ANY_OTHER, ..Reader::default() }
    }

    /// Creates a reader that returns operands instead of the entries of a directory.
    #[must_use]
    pub fn of_operands(operands: &[Operand]) -> Reader {
        let mut chunk = Entries::default();
        for operand in operands {
            chunk.push_operand(operand);
        }
        Reader { left: 0..operands.len(), chunk, ended: true, ..Reader::default() }
    }

    /// Creates a reader of entries that another process has read.
    #[must_use]
    pub fn of_entries(chunk: Entries) -> Reader {
        Reader { left: 0..chunk.slots.len(), chunk, ended: true, ..Reader::default() }
    }

    /// Moves up to `most` entries into `batch`. An error ends the directory and is returned once,
    /// with the entries that came before it in the batch.
    pub(crate) fn draw(
        &mut self,
        from: Stream<'_>,
        how: (Chunk, End, usize),
        memory: &mut Memory,
        batch: &mut Entries,
    ) -> (Next, Option<CallError>) {
        let (chunk, end, most) = how;
        batch.clear();
        let mut error = None;
        if self.left.is_empty() && !self.ended {
            std::mem::swap(&mut self.chunk, &mut memory.spare);
            error = self.refill(from, chunk, &mut memory.buffer).err();
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
        for slot in self.chunk.slots.get(drawn).unwrap_or_default() {
            batch.push_from(&self.chunk, slot);
        }
        if !self.left.is_empty() {
            return (Next::Entries, error);
        }
        // A directory may wait long for its next turn, so its memory goes to the next directory of
        // the worker.
        memory.spare = std::mem::take(&mut self.chunk);
        self.left = 0..0;
        (if self.ended { Next::End } else { Next::Chunk }, error)
    }

    /// Returns the number of entries that were read and not drawn.
    pub(crate) fn waiting(&self) -> usize {
        self.left.len()
    }

    /// Reads the rest of the directory into memory, so that its descriptor can be closed.
    pub(crate) fn read_on(
        &mut self,
        from: Stream<'_>,
        chunk: Chunk,
        memory: &mut Memory,
    ) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        let everything = Chunk { bytes: usize::MAX, subdirectories: usize::MAX, ..chunk };
        let mut rest =
            Reader { generation: self.generation, position: self.position, ..Reader::default() };
        let answer = rest.refill(from, everything, &mut memory.buffer);
        for slot in &rest.chunk.slots {
            self.chunk.push_from(&rest.chunk, slot);
        }
        self.left.end = self.chunk.slots.len();
        self.ended = true;
        answer
    }

    fn refill(
        &mut self,
        from: Stream<'_>,
        how: Chunk,
        buffer: &mut Option<DirectoryBuffer>,
    ) -> Result<()> {
        let buffer = buffer.get_or_insert_with(|| DirectoryBuffer::new(BUFFER_BYTES));
        self.chunk.clear();
        if self.generation != 0 && self.generation != from.generation {
            seek_directory(from.fd, self.position).inspect_err(|_| self.ended = true)?;
        }
        self.generation = from.generation;
        let mut subdirectories = 0;
        let chunk = &mut self.chunk;
        // Most directories are small: reading until the end is known saves them another turn.
        let answer = loop {
            let answer = for_each_entry(from.fd, buffer, |entry| {
                subdirectories += usize::from(entry.kind == Some(Kind::Directory));
                chunk.push(entry.name, entry.kind, entry.ino);
                ControlFlow::Continue(())
            });
            match answer {
                Ok(true)
                    if chunk.kernel_bytes() < how.bytes && subdirectories < how.subdirectories => {}
                other => break other,
            }
        };
        match how.sequence {
            Sequence::AsRead => {}
            Sequence::ByInode => self.chunk.sort_by_inode(),
        }
        self.left = 0..self.chunk.slots.len();
        let answer = answer.and_then(|more| {
            self.ended = !more;
            if more && from.hold == Hold::MayClose {
                self.position = directory_position(from.fd)?;
            }
            Ok(())
        });
        answer.inspect_err(|_| self.ended = true)
    }
}
