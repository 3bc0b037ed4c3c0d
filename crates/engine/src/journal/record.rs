//! Records: their meaning and their encoding. All numbers are little-endian.
//!
//! A frame consists of the length of a record (4 bytes), its checksum (16 bytes) and the record.
//! The checksum of [`finished`] is also the lookup key: a later run encodes the record that it
//! would need, and looks up whether the journal has it.

use std::ffi::CStr;

use haul_io::block_digests::Piece;
use haul_sys::fs::{CWD, Stat, Time, birth_at, statat};

use super::sums::{SUM_BYTES, Sum, Sums};
use crate::names::file_systems::Identified;

/// Number of bytes of a frame before its record.
pub(super) const FRAME_BYTES: usize = 4 + SUM_BYTES;

/// Maximum length of a record: a name has at most 255 bytes, and a record has at most
/// [`MOST_PIECES`] pieces.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// Maximum number of pieces in a record; a piece takes at most 48 bytes.
pub(super) const MOST_PIECES: usize = 16 << 10;

/// Position of a target directory in the tree: the checksum of its names from the root down.
pub(crate) type Position = u128;

/// Type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Tells {
    /// An entry is complete and has its name.
    Finished = 1,
    /// Like [`Tells::Finished`], for a file with several names: making another name changes its
    /// ctime.
    Linked = 2,
    /// The run is writing a large file under a hidden name.
    Part = 3,
    /// Pieces of that file are on stable storage.
    Pieces = 4,
    /// The run made a directory with more permission bits than its final mode has.
    Directory = 5,
    /// Digest of a finished file.
    Digest = 6,
    /// The run is complete. Only the last record of a journal counts.
    Complete = 7,
    /// The journal has further volumes, which other processes have written.
    Volumes = 8,
    /// The run is about to publish these files, whose bytes are complete.
    Publishing = 11,
    /// Each file of an earlier [`Tells::Publishing`] in the same volume that has its name has a record.
    Published = 12,
    /// The records that follow in this volume belong to this round: so many runs were complete before.
    Round = 13,
}

impl Tells {
    fn of(byte: u8) -> Option<Tells> {
        Some(match byte {
            1 => Tells::Finished,
            2 => Tells::Linked,
            3 => Tells::Part,
            4 => Tells::Pieces,
            5 => Tells::Directory,
            6 => Tells::Digest,
            7 => Tells::Complete,
            8 => Tells::Volumes,
            11 => Tells::Publishing,
            12 => Tells::Published,
            13 => Tells::Round,
            _ => return None,
        })
    }
}

/// Entry of the tree.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) directory: Position,
    pub(crate) name: &'a CStr,
}

/// Whether an entry's file has, or may get, further names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    One,
    Several,
}

/// Entry that a run has copied and that has its name.
#[derive(Clone, Copy)]
pub(crate) struct FinishedEntry<'a> {
    pub(crate) source: Identified<'a>,
    pub(crate) target: Identified<'a>,
    pub(crate) place: Place<'a>,
    pub(crate) names: Names,
}

/// What distinguishes the target operand from a later file or directory with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TargetIdentity {
    pub(super) ino: u64,
    /// Creation time; `None` if the file system does not record it.
    pub(super) birth: Option<Time>,
}

impl TargetIdentity {
    /// Identifies the target operand itself; `None` if it cannot be examined.
    pub(super) fn of(target: &CStr) -> Option<TargetIdentity> {
        Some(TargetIdentity::described(target)?.0)
    }

    /// Also returns the description that it is from.
    pub(super) fn described(target: &CStr) -> Option<(TargetIdentity, Stat)> {
        let stat = statat(CWD, target).ok()?;
        let birth = birth_at(CWD, target).ok()?;
        Some((TargetIdentity { ino: stat.ino, birth }, stat))
    }
}

fn put_time(record: &mut Vec<u8>, time: Time) {
    record.extend(time.seconds.to_le_bytes());
    record.extend(time.nanoseconds.to_le_bytes());
}

fn put_target(record: &mut Vec<u8>, target: TargetIdentity) {
    record.extend(target.ino.to_le_bytes());
    record.push(u8::from(target.birth.is_some()));
    put_time(record, target.birth.unwrap_or(Time { seconds: 0, nanoseconds: 0 }));
}

fn read_target(bytes: &[u8]) -> Option<(TargetIdentity, &[u8])> {
    let (ino, rest) = bytes.split_first_chunk()?;
    let (has_birth, rest) = rest.split_first()?;
    let (birth, rest) = read_time(rest)?;
    let birth = (*has_birth != 0).then_some(birth);
    Some((TargetIdentity { ino: u64::from_le_bytes(*ino), birth }, rest))
}

