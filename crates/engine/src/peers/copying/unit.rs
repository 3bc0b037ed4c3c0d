//! Units of work as plain data, and their encoding.

use std::ffi::CString;

use crate::peers::wire::{Malformed, Put, Take};
use crate::walk::node::Origin;

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
    pub(super) new_owner: Option<(u32, u32)>,
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

/// What is to be done in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Entering a directory below it.
    Directory(Found),
    /// Copying entries: names in the source and in the target.
    Entries(Vec<(CString, CString)>),
}

/// Unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) place: Place,
    pub(super) work: Work,
}

impl Unit {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut put = Put::default();
        put.name(&self.place.base);
        put.list(self.place.roots.iter(), |put, root| put.number(*root));
        put.list(self.place.levels.iter(), put_level);
        match &self.work {
            Work::Directory(found) => {
                put.flag(true);
                put_found(&mut put, found);
            }
            Work::Entries(entries) => {
                put.flag(false);
                put.list(entries.iter(), |put, (source, target)| {
                    put.name(source);
                    put.optional((source != target).then_some(target), |put, name| put.name(name));
                });
            }
        }
        put.0
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Unit, Malformed> {
        let mut take = Take(bytes);
        let place = Place {
            base: take.name()?,
            roots: take.list(Take::number)?,
            levels: take.list(take_level)?,
        };
        let work = if take.flag()? {
            Work::Directory(take_found(&mut take)?)
        } else {
            Work::Entries(take.list(|take| {
                let source = take.name()?;
                let target = take.optional(Take::name)?.unwrap_or_else(|| source.clone());
                Ok((source, target))
            })?)
        };
        take.end()?;
        Ok(Unit { place, work })
    }
}

fn put_level(put: &mut Put, level: &Level) {
    put.name(&level.source);
    put.optional(level.target.as_deref(), Put::name);
    put.number(level.source_ino);
    put.number(level.target_ino);
    put.flag(level.through_link);
    put.flag(level.target_through_link);
    put.flag(level.inherits_acl);
    put.flag(level.lists_operands);
    put.flag(level.origin == Origin::Made);
    put.optional(level.new_owner, |put, (uid, gid)| {
        put.number(u64::from(uid));
        put.number(u64::from(gid));
    });
}

fn take_level(take: &mut Take<'_>) -> Result<Level, Malformed> {
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
        new_owner: take.optional(|take| Ok((take.short()?, take.short()?)))?,
    })
}

fn put_found(put: &mut Put, found: &Found) {
    put.name(&found.source);
    put.optional(found.target.as_deref(), Put::name);
    put.number(found.ino);
    put.optional(found.made, |put, mode| put.number(u64::from(mode)));
    put.flag(found.origin == Origin::Made);
    put.flag(found.through_link);
    put.flag(found.target_through_link);
}

fn take_found(take: &mut Take<'_>) -> Result<Found, Malformed> {
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

fn take_origin(take: &mut Take<'_>) -> Result<Origin, Malformed> {
    Ok(if take.flag()? { Origin::Made } else { Origin::Found })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            new_owner: Some((1, u32::MAX)),
        };
        let plain = Level { target: None, new_owner: None, origin: Origin::Found, ..level.clone() };
        Place { base: c"over/there".to_owned(), roots: vec![1, 2], levels: vec![level, plain] }
    }

    fn units() -> [Unit; 2] {
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
        [
            Unit { place: place(), work: Work::Directory(found) },
            Unit { place: place(), work: Work::Entries(names) },
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
}
