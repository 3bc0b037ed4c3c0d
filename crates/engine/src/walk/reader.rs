//! The entries of one directory, handed out in batches to whoever works on it.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use haul_sys::fs::{DirectoryBuffer, Kind, for_each_entry};

use super::path::trimmed;

/// Bytes of one `getdents64` call: about two thousand entries. A larger buffer saves nothing that
/// can be measured, and the subdirectories of one buffer are what waits at each level of a tree.
const BUFFER_BYTES: usize = 64 << 10;

/// Where an entry's name lies in the arena, and what the directory said about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    source: Span,
    target: Span,
    rest: Option<Span>,
    pub(crate) kind: Option<Kind>,
    ino: u64,
}

/// A name in the arena: its start, and its length with the terminating NUL.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    length: usize,
}

/// Names, end to end, each with its NUL.
#[derive(Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    pub(crate) slots: Vec<Slot>,
}

impl Names {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
    }

    /// Returns about what the kernel's format takes for the entries.
    fn kernel_bytes(&self) -> usize {
        const ENTRY_BYTES: usize = 24;
        self.bytes.len() + ENTRY_BYTES * self.slots.len()
    }

    fn store(&mut self, name: &CStr) -> Span {
        let bytes = name.to_bytes_with_nul();
        let span = Span { start: self.bytes.len(), length: bytes.len() };
        self.bytes.extend_from_slice(bytes);
        span
    }

    fn push(&mut self, name: &CStr, kind: Option<Kind>, ino: u64) {
        let span = self.store(name);
        self.slots.push(Slot { source: span, target: span, rest: None, kind, ino });
    }

    fn push_operand(&mut self, operand: &Operand) {
        let (source, target) = (self.store(&operand.source), self.store(&operand.target));
        let rest = operand.rest.as_deref().map(|rest| self.store(rest));
        self.slots.push(Slot { source, target, rest, kind: None, ino: 0 });
    }

    /// Copies an entry of another arena.
    fn push_from(&mut self, other: &Names, slot: &Slot) {
        let source = self.store(other.source(slot));
        let target = if slot.target.start == slot.source.start {
            source
        } else {
            self.store(other.target(slot))
        };
        let rest = slot.rest.map(|rest| self.store(other.at(rest)));
        self.slots.push(Slot { source, target, rest, ..*slot });
    }

    fn at(&self, span: Span) -> &CStr {
        self.bytes
            .get(span.start..span.start + span.length)
            .and_then(|bytes| CStr::from_bytes_with_nul(bytes).ok())
            .unwrap_or(c"")
    }

    /// Returns the entry's name in the source directory.
    pub(crate) fn source(&self, slot: &Slot) -> &CStr {
        self.at(slot.source)
    }

    /// Returns what is left of an operand's path below the entry.
    pub(crate) fn rest(&self, slot: &Slot) -> Option<&CStr> {
        slot.rest.map(|rest| self.at(rest))
    }

    /// Returns the entry's name in the target directory.
    pub(crate) fn target(&self, slot: &Slot) -> &CStr {
        self.at(slot.target)
    }
}

/// An operand: the path as given, and the name it gets in the target directory.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) source: CString,
    pub(crate) target: CString,
    /// With `--parents`: what of the path is left below this directory.
    pub(crate) rest: Option<CString>,
}

impl Operand {
    pub(crate) const fn whole(source: CString, target: CString) -> Operand {
        Operand { source, target, rest: None }
    }

    /// Splits the first component off a path, with the slashes before it.
    pub(crate) fn of_path(path: &CStr) -> Operand {
        let bytes = trimmed(path.to_bytes());
        let start = bytes.iter().position(|byte| *byte != b'/').unwrap_or(bytes.len());
        let name = bytes.get(start..).unwrap_or(b"");
        let length = name.iter().position(|byte| *byte == b'/').unwrap_or(name.len());
        let (name, rest) = name.split_at_checked(length).unwrap_or((name, b""));
        let rest_start = rest.iter().position(|byte| *byte != b'/').unwrap_or(rest.len());
        let rest = rest.get(rest_start..).unwrap_or(b"");
        let source = bytes.get(..start + length).unwrap_or(bytes);
        // Parts of a C string hold no NUL.
        let own = |part: &[u8]| CString::new(part).unwrap_or_default();
        Operand {
            source: own(source),
            target: if name.is_empty() { c".".to_owned() } else { own(name) },
            rest: (!rest.is_empty()).then(|| own(rest)),
        }
    }
}

