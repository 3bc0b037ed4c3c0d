//! Unit of work as plain data: where the work is, and what it is. An operation defines what it says
//! about a place, about a directory that is to be entered, and about an entry; the form is the same
//! for all.

use crate::data::wire::{Malformed, Put, Take};

/// Data that a unit has, with its encoding.
pub(crate) trait Coded: Sized {
    /// Appends the data to a unit.
    fn put(&self, put: &mut Put);

    /// Takes the data from a unit.
    fn take(take: &mut Take<'_>) -> Result<Self, Malformed>;
}

/// What is to be done in the directory that a unit belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work<O, E> {
    /// A directory below it with everything in it, or something else that the operation can send.
    One(O),
    /// Some of its entries.
    Entries(Vec<E>),
}

/// Unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit<P, O, E> {
    /// Directory that the unit belongs to.
    pub(crate) place: P,
    pub(crate) work: Work<O, E>,
}

impl<P: Coded, O: Coded, E: Coded> Unit<P, O, E> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut put = Put::default();
        self.place.put(&mut put);
        match &self.work {
            Work::One(one) => {
                put.flag(true);
                one.put(&mut put);
            }
            Work::Entries(entries) => {
                put.flag(false);
                put.list(entries.iter(), |put, entry| entry.put(put));
            }
        }
        put.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut take = Take(bytes);
        let place = P::take(&mut take)?;
        let work = if take.flag()? {
            Work::One(O::take(&mut take)?)
        } else {
            Work::Entries(take.list(E::take)?)
        };
        take.end()?;
        Ok(Unit { place, work })
    }
}

/// Asserts that a unit comes back as it was, and that it is refused if it is cut or longer.
#[cfg(test)]
pub(crate) fn assert_coded<P, O, E>(unit: &Unit<P, O, E>)
where
    P: Coded + PartialEq + std::fmt::Debug,
    O: Coded + PartialEq + std::fmt::Debug,
    E: Coded + PartialEq + std::fmt::Debug,
{
    let whole = unit.encode();
    assert_eq!(Unit::decode(&whole).as_ref(), Ok(unit));
    for length in 0..whole.len() {
        assert_eq!(Unit::<P, O, E>::decode(&whole[..length]), Err(Malformed), "{length} bytes");
    }
    assert_eq!(Unit::<P, O, E>::decode(&[whole, vec![0]].concat()), Err(Malformed));
}
