//! Gate of a journal: a file whose lock gives the shards of a copy their turns.
//!
//! It is no journal and has no records. Its header only shows that it is no other file.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use haul_sys::data::ftruncate;
use haul_sys::fs::unlinkat;

use super::beginning::{Unread, read_header};
use super::header::{self, Flaw};
use super::own_file::{OpenError, Purpose, create_own, open_own, write_own};
use super::sums::NONCE_BYTES;
use crate::error::JournalFlaw;

/// Description in the header of a gate.
const DESCRIPTION: &[u8] = b"gate";

/// Random number in the header of a gate, which belongs to no run.
const NONCE: [u8; NONCE_BYTES] = [0; NONCE_BYTES];

/// Number of attempts to lock a gate that other processes keep removing.
const ATTEMPTS: u32 = 4;

/// Turn of this process. It ends when the descriptor is closed.
pub(super) struct Turn {
    _gate: OwnedFd,
}

impl Turn {
    /// Waits for the turn of this process. Makes the gate if it does not exist.
    pub(super) fn take(directory: BorrowedFd<'_>, name: &CStr) -> Result<Turn, OpenError> {
        for _ in 0..ATTEMPTS {
            if let Some(gate) = open_own(directory, name, Purpose::Waiting)? {
                verify(&gate)?;
                return Ok(Turn { _gate: gate });
            }
            match create_own(directory, name) {
                // The next attempt locks it, whichever process has made it.
                Ok(_) | Err(OpenError::Flaw(JournalFlaw::InUse)) => {}
                Err(error) => return Err(error),
            }
        }
        Err(OpenError::Gone)
    }
}

/// Verifies that a locked file is a gate; makes it one if it has no header.
fn verify(gate: &OwnedFd) -> Result<(), OpenError> {
    let flaw = match read_header(gate) {
        Ok(header) if header.run == DESCRIPTION => return Ok(()),
        Err(Unread::Flaw(Flaw::Torn)) => {
            ftruncate(gate, 0)?;
            return Ok(write_own(gate, &header::spell(NONCE, false, DESCRIPTION), 0)?);
        }
        Err(Unread::Call(error)) => return Err(error.into()),
        Ok(_) | Err(Unread::Flaw(Flaw::Foreign)) => JournalFlaw::NotAJournal,
        Err(Unread::Flaw(Flaw::Version)) => JournalFlaw::OtherVersion,
    };
    Err(OpenError::Flaw(flaw))
}

/// Removes a gate, if no process has its turn.
pub(super) fn remove(directory: BorrowedFd<'_>, name: &CStr) {
    if let Ok(Some(gate)) = open_own(directory, name, Purpose::Writing)
        && read_header(&gate).is_ok_and(|header| header.run == DESCRIPTION)
    {
        // A gate that stays takes a name, and the next shard uses it.
        let _gone = unlinkat(directory, name);
    }
}
