//! Encoding of units: numbers as eight bytes in little-endian order, strings with their length.

use std::ffi::{CStr, CString};

use haul_sys::fs::Time;

/// A unit that does not have the expected form: a process of another version sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends values to a unit.
#[derive(Default)]
pub(crate) struct Put(pub(crate) Vec<u8>);

impl Put {
    pub(crate) fn number(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }

    pub(crate) fn time(&mut self, time: Time) {
        self.number(time.seconds.cast_unsigned());
        self.number(u64::from(time.nanoseconds));
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub(crate) fn name(&mut self, value: &CStr) {
        self.bytes(value.to_bytes());
    }

    pub(crate) fn optional<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Put, T)) {
        self.flag(value.is_some());
        if let Some(value) = value {
            put(self, value);
        }
    }

    pub(crate) fn list<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        put: impl Fn(&mut Put, T),
    ) {
        self.number(values.len() as u64);
        values.for_each(|value| put(self, value));
    }
}

/// Takes values from a unit.
pub(crate) struct Take<'a>(pub(crate) &'a [u8]);

impl Take<'_> {
    fn next(&mut self, count: u64) -> Result<&[u8], Malformed> {
        let count = usize::try_from(count).map_err(|_| Malformed)?;
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let bytes = self.next(8)?.try_into().map_err(|_| Malformed)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Takes a number of 32 bits.
    pub(crate) fn short(&mut self) -> Result<u32, Malformed> {
        u32::try_from(self.number()?).map_err(|_| Malformed)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.next(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn time(&mut self) -> Result<Time, Malformed> {
        Ok(Time { seconds: self.number()?.cast_signed(), nanoseconds: self.short()? })
    }

    pub(crate) fn bytes(&mut self) -> Result<&[u8], Malformed> {
        let count = self.number()?;
        self.next(count)
    }

    pub(crate) fn name(&mut self) -> Result<CString, Malformed> {
        CString::new(self.bytes()?).map_err(|_| Malformed)
    }

    pub(crate) fn optional<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        if self.flag()? { take(self).map(Some) } else { Ok(None) }
    }

    pub(crate) fn list<T>(
        &mut self,
        take: impl Fn(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        // The count is not trusted for the allocation: each value takes at least one byte.
        (0..self.number()?).map(|_| take(self)).collect()
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed) }
    }
}