fn read_time(bytes: &[u8]) -> Option<(Time, &[u8])> {
    let (seconds, rest) = bytes.split_first_chunk()?;
    let (nanoseconds, rest) = rest.split_first_chunk()?;
    let seconds = i64::from_le_bytes(*seconds);
    Some((Time { seconds, nanoseconds: u32::from_le_bytes(*nanoseconds) }, rest))
}

/// Encodes what distinguishes a file from every other file and, together with its time of change, from its own
/// earlier state. The encoding has no device number, which changes with a reboot and is then another file
/// system's, but the identity of the file system.
fn put_file(record: &mut Vec<u8>, Identified { stat, on }: Identified<'_>) {
    record.extend(on.number().to_le_bytes());
    record.extend(stat.ino.to_le_bytes());
    record.extend(stat.size.to_le_bytes());
    put_time(record, stat.mtime);
}

fn put_source(record: &mut Vec<u8>, source: Identified<'_>) {
    put_file(record, source);
    put_time(record, source.stat.ctime);
}

fn put_place(record: &mut Vec<u8>, place: Place<'_>) {
    record.extend(place.directory.to_le_bytes());
    record.extend(place.name.to_bytes());
}

/// Encodes: the run has copied this source to this target.
pub(super) fn finished(entry: &FinishedEntry<'_>) -> Vec<u8> {
    let FinishedEntry { source, target, place, names } = *entry;
    let mut record = Vec::with_capacity(160 + place.name.to_bytes().len());
    record.push(match names {
        Names::One => Tells::Finished as u8,
        Names::Several => Tells::Linked as u8,
    });
    put_source(&mut record, source);
    put_file(&mut record, target);
    match names {
        Names::One => put_time(&mut record, target.stat.ctime),
        Names::Several => {
            for number in [target.stat.mode, target.stat.uid, target.stat.gid] {
                record.extend(number.to_le_bytes());
            }
        }
    }
    put_place(&mut record, place);
    record
}

/// Encodes: the run is copying this source to the file with this hidden name.
pub(super) fn part(source: Identified<'_>, ino: u64, hidden: &CStr, place: Place<'_>) -> Vec<u8> {
    let mut record = vec![Tells::Part as u8];
    put_source(&mut record, source);
    record.extend(ino.to_le_bytes());
    let hidden = hidden.to_bytes();
    record.push(u8::try_from(hidden.len()).unwrap_or(0));
    record.extend(hidden);
    put_place(&mut record, place);
    record
}

/// Encodes: these pieces of that large file are on stable storage.
pub(super) fn pieces(part: Sum, pieces: &[Piece], digest_bytes: usize) -> Vec<u8> {
    let mut record = vec![Tells::Pieces as u8];
    record.extend(part.to_le_bytes());
    record.push(u8::try_from(digest_bytes).unwrap_or(0));
    for piece in pieces {
        record.extend(piece.offset.to_le_bytes());
        record.extend(piece.bytes.to_le_bytes());
        record.extend(&piece.digest()[..digest_bytes]);
    }
    record
}

/// Encodes: the run made this directory with this mode.
pub(super) fn directory(mode: u32, place: Place<'_>) -> Vec<u8> {
    let mut record = vec![Tells::Directory as u8];
    record.extend(mode.to_le_bytes());
    put_place(&mut record, place);
    record
}

/// Encodes: the file of that record has this digest.
pub(super) fn digest(finished: Sum, digest: &[u8]) -> Vec<u8> {
    let mut record = vec![Tells::Digest as u8];
    record.extend(finished.to_le_bytes());
    record.extend(digest);
    record
}

/// Encodes: the run that copied to this target was complete at this time. All such records have the
/// same length.
pub(super) fn complete(target: TargetIdentity, at: Time) -> Vec<u8> {
    let mut record = vec![Tells::Complete as u8];
    put_target(&mut record, target);
    put_time(&mut record, at);
    record
}

fn with_number(tells: Tells, number: u64) -> Vec<u8> {
    let mut record = vec![tells as u8];
    record.extend(number.to_le_bytes());
    record
}

fn read_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}

/// Encodes: the journal has this many volumes, itself included. They may be missing.
pub(super) fn volumes(count: u64) -> Vec<u8> {
    with_number(Tells::Volumes, count)
}

/// What does not change when a file gets its name, and no other file has: its encoding by [`put_file`].
pub(super) type Unpublished = [u8; FILE_BYTES];

/// Number of bytes of an encoded file.
const FILE_BYTES: usize = 44;

/// Encodes a file that is to be published.
pub(super) fn unpublished(file: Identified<'_>) -> Unpublished {
    let mut encoded = Vec::with_capacity(FILE_BYTES);
    put_file(&mut encoded, file);
    encoded.first_chunk().copied().unwrap_or([0; FILE_BYTES])
}

/// Maximum number of files in a [`Tells::Publishing`].
pub(super) const MOST_FILES: usize = (MOST_BYTES - 1) / FILE_BYTES;