/// What a batch was followed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drawn {
    /// More entries are at hand.
    More,
    /// The next entries take a call; a good moment to do something else first.
    Boundary,
    /// That was the last.
    End,
}

/// Reads a directory once, from front to back.
#[derive(Default)]
pub(crate) struct Reader {
    chunk: Names,
    next: usize,
    ended: bool,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader::default()
    }

    /// Hands out operands instead of a directory's entries.
    pub(crate) fn of_operands(operands: &[Operand]) -> Reader {
        let mut chunk = Names::default();
        for operand in operands {
            chunk.push_operand(operand);
        }
        Reader { chunk, next: 0, ended: true }
    }

    /// Moves up to `most` entries into `batch`. An error ends the directory and is returned once,
    /// with the entries that came before it in the batch.
    pub(crate) fn draw(
        &mut self,
        directory: BorrowedFd<'_>,
        (buffer, spare): (&mut Option<DirectoryBuffer>, &mut Names),
        batch: &mut Names,
        most: usize,
    ) -> (Drawn, Option<haul_sys::CallError>) {
        batch.clear();
        let mut trouble = None;
        while self.next >= self.chunk.slots.len() && !self.ended {
            std::mem::swap(&mut self.chunk, spare);
            trouble = self.refill(directory, buffer);
        }
        let last = (self.next + most.max(1)).min(self.chunk.slots.len());
        for slot in self.chunk.slots.get(self.next..last).unwrap_or(&[]) {
            batch.push_from(&self.chunk, slot);
        }
        self.next = last;
        if self.next < self.chunk.slots.len() {
            return (Drawn::More, trouble);
        }
        // A directory may wait long for its next turn; its memory goes to the worker's next one.
        *spare = std::mem::take(&mut self.chunk);
        self.next = 0;
        (if self.ended { Drawn::End } else { Drawn::Boundary }, trouble)
    }

    /// Reads what is left of the directory, so that its descriptor is not needed any more.
    pub(crate) fn read_on(
        &mut self,
        directory: BorrowedFd<'_>,
        buffer: &mut Option<DirectoryBuffer>,
    ) -> Option<haul_sys::CallError> {
        let mut trouble = None;
        while !self.ended {
            trouble = self.read_more(directory, buffer);
        }
        trouble
    }

    fn refill(
        &mut self,
        directory: BorrowedFd<'_>,
        buffer: &mut Option<DirectoryBuffer>,
    ) -> Option<haul_sys::CallError> {
        self.chunk.clear();
        self.next = 0;
        let mut trouble = None;
        // A buffer that is not even half full holds the whole directory; the next call says so,
        // and then the directory need not be kept open while others come first.
        while !self.ended && self.chunk.kernel_bytes() < BUFFER_BYTES / 2 {
            trouble = self.read_more(directory, buffer);
        }
        trouble
    }

    fn read_more(
        &mut self,
        directory: BorrowedFd<'_>,
        buffer: &mut Option<DirectoryBuffer>,
    ) -> Option<haul_sys::CallError> {
        let buffer = buffer.get_or_insert_with(|| DirectoryBuffer::new(BUFFER_BYTES));
        let chunk = &mut self.chunk;
        let before = chunk.slots.len();
        let answer = for_each_entry(directory, buffer, |entry| {
            chunk.push(entry.name, entry.kind, entry.ino);
            ControlFlow::Continue(())
        });
        // In the order of inodes a cold disk is read forwards; it is also the order in which GNU
        // cp goes, so that people see what they are used to.
        if chunk.slots.len() > before {
            let left = chunk.slots.get_mut(self.next..).unwrap_or(&mut []);
            left.sort_by_key(|slot| slot.ino);
        }
        match answer {
            Ok(more) => {
                self.ended = !more;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_give_their_components_one_by_one() {
        let split = |path: &CStr| {
            let operand = Operand::of_path(path);
            (operand.source, operand.target, operand.rest)
        };
        let own = |name: &CStr| name.to_owned();
        assert_eq!(split(c"a/b//c/"), (own(c"a"), own(c"a"), Some(own(c"b//c"))));
        assert_eq!(split(c"/bin/ls"), (own(c"/bin"), own(c"bin"), Some(own(c"ls"))));
        assert_eq!(split(c"foo/"), (own(c"foo"), own(c"foo"), None));
        assert_eq!(split(c"/"), (own(c""), own(c"."), None));
    }
}
