//! Volumes of a journal: where several processes carry out a run, each writes to a file of its own.
//!
//! Volume 0 is the journal itself, which the first process locks for the whole run; the others are
//! beside it. A volume has the random number of the journal in its header, so that records of all
//! volumes have the same checksums, and a volume of another journal is not read. Together the volumes
//! have the records that one process would have written to one file: a reader reads all of them, and
//! a run may have another number of processes than the run that it resumes.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use haul_io::hidden::{LETTERS, is_hidden_name, name_of};
use haul_io::retry::again;
use haul_sys::Errno;
use haul_sys::data::{ftruncate, pread};
use haul_sys::fs::{OpenHow, fdatasync, fsync_names, openat, try_lock};

use super::beginning::{Unread, read_header};
use super::header::{self, Flaw};
use super::index::{Index, Told};
use super::own_file::{OpenError, Purpose, create_own, open_own, unlink_own, write_own};
use super::scan::{Scanned, scan};
use super::sums::{NONCE_BYTES, Sums};
use crate::data::error::JournalFlaw;

#[cfg(test)]
mod tests;

/// Where the volumes of a journal are, and what they have in common.
#[derive(Clone, Copy)]
pub(super) struct Set<'a> {
    pub(super) directory: BorrowedFd<'a>,
    /// Name of the journal, which is volume 0.
    pub(super) journal: &'a CStr,
    pub(super) nonce: [u8; NONCE_BYTES],
}

/// State of a file that may be a volume.
enum Seen {
    Missing,
    /// The file is this volume; the records begin at this offset.
    Volume(OwnedFd, u64),
    /// The file is a volume of another journal, or its header is torn.
    Stale(OwnedFd),
}

/// Begins the description of a volume in its header. A journal's description never begins so.
const DESCRIPTION: &str = "volume=";

impl Set<'_> {
    /// Returns the name of a volume: a hidden name if the journal has one, so that `haul clean`
    /// finds it.
    pub(super) fn name(&self, volume: u64) -> CString {
        let journal = self.journal.to_bytes();
        if volume == 0 {
            return self.journal.to_owned();
        }
        if !is_hidden_name(journal) {
            let name = [journal, b".", volume.to_string().as_bytes()].concat();
            return CString::new(name).unwrap_or_default();
        }
        let sum = Sums::new([0; NONCE_BYTES]).of(&[journal, &volume.to_le_bytes()].concat());
        let mut letters = [0; LETTERS];
        for (to, from) in letters.iter_mut().zip(sum.to_le_bytes()) {
            *to = from;
        }
        name_of(letters).unwrap_or_default()
    }

    fn see(&self, volume: u64, purpose: Purpose) -> Result<Seen, OpenError> {
        let Some(fd) = open_own(self.directory, &self.name(volume), purpose)? else {
            return Ok(Seen::Missing);
        };
        let is_volume = |run: &[u8]| run.starts_with(DESCRIPTION.as_bytes());
        match read_header(&fd) {
            Ok(header) if is_volume(&header.run) && header.nonce == self.nonce => {
                Ok(Seen::Volume(fd, header.bytes))
            }
            Ok(header) if is_volume(&header.run) => Ok(Seen::Stale(fd)),
            Ok(_) => Err(OpenError::Flaw(JournalFlaw::AnotherRun)),
            Err(Unread::Flaw(Flaw::Torn)) => Ok(Seen::Stale(fd)),
            Err(Unread::Flaw(Flaw::Foreign)) => Err(OpenError::Flaw(JournalFlaw::NotAJournal)),
            Err(Unread::Flaw(Flaw::Version)) => Err(OpenError::Flaw(JournalFlaw::OtherVersion)),
            Err(Unread::Call(error)) => Err(error.into()),
        }
    }

    /// Names the volume that an error concerns.
    fn named(&self, volume: u64) -> impl Fn(OpenError) -> OpenError {
        let name = self.name(volume);
        move |error| OpenError::Volume(Box::new(error), name.clone())
    }

    /// Opens a volume for the process that writes it, and locks it; makes it if it does not exist.
    /// Adds its records to the index.
    pub(super) fn take(
        &self,
        volume: u64,
        index: &mut Index,
    ) -> Result<(OwnedFd, Scanned), OpenError> {
        self.open(volume, index).map_err(self.named(volume))
    }

    fn open(&self, volume: u64, index: &mut Index) -> Result<(OwnedFd, Scanned), OpenError> {
        let fd = match self.see(volume, Purpose::Writing)? {
            Seen::Volume(fd, begin) => {
                let scanned = scan_into(&fd, self.nonce, (volume, begin), index)?;
                // A torn record at the end, and what may be behind it.
                ftruncate(&fd, scanned.end)?;
                return Ok((fd, scanned));
            }
            Seen::Stale(fd) => fd,
            Seen::Missing => self.make(volume)?,
        };
        let header = header::spell(self.nonce, false, &description(volume));
        ftruncate(&fd, 0)?;
        write_own(&fd, &header, 0)?;
        fdatasync(&fd)?;
        fsync_names(self.directory)?;
        let end = header.len() as u64;
        Ok((fd, Scanned::nothing(end)))
    }

    fn make(&self, volume: u64) -> Result<OwnedFd, OpenError> {
        let fd = create_own(self.directory, &self.name(volume))?;
        if try_lock(&fd)? { Ok(fd) } else { Err(OpenError::Flaw(JournalFlaw::InUse)) }
    }

    /// Adds the records of a volume to the index. A volume of which the process that writes it is at
    /// work is read up to its last whole record. Returns what was found; `None` if there is no volume.
    pub(super) fn read(
        &self,
        volume: u64,
        index: &mut Index,
    ) -> Result<Option<Scanned>, OpenError> {
        Ok(self.add(volume, Purpose::Reading, index)?.map(|(_, scanned)| scanned))
    }

    /// Locks a volume that no process of this run writes, so that no process of an earlier run still
    /// does, and adds its records to the index.
    pub(super) fn keep(
        &self,
        volume: u64,
        index: &mut Index,
    ) -> Result<Option<(OwnedFd, u64)>, OpenError> {
        let kept = self.add(volume, Purpose::Writing, index)?;
        Ok(kept.map(|(fd, scanned)| (fd, scanned.records)))
    }

    fn add(
        &self,
        volume: u64,
        purpose: Purpose,
        index: &mut Index,
    ) -> Result<Option<(OwnedFd, Scanned)>, OpenError> {
        match self.see(volume, purpose) {
            Ok(Seen::Volume(fd, begin)) => {
                let scanned = scan_into(&fd, self.nonce, (volume, begin), index)
                    .map_err(|error| self.named(volume)(error.into()))?;
                Ok(Some((fd, scanned)))
            }
            Ok(Seen::Missing | Seen::Stale(_)) => Ok(None),
            Err(error @ OpenError::Flaw(JournalFlaw::InUse)) => Err(self.named(volume)(error)),
            // Another file stands there. Only the process that would write there refuses it.
            Err(OpenError::Flaw(_)) => Ok(None),
            Err(error) => Err(self.named(volume)(error)),
        }
    }

    /// Removes the volumes beside the journal, of which there are `count - 1` at most.
    pub(super) fn remove(&self, count: u64) {
        for volume in 1..count {
            if let Ok(Seen::Volume(file, _)) = self.see(volume, Purpose::Reading) {
                // A volume that stays costs space, and no later run reads it.
                let _gone = unlink_own(self.directory, &self.name(volume), &file);
            }
        }
    }
}