/// Encodes: the run is about to publish these files, at most [`MOST_FILES`].
pub(super) fn publishing(files: &[Unpublished]) -> Vec<u8> {
    let mut record = vec![Tells::Publishing as u8];
    record.extend(files.as_flattened());
    record
}

/// Encodes: those files of that record that have their names have records.
pub(super) fn published(publishing: Sum) -> Vec<u8> {
    let mut record = vec![Tells::Published as u8];
    record.extend(publishing.to_le_bytes());
    record
}

/// Encodes: the records that follow in the volume were made after so many runs were complete.
pub(super) fn round(number: u64) -> Vec<u8> {
    with_number(Tells::Round, number)
}

/// Appends a record with its frame, and returns the checksum of the record.
pub(super) fn frame(sums: &Sums, record: &[u8], into: &mut Vec<u8>) -> Sum {
    let sum = sums.of(record);
    into.extend(u32::try_from(record.len()).unwrap_or(0).to_le_bytes());
    into.extend(sum.to_le_bytes());
    into.extend(record);
    sum
}

/// Parsed record, as far as the reader interprets it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read<'a> {
    Finished,
    Part {
        /// Encoded source.
        source: &'a [u8],
        ino: u64,
        hidden: &'a [u8],
        /// Encoded place.
        place: &'a [u8],
    },
    Pieces {
        part: Sum,
    },
    Directory {
        mode: u32,
        place: &'a [u8],
    },
    Digest {
        finished: Sum,
        digest: &'a [u8],
    },
    Complete {
        target: TargetIdentity,
        at: Time,
    },
    Volumes {
        count: u64,
    },
    Publishing {
        files: &'a [Unpublished],
    },
    Published {
        publishing: Sum,
    },
    Round {
        number: u64,
    },
}

/// Number of bytes of an encoded source.
const SOURCE_BYTES: usize = FILE_BYTES + 12;

/// Parses a record. Returns `None` if this version does not write such a record.
pub(super) fn read(record: &[u8]) -> Option<Read<'_>> {
    let (tells, rest) = record.split_first()?;
    Some(match Tells::of(*tells)? {
        Tells::Finished | Tells::Linked => Read::Finished,
        Tells::Part => {
            let (source, rest) = rest.split_at_checked(SOURCE_BYTES)?;
            let (ino, rest) = rest.split_first_chunk()?;
            let (length, rest) = rest.split_first()?;
            let (hidden, place) = rest.split_at_checked(usize::from(*length))?;
            Read::Part { source, ino: u64::from_le_bytes(*ino), hidden, place }
        }
        Tells::Pieces => {
            let (part, _) = rest.split_first_chunk()?;
            Read::Pieces { part: Sum::from_le_bytes(*part) }
        }
        Tells::Directory => {
            let (mode, place) = rest.split_first_chunk()?;
            Read::Directory { mode: u32::from_le_bytes(*mode), place }
        }
        Tells::Digest => {
            let (finished, digest) = rest.split_first_chunk()?;
            Read::Digest { finished: Sum::from_le_bytes(*finished), digest }
        }
        Tells::Complete => {
            let (target, rest) = read_target(rest)?;
            let (at, _) = read_time(rest)?;
            Read::Complete { target, at }
        }
        Tells::Volumes => Read::Volumes { count: read_number(rest)?.0 },
        Tells::Publishing => Read::Publishing { files: rest.as_chunks().0 },
        Tells::Published => {
            let (publishing, _) = rest.split_first_chunk()?;
            Read::Published { publishing: Sum::from_le_bytes(*publishing) }
        }
        Tells::Round => Read::Round { number: read_number(rest)?.0 },
    })
}

/// Parses the pieces of a record; stops at the first invalid piece.
pub(super) fn read_pieces(record: &[u8]) -> Vec<Piece> {
    let mut found = Vec::new();
    let Some((digest_bytes, mut rest)) =
        record.get(1 + SUM_BYTES..).and_then(|rest| rest.split_first())
    else {
        return found;
    };
    while let Some((offset, behind)) = rest.split_first_chunk()
        && let Some((bytes, behind)) = behind.split_first_chunk()
        && let Some((digest, behind)) = behind.split_at_checked(usize::from(*digest_bytes))
    {
        let (offset, bytes) = (u64::from_le_bytes(*offset), u64::from_le_bytes(*bytes));
        if offset.checked_add(bytes).is_none() {
            break;
        }
        found.push(Piece::new(offset, bytes, digest));
        rest = behind;
    }
    found
}

/// Encodes a source as a record of a part does, for comparison.
pub(crate) fn source(source: Identified<'_>) -> Vec<u8> {
    let mut spelled = Vec::with_capacity(SOURCE_BYTES);
    put_source(&mut spelled, source);
    spelled
}

/// Encodes a place as records do.
pub(super) fn place(place: Place<'_>) -> Vec<u8> {
    let mut spelled = Vec::new();
    put_place(&mut spelled, place);
    spelled
}
