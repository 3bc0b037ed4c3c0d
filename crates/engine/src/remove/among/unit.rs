//! What the units of a removal have, and its encoding.

use std::ffi::CString;

use haul_sys::fs::{Kind, Time};
use haul_tree::Entries;

use crate::data::wire::{Malformed, Put, Take};
use crate::peers::summary::{Extent, Summary};
use crate::peers::unit::{self, Coded, Work};

/// One directory of the chain from an operand to a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) name: CString,
    /// Inode number. The device number is not sent, because it differs between machines.
    pub(super) ino: u64,
}

/// Directory that a unit belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Directories from the operand down to the unit's own.
    pub(super) levels: Vec<Level>,
    /// Creation time of the unit's own directory, if the file system records it. Local file systems
    /// of two machines may have the same inode numbers under the same names.
    pub(super) birth: Option<Time>,
}

/// Entry of a directory: name, kind and inode number as the directory reported them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) name: CString,
    pub(super) kind: Option<Kind>,
    pub(super) ino: u64,
}

/// Unit of a removal.
pub(super) type Unit = unit::Unit<Place, Name, Name>;

/// Kinds in the order of their numbers, from 1. Another kind is sent as unknown to the directory,
/// so that the receiver looks.
const KINDS: [Kind; 7] = [
    Kind::Regular,
    Kind::Directory,
    Kind::Symlink,
    Kind::Fifo,
    Kind::Socket,
    Kind::BlockDevice,
    Kind::CharDevice,
];

impl Coded for Place {
    fn put(&self, put: &mut Put) {
        put.list(self.levels.iter(), |put, level| {
            put.name(&level.name);
            put.number(level.ino);
        });
        put.optional(self.birth, |put, time| {
            put.number(time.seconds.cast_unsigned());
            put.number(u64::from(time.nanoseconds));
        });
    }

    fn take(take: &mut Take<'_>) -> Result<Place, Malformed> {
        let levels = take.list(|take| Ok(Level { name: take.name()?, ino: take.number()? }))?;
        let birth = take.optional(|take| {
            Ok(Time { seconds: take.number()?.cast_signed(), nanoseconds: take.short()? })
        })?;
        Ok(Place { levels, birth })
    }
}

impl Coded for Name {
    fn put(&self, put: &mut Put) {
        put.name(&self.name);
        let number = self.kind.and_then(|kind| KINDS.iter().position(|known| *known == kind));
        put.number(number.map_or(0, |number| number as u64 + 1));
        put.number(self.ino);
    }

    fn take(take: &mut Take<'_>) -> Result<Name, Malformed> {
        let name = take.name()?;
        let kind = match usize::try_from(take.number()?).map_err(|_| Malformed)?.checked_sub(1) {
            None => None,
            Some(number) => Some(*KINDS.get(number).ok_or(Malformed)?),
        };
        Ok(Name { name, kind, ino: take.number()? })
    }
}

/// Returns what a unit is, for people.
pub(crate) fn summary(bytes: &[u8]) -> Option<Summary> {
    let Unit { place, work } = Unit::decode(bytes).ok()?;
    let (last, extent) = match work {
        Work::One(directory) => (directory.name, Extent::Directory),
        Work::Entries(names) => (CString::default(), Extent::Names(names.len())),
    };
    let levels = place.levels.iter().map(|level| level.name.to_bytes());
    Some(Summary::below(levels.chain([last.to_bytes()]), extent))
}

/// Returns entries in the form of a unit.
pub(super) fn names_of(entries: &Entries) -> Vec<Name> {
    let name = |slot: &haul_tree::Slot| Name {
        name: entries.name(slot).to_owned(),
        kind: slot.kind,
        ino: slot.ino,
    };
    entries.slots.iter().map(name).collect()
}

/// Returns the entries of a unit in the form of a directory's.
pub(super) fn entries_of(names: &[Name]) -> Entries {
    let mut entries = Entries::default();
    for Name { name, kind, ino } in names {
        entries.push(name, *kind, *ino);
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units() -> [Unit; 2] {
        let level = |name: &std::ffi::CStr, ino| Level { name: name.to_owned(), ino };
        let levels = vec![level(c"over/there", 7), level(c"d\xff", u64::MAX)];
        let birth = Some(Time { seconds: -5, nanoseconds: 999_999_999 });
        let kinds = KINDS.into_iter().map(Some).chain([None]);
        let names: Vec<Name> =
            kinds.zip(1..).map(|(kind, ino)| Name { name: c"n".to_owned(), kind, ino }).collect();
        let directory = names[1].clone();
        [
            Unit { place: Place { levels: levels.clone(), birth }, work: Work::Entries(names) },
            Unit { place: Place { levels, birth: None }, work: Work::One(directory) },
        ]
    }

    #[test]
    fn summaries_name_the_path_and_how_much_of_it() {
        let shown = |unit: &Unit| {
            let Summary { path, extent } = summary(&unit.encode()).unwrap();
            format!("{extent} {}", path.escape_ascii())
        };
        let expected = ["8 names in over/there/d\\xff", "directory over/there/d\\xff/n"];
        assert_eq!(units().iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn units_come_back_as_they_were() {
        units().iter().for_each(unit::assert_coded);
    }

    #[test]
    fn entries_come_back_with_their_kinds() {
        let Work::Entries(names) = &units()[0].work else { panic!("entries come first") };
        assert_eq!(names_of(&entries_of(names)), *names);
    }
}
