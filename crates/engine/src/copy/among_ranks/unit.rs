//! What the units of a copy have, and its encoding.

use std::ffi::CString;

use crate::copy::node::Origin;
use crate::copy::part::Part;
use crate::data::wire::{Malformed, Put, Take};
use crate::peers::summary::{Extent, Summary};
use crate::peers::unit::{self, Coded, Work};

/// One directory of the chain from an operand to a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) source: CString,
    pub(super) target: Option<CString>,
    /// Inode numbers. Device numbers are not sent, because they differ between machines.
    pub(super) source_ino: u64,
    pub(super) target_ino: u64,
    pub(super) through_link: bool,
    pub(super) target_through_link: bool,
    pub(super) inherits_acl: bool,
    pub(super) lists_operands: bool,
    pub(super) origin: Origin,
}

/// Directory that a unit belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Target directory as it was given; empty if the target is the new name.
    pub(super) base: CString,
    /// Inode numbers of the directories that operands were copied to.
    pub(super) roots: Vec<u64>,
    /// Directories from the operand down to the unit's own.
    pub(super) levels: Vec<Level>,
}

/// Directory that was found and made, and that is to be entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) source: CString,
    pub(super) target: Option<CString>,
    pub(super) ino: u64,
    pub(super) made: Option<u32>,
    pub(super) origin: Origin,
    pub(super) through_link: bool,
    pub(super) target_through_link: bool,
}

/// What a unit has if it has no list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum One {
    Directory(Found),
    Part(Box<Part>),
}

/// Names of an entry in the source and in the target.
pub(super) type Names = (CString, CString);

/// Unit of a copy.
pub(super) type Unit = unit::Unit<Place, One, Names>;

impl Coded for Place {
    fn put(&self, put: &mut Put) {
        put.name(&self.base);
        put.list(self.roots.iter(), |put, root| put.number(*root));
        put.list(self.levels.iter(), |put, level| level.put(put));
    }

    fn take(take: &mut Take<'_>) -> Result<Place, Malformed> {
        Ok(Place {
            base: take.name()?,
            roots: take.list(Take::number)?,
            levels: take.list(Level::take)?,
        })
    }
}

impl Coded for Names {
    fn put(&self, put: &mut Put) {
        let (source, target) = self;
        put.name(source);
        put.optional((source != target).then_some(target), |put, name| put.name(name));
    }

    fn take(take: &mut Take<'_>) -> Result<Names, Malformed> {
        let source = take.name()?;
        let target = take.optional(Take::name)?.unwrap_or_else(|| source.clone());
        Ok((source, target))
    }
}

impl Coded for Level {
    fn put(&self, put: &mut Put) {
        put.name(&self.source);
        put.optional(self.target.as_deref(), Put::name);
        put.number(self.source_ino);
        put.number(self.target_ino);
        put.flag(self.through_link);
        put.flag(self.target_through_link);
        put.flag(self.inherits_acl);
        put.flag(self.lists_operands);
        put.flag(self.origin == Origin::Made);
    }

    fn take(take: &mut Take<'_>) -> Result<Level, Malformed> {
        Ok(Level {
            source: take.name()?,
            target: take.optional(Take::name)?,
            source_ino: take.number()?,
            target_ino: take.number()?,
            through_link: take.flag()?,
            target_through_link: take.flag()?,
            inherits_acl: take.flag()?,
            lists_operands: take.flag()?,
            origin: take_origin(take)?,
        })
    }
}

impl Coded for Found {
    fn put(&self, put: &mut Put) {
        put.name(&self.source);
        put.optional(self.target.as_deref(), Put::name);
        put.number(self.ino);
        put.optional(self.made, |put, mode| put.number(u64::from(mode)));
        put.flag(self.origin == Origin::Made);
        put.flag(self.through_link);
        put.flag(self.target_through_link);
    }

    fn take(take: &mut Take<'_>) -> Result<Found, Malformed> {
        Ok(Found {
            source: take.name()?,
            target: take.optional(Take::name)?,
            ino: take.number()?,
            made: take.optional(Take::short)?,
            origin: take_origin(take)?,
            through_link: take.flag()?,
            target_through_link: take.flag()?,
        })
    }
}

impl Coded for One {
    fn put(&self, put: &mut Put) {
        match self {
            One::Directory(found) => {
                put.flag(true);
                found.put(put);
            }
            One::Part(part) => {
                put.flag(false);
                part.put(put);
            }
        }
    }