fn description(volume: u64) -> Vec<u8> {
    format!("{DESCRIPTION}{volume}").into_bytes()
}

/// Adds the records of a volume, which begin at this offset, to an index.
pub(super) fn scan_into(
    fd: impl AsFd,
    nonce: [u8; NONCE_BYTES],
    (volume, begin): (u64, u64),
    index: &mut Index,
) -> haul_sys::Result<Scanned> {
    let fd = fd.as_fd();
    scan(
        &Sums::new(nonce),
        begin,
        &mut |room, offset| again(|| pread(fd, room, offset)),
        &mut |sum, record, offset, bytes| index.take(sum, record, Told { volume, offset, bytes }),
    )
}

/// Returns whether a file is a volume of a journal in the same directory that a run uses: another process of
/// the copy needs the records, although the one that wrote them has ended.
pub(crate) fn is_of_running_copy(directory: BorrowedFd<'_>, file: &OwnedFd) -> bool {
    let volume = match read_header(file) {
        Ok(header) if header.run.starts_with(DESCRIPTION.as_bytes()) => header,
        _ => return false,
    };
    let is_used_journal = |name: &CStr| {
        let fd = match openat(directory, name, OpenHow::READ) {
            Ok(fd) => fd,
            // What is gone, a link, a socket or another user's is not the journal; any other file may be.
            Err(error) => {
                let others = [Errno::NOENT, Errno::LOOP, Errno::NXIO, Errno::ACCESS, Errno::PERM];
                return !others.contains(&error.errno);
            }
        };
        let is_journal = match read_header(&fd) {
            Ok(header) => {
                header.nonce == volume.nonce && !header.run.starts_with(DESCRIPTION.as_bytes())
            }
            Err(Unread::Flaw(_)) => false,
            Err(Unread::Call(error)) => return error.errno != Errno::ISDIR,
        };
        // A lock that cannot be tried may be another's.
        is_journal && !try_lock(&fd).unwrap_or(false)
    };
    let is_used = |name: &CStr| is_hidden_name(name.to_bytes()) && is_used_journal(name);
    // If the directory cannot be read, the file stays.
    haul_tree::has_entry(directory, |entry| is_used(entry.name)).unwrap_or(true)
}

/// Removes the volumes of a journal that is about to be removed or overwritten.
pub(super) fn remove_all(
    directory: BorrowedFd<'_>,
    journal: &CStr,
    fd: impl AsFd,
    header: &header::Header,
) {
    let fd = fd.as_fd();
    let scanned = scan(
        &Sums::new(header.nonce),
        header.bytes,
        &mut |room, offset| again(|| pread(fd, room, offset)),
        &mut |_, _, _, _| {},
    );
    if let Ok(Scanned { volumes, .. }) = scanned {
        Set { directory, journal, nonce: header.nonce }.remove(volumes);
    }
}
