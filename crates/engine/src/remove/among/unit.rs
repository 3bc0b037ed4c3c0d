//! Units of a removal as plain data, and their encoding.

use std::ffi::CString;

use haul_sys::fs::{Kind, Time};
use haul_tree::Entries;

use crate::peers::wire::{Malformed, Put, Take};

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

/// What is to be removed in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A directory with everything below it.
    Directory(Name),
    /// Entries.
    Entries(Vec<Name>),
}

/// Unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) place: Place,
    pub(super) work: Work,
}

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

impl Unit {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut put = Put::default();
        put.list(self.place.levels.iter(), |put, level| {
            put.name(&level.name);
            put.number(level.ino);
        });
        put.optional(self.place.birth, |put, time| {
            put.number(time.seconds.cast_unsigned());
            put.number(u64::from(time.nanoseconds));
        });
        match &self.work {
            Work::Directory(name) => {
                put.flag(true);
                put_name(&mut put, name);
            }
            Work::Entries(names) => {
                put.flag(false);
                put.list(names.iter(), put_name);
            }
        }
        put.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Unit, Malformed> {
        let mut take = Take(bytes);
        let levels = take.list(|take| Ok(Level { name: take.name()?, ino: take.number()? }))?;
        let birth = take.optional(|take| {
            Ok(Time { seconds: take.number()?.cast_signed(), nanoseconds: take.short()? })
        })?;
        let work = if take.flag()? {
            Work::Directory(take_name(&mut take)?)
        } else {
            Work::Entries(take.list(take_name)?)
        };
        take.end()?;
        Ok(Unit { place: Place { levels, birth }, work })
    }
}

fn put_name(put: &mut Put, name: &Name) {
    put.name(&name.name);
    let number = name.kind.and_then(|kind| KINDS.iter().position(|known| *known == kind));
    put.number(number.map_or(0, |number| number as u64 + 1));
    put.number(name.ino);
}

fn take_name(take: &mut Take<'_>) -> Result<Name, Malformed> {
    let name = take.name()?;
    let kind = match usize::try_from(take.number()?).map_err(|_| Malformed)?.checked_sub(1) {
        None => None,
        Some(number) => Some(*KINDS.get(number).ok_or(Malformed)?),
    };
    Ok(Name { name, kind, ino: take.number()? })
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
            Unit { place: Place { levels, birth: None }, work: Work::Directory(directory) },
        ]
    }

    #[test]
    fn units_come_back_as_they_were() {
        for unit in units() {
            assert_eq!(Unit::decode(&unit.encode()), Ok(unit));
        }
    }

    #[test]
    fn units_that_are_cut_or_longer_are_refused() {
        for unit in units() {
            let whole = unit.encode();
            for length in 0..whole.len() {
                assert_eq!(Unit::decode(&whole[..length]), Err(Malformed), "{length} bytes");
            }
            assert_eq!(Unit::decode(&[whole, vec![0]].concat()), Err(Malformed));
        }
    }

    #[test]
    fn entries_come_back_with_their_kinds() {
        let Work::Entries(names) = &units()[0].work else { panic!("entries come first") };
        assert_eq!(names_of(&entries_of(names)), *names);
    }
}