    fn take(take: &mut Take<'_>) -> Result<One, Malformed> {
        Ok(if take.flag()? {
            One::Directory(Found::take(take)?)
        } else {
            One::Part(Box::new(Part::take(take)?))
        })
    }
}

impl Coded for Part {
    fn put(&self, put: &mut Put) {
        put.name(&self.source);
        put.name(&self.target);
        put.flag(self.may_be_link);
        put.number(self.source_ino);
        put.number(self.source_size);
        put.time(self.source_mtime);
        put.time(self.source_ctime);
        put.number(self.target_ino);
        put.optional(self.target_birth, Put::time);
        put.number(self.range.0);
        put.number(self.range.1);
        put.flag(self.is_hashed);
    }

    fn take(take: &mut Take<'_>) -> Result<Part, Malformed> {
        Ok(Part {
            source: take.name()?,
            target: take.name()?,
            may_be_link: take.flag()?,
            source_ino: take.number()?,
            source_size: take.number()?,
            source_mtime: take.time()?,
            source_ctime: take.time()?,
            target_ino: take.number()?,
            target_birth: take.optional(Take::time)?,
            range: (take.number()?, take.number()?),
            is_hashed: take.flag()?,
        })
    }
}

/// Returns what a unit is, for people.
pub(crate) fn summary(bytes: &[u8]) -> Option<Summary> {
    let Unit { place, work } = Unit::decode(bytes).ok()?;
    let (last, extent) = match work {
        Work::One(One::Directory(found)) => (found.source, Extent::Directory),
        Work::One(One::Part(part)) => (part.source, Extent::Bytes(part.range.0..part.range.1)),
        Work::Entries(names) => (CString::default(), Extent::Names(names.len())),
    };
    let levels = place.levels.iter().map(|level| level.source.to_bytes());
    Some(Summary::below(levels.chain([last.to_bytes()]), extent))
}

fn take_origin(take: &mut Take<'_>) -> Result<Origin, Malformed> {
    Ok(if take.flag()? { Origin::Made } else { Origin::Found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use haul_sys::fs::Time;

    fn place() -> Place {
        let level = Level {
            source: c"src".to_owned(),
            target: Some(c"dst".to_owned()),
            source_ino: 7,
            target_ino: u64::MAX,
            through_link: true,
            target_through_link: false,
            inherits_acl: true,
            lists_operands: false,
            origin: Origin::Made,
        };
        let plain = Level { target: None, origin: Origin::Found, ..level.clone() };
        Place { base: c"over/there".to_owned(), roots: vec![1, 2], levels: vec![level, plain] }
    }

    fn units() -> [Unit; 3] {
        let found = Found {
            source: c"d\xff".to_owned(),
            target: None,
            ino: 9,
            made: Some(0o700),
            origin: Origin::Made,
            through_link: false,
            target_through_link: true,
        };
        let names =
            vec![(c"a".to_owned(), c"a".to_owned()), (c"path/b".to_owned(), c"b".to_owned())];
        let part = Part {
            source: c"s".to_owned(),
            target: c"hidden".to_owned(),
            may_be_link: true,
            source_ino: 1,
            source_size: 2 << 40,
            source_mtime: Time { seconds: -5, nanoseconds: 999_999_999 },
            source_ctime: Time { seconds: 5, nanoseconds: 1 },
            target_ino: 3,
            target_birth: Some(Time { seconds: 1, nanoseconds: 0 }),
            range: (1 << 40, (1 << 40) + 5),
            is_hashed: true,
        };
        [
            Unit { place: place(), work: Work::One(One::Directory(found)) },
            Unit { place: place(), work: Work::One(One::Part(Box::new(part))) },
            Unit { place: place(), work: Work::Entries(names) },
        ]
    }

    #[test]
    fn summaries_name_the_path_and_how_much_of_it() {
        let shown = |unit: &Unit| {
            let Summary { path, extent } = summary(&unit.encode()).unwrap();
            format!("{extent} {}", path.escape_ascii())
        };
        let expected = [
            "directory src/src/d\\xff",
            "1048576 to 1048576 MiB of src/src/s",
            "2 names in src/src",
        ];
        assert_eq!(units().iter().map(shown).collect::<Vec<_>>(), expected);
        assert_eq!(summary(b"of another version"), None);
    }

    #[test]
    fn units_come_back_as_they_were() {
        units().iter().for_each(unit::assert_coded);
    }
}
