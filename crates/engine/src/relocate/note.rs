//! A note beside a moved directory while its source is being removed, so that a rerun of the same
//! command knows that only that is left to do.
//!
//! It is written before the copy gets its name and made to last with it, and it is only believed if
//! it is our own file and names exactly this source and this target, by inode and birth. Whoever can
//! write to the directory cannot make one.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{
    CWD, Kind, OpenHow, Stat, Time, birth_at, close, fstat, openat, readlinkat, statat,
    statat_follow, unlinkat,
};
use haul_sys::{Call, CallError, Errno};

use super::stage;
use crate::walk::path::trimmed;

/// What a note's name ends in.
const SUFFIX: &[u8] = b".done";

/// More than a note has, with the longest path that the kernel takes; what is longer is none.
const MOST_BYTES: usize = 512 + 4096;

/// What the line begins with that says where the source is: for people, and for those who tidy up.
const PATH: &[u8] = b"path ";

/// Returns the name of the note on a waiting name.
fn name(stage: &CStr) -> CString {
    CString::new([stage.to_bytes(), SUFFIX].concat()).unwrap_or_default()
}

/// Returns the waiting name that a note is on, if that is what this is the name of.
pub(crate) fn of_copy(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(SUFFIX)
}

fn shown(time: Option<Time>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| format!("{}.{}", time.seconds, time.nanoseconds))
}

fn text(
    (source, source_birth): (&Stat, Option<Time>),
    (target, target_birth): (&Stat, Option<Time>),
) -> String {
    format!(
        "This directory's move is complete; its source is being removed.\n\
         source {} {}\ntarget {} {}\n",
        source.ino,
        shown(source_birth),
        target.ino,
        shown(target_birth)
    )
}

/// Says where a source is: its path from the root, and the directory that it is in. Nothing where that
/// cannot be found out, or is longer than the kernel takes.
fn whereabouts(source: &CStr) -> Option<Vec<u8>> {
    let mut path = Vec::new();
    if !source.to_bytes().starts_with(b"/") {
        path.extend_from_slice(readlinkat(CWD, c"/proc/self/cwd").ok()?.to_bytes());
        path.push(b'/');
    }
    path.extend_from_slice(source.to_bytes());
    path.truncate(trimmed(&path).len());
    let parent = parent_of(&path)?;
    let (stat, birth) = (statat_follow(CWD, &parent).ok()?, birth_at(CWD, &parent).ok()?);
    let mut told = format!("in {} {}\n", stat.ino, shown(birth)).into_bytes();
    told.extend_from_slice(PATH);
    told.extend_from_slice(&path);
    (path.len() < 4096).then_some(told)
}

/// Returns the path of the directory that something is in, with a slash, so that it may be a link.
fn parent_of(path: &[u8]) -> Option<CString> {
    let cut = path.iter().rposition(|byte| *byte == b'/')?;
    CString::new(path.get(..=cut)?).ok()
}

/// Writes the note on a complete copy that waits.
pub(crate) fn write(
    directory: BorrowedFd<'_>,
    waiting: &CStr,
    (path, source, birth): (&CStr, &Stat, Option<Time>),
) -> haul_sys::Result<()> {
    let copy = statat(directory, waiting)?;
    let copy_birth = birth_at(directory, waiting)?;
    let mut text = text((source, birth), (&copy, copy_birth)).into_bytes();
    text.extend(whereabouts(path).unwrap_or_default());
    let name = name(waiting);
    let make = || openat(directory, &name, OpenHow::new_file(0o600));
    let fd = match make() {
        // An interrupted run's, on a copy that was not complete after all.
        Err(error) if error.errno == Errno::EXIST => {
            remove(directory, waiting)?;
            make()?
        }
        made => made?,
    };
    let written = haul_sys::data::write(&fd, &text)?;
    close(fd)?;
    // A file system that has no room for a hundred bytes.
    if written == text.len() { Ok(()) } else { Err(CallError::new(Call::Write, Errno::NOSPC)) }
}

/// Removes the note on a waiting name, if there is one.
pub(crate) fn remove(directory: BorrowedFd<'_>, waiting: &CStr) -> haul_sys::Result<()> {
    match unlinkat(directory, &name(waiting)) {
        Err(error) if error.errno != Errno::NOENT => Err(error),
        _ => Ok(()),
    }
}

/// Tells whether what has a name is the complete copy of a source, by an earlier run's note.
pub(crate) fn tells_of(directory: BorrowedFd<'_>, target: &CStr, source: &CStr) -> bool {
    let look = || -> haul_sys::Result<bool> {
        let stat = statat(CWD, source)?;
        let birth = birth_at(CWD, source)?;
        let there = statat(directory, target)?;
        let there_birth = birth_at(directory, target)?;
        let expected = text((&stat, birth), (&there, there_birth));
        let note = read(directory, &name(&stage::name_for(&stat, birth, target)))?;
        Ok(note.is_some_and(|text| text.starts_with(expected.as_bytes())))
    };
    look().unwrap_or(false)
}

/// Reads a note; `None` where it is not our own file.
fn read(directory: BorrowedFd<'_>, name: &CStr) -> haul_sys::Result<Option<Vec<u8>>> {
    let note = openat(directory, name, OpenHow::READ)?;
    let found = fstat(&note)?;
    let me = haul_sys::process::identity().uid;
    let is_ours = found.kind() == Kind::Regular && found.uid == me && found.nlink == 1;
    let mut bytes = vec![0; MOST_BYTES];
    let length = haul_sys::data::read(&note, &mut bytes)?;
    bytes.truncate(length);
    Ok((is_ours && length < MOST_BYTES).then_some(bytes))
}

/// What has become of the source that a note speaks of.
pub(crate) enum Source {
    /// The directory that it was in does not have it any more.
    Gone,
    /// Some of it is left.
    Left(Vec<u8>),
    /// It cannot be looked for.
    Unknown,
}

/// Looks for the source that a note speaks of.
pub(crate) fn source_of(directory: BorrowedFd<'_>, name: &CStr) -> Source {
    let look = || -> Option<Source> {
        let text = read(directory, name).ok()??;
        let mut lines = text.splitn(5, |byte| *byte == b'\n').skip(1);
        let is = |line: &[u8], word: &str, stat: &Stat, birth| {
            line == format!("{word} {} {}", stat.ino, shown(birth)).as_bytes()
        };
        let (source, _target, within) = (lines.next()?, lines.next()?, lines.next()?);
        let path = lines.next()?.strip_prefix(PATH)?;
        let parent = parent_of(path)?;
        let (stat, birth) = (statat_follow(CWD, &parent).ok()?, birth_at(CWD, &parent).ok()?);
        // Another directory in its place says nothing: a file system may not be mounted.
        if !is(within, "in", &stat, birth) {
            return None;
        }
        let own = CString::new(path).ok()?;
        match statat(CWD, &own) {
            Ok(stat) if is(source, "source", &stat, birth_at(CWD, &own).ok()?) => {
                Some(Source::Left(path.to_vec()))
            }
            Ok(_) => Some(Source::Gone),
            Err(error) if error.errno == Errno::NOENT => Some(Source::Gone),
            Err(_) => None,
        }
    };
    look().unwrap_or(Source::Unknown)
}
