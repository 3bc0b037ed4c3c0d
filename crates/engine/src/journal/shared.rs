//! What the first process of a run tells the others about the journal, as plain data.

use std::ffi::CString;

use super::sums::NONCE_BYTES;
use crate::data::wire::{Malformed, Put, Take};

/// A journal to which several processes write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Path of the journal from the current directory, which all processes have in common.
    pub(super) path: CString,
    pub(super) nonce: [u8; NONCE_BYTES],
    /// Number of volumes, those of earlier runs included.
    pub(super) volumes: u64,
}

impl Shared {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut put = Put::default();
        put.name(&self.path);
        put.number(u64::from_le_bytes(self.nonce));
        put.number(self.volumes);
        put.0
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Shared, Malformed> {
        let mut take = Take(bytes);
        let path = take.name()?;
        let nonce = take.number()?.to_le_bytes();
        let volumes = take.number()?;
        take.end()?;
        Ok(Shared { path, nonce, volumes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_comes_back_as_it_was() {
        let shared = Shared { path: c"over/there".to_owned(), nonce: [1; NONCE_BYTES], volumes: 9 };
        let bytes = shared.encode();
        assert_eq!(Shared::decode(&bytes), Ok(shared));
        assert_eq!(Shared::decode(&bytes[1..]), Err(Malformed));
    }
}
