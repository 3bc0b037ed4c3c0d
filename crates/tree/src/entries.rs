//! Entries of a directory in memory: names in one contiguous arena, and 16 bytes for each entry.
//!
//! Names take most of the memory of a walk, so they share one allocation that every batch reuses.
//! Listed operands use the same form, with a separate name for the other side.

use std::ffi::{CStr, CString};

use haul_sys::fs::Kind;

/// Approximate number of bytes of an entry in the kernel's `linux_dirent64`, without its name.
const KERNEL_ENTRY_BYTES: usize = 24;

/// Strings after an entry's name in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// No string: the entry has the same name on both sides.
    Plain,
    /// The name on the other side.
    Renamed,
    /// The name on the other side, and the rest of the operand's path.
    Leading,
}

/// One entry: a position in the arena of its [`Entries`] and the data that the directory reported.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The inode number that the directory reported; 0 for an operand.
    pub ino: u64,
    start: u32,
    form: Form,
    /// The kind that the directory reported; `None` if it did not (`DT_UNKNOWN`) or for an operand.
    pub kind: Option<Kind>,
}

/// An entry that the caller names, instead of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Path as it was given.
    pub source: CString,
    /// Name on the other side; the same as `source` if there is no other side.
    pub target: CString,
    /// Rest of the path below `source`, if only that part is wanted.
    pub rest: Option<CString>,
}

impl Operand {
    /// Creates an operand that is wanted as a whole.
    #[must_use]
    pub const fn whole(source: CString, target: CString) -> Operand {
        Operand { source, target, rest: None }
    }
}

/// Names and kinds of entries.
#[derive(Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    /// The entries, in the order in which they are handled.
    pub slots: Vec<Slot>,
}

impl Entries {
    /// Removes all entries and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
    }

    /// Returns the name of an entry in its directory; for an operand, its path.
    #[must_use]
    pub fn name(&self, slot: &Slot) -> &CStr {
        self.part(slot, 0)
    }

    /// Returns the name of an entry on the other side.
    #[must_use]
    pub fn target(&self, slot: &Slot) -> &CStr {
        match slot.form {
            Form::Plain => self.part(slot, 0),
            Form::Renamed | Form::Leading => self.part(slot, 1),
        }
    }

    /// Returns the rest of an operand's path below the entry.
    #[must_use]
    pub fn rest(&self, slot: &Slot) -> Option<&CStr> {
        (slot.form == Form::Leading).then(|| self.part(slot, 2))
    }

    /// Returns the n-th of the strings that belong to an entry.
    fn part(&self, slot: &Slot, number: usize) -> &CStr {
        let mut rest = &self.bytes[slot.start as usize..];
        for _ in 0..number {
            let end = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |at| at + 1);
            rest = &rest[end..];
        }
        CStr::from_bytes_until_nul(rest).unwrap_or_default()
    }

    /// Returns approximately how many bytes `getdents64` returned for these entries.
    pub(crate) fn kernel_bytes(&self) -> usize {
        self.bytes.len() + KERNEL_ENTRY_BYTES * self.slots.len()
    }

    /// Appends an entry that a directory reported.
    pub fn push(&mut self, name: &CStr, kind: Option<Kind>, ino: u64) {
        let start = self.store(name);
        self.slots.push(Slot { ino, start, form: Form::Plain, kind });
    }

    /// Appends an operand.
    pub(crate) fn push_operand(&mut self, operand: &Operand) {
        let start = self.store(&operand.source);
        self.store(&operand.target);
        let form = match &operand.rest {
            None => Form::Renamed,
            Some(rest) => {
                self.store(rest);
                Form::Leading
            }
        };
        self.slots.push(Slot { ino: 0, start, form, kind: None });
    }

    /// Appends an entry of another arena.
    pub(crate) fn push_from(&mut self, other: &Entries, slot: &Slot) {
        let start = self.store(other.name(slot));
        if slot.form != Form::Plain {
            self.store(other.target(slot));
        }
        if let Some(rest) = other.rest(slot) {
            self.store(rest);
        }
        self.slots.push(Slot { start, ..*slot });
    }

    /// Keeps the entries for which a function returns `true`.
    pub fn retain(&mut self, mut keeps: impl FnMut(&Entries, &Slot) -> bool) {
        let mut slots = std::mem::take(&mut self.slots);
        slots.retain(|slot| keeps(self, slot));
        self.slots = slots;
    }

    /// Sorts by inode number; entries with the same number (hard links) keep their order.
    pub(crate) fn sort_by_inode(&mut self) {
        self.slots.sort_unstable_by_key(|slot| (slot.ino, slot.start));
    }

    /// Appends a string with its NUL. Returns its position.
    fn store(&mut self, name: &CStr) -> u32 {
        // A reader stops long before 4 GiB, and the kernel limits the operands of a command.
        let start = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_takes_sixteen_bytes() {
        assert_eq!(size_of::<Slot>(), 16);
    }

    #[test]
    fn operands_keep_all_their_names_when_they_are_moved() {
        let whole = Operand::whole(c"a/b".to_owned(), c"b".to_owned());
        let leading = Operand { rest: Some(c"y/z".to_owned()), ..whole.clone() };
        let mut one = Entries::default();
        one.push(c"plain", Some(Kind::Regular), 9);
        one.push_operand(&whole);
        one.push_operand(&leading);
        let mut two = Entries::default();
        for slot in &one.slots {
            two.push_from(&one, slot);
        }
        let parts: Vec<_> = two
            .slots
            .iter()
            .map(|slot| (two.name(slot), two.target(slot), two.rest(slot)))
            .collect();
        let expected =
            [(c"plain", c"plain", None), (c"a/b", c"b", None), (c"a/b", c"b", Some(c"y/z"))];
        assert_eq!(parts, expected);
    }

    #[test]
    fn entries_of_one_inode_keep_their_order() {
        let mut entries = Entries::default();
        for (name, ino) in [(c"d", 7), (c"b", 3), (c"a", 7), (c"c", 3)] {
            entries.push(name, None, ino);
        }
        entries.sort_by_inode();
        let names: Vec<_> = entries.slots.iter().map(|slot| entries.name(slot)).collect();
        assert_eq!(names, [c"b", c"c", c"d", c"a"]);
    }
}
