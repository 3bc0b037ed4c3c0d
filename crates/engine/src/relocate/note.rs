//! A note beside a moved directory while its source is being removed. It tells a rerun of the same
//! command that only the removal remains.
//!
//! The move writes the note before the copy gets its name, and flushes both together. A rerun
//! accepts a note only if the file belongs to the same user and names exactly this source and this
//! target, by inode and birth time. Write permission for the directory is therefore not enough to
//! forge a note.

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::fd::BorrowedFd;

use haul_sys::fs::{
    CWD, Kind, OpenHow, Stat, Time, birth_at, close, fstat, openat, readlinkat,
    split_at_last_slash, statat, statat_follow,
};
use haul_sys::{Call, CallError, Errno};

use super::stage;
use crate::names::path::trimmed;

/// Suffix of a note's name.
const SUFFIX: &[u8] = b".done";

/// Upper limit for the size of a note, with the longest path that the kernel accepts. A larger
/// file is not a note.
const MOST_BYTES: usize = 512 + 4096;

/// Prefix of the line with the path of the source, for users and for `haul clean`.
const PATH: &[u8] = b"path ";

/// Returns the name of the note for a waiting name.
fn name(stage: &CStr) -> CString {
    CString::new([stage.to_bytes(), SUFFIX].concat()).unwrap_or_default()
}

/// Returns the waiting name that a note's name belongs to, or `None` for any other name.
pub(crate) fn of_copy(name: &[u8]) -> Option<&[u8]> {
    name.strip_suffix(SUFFIX)
}

/// Inode number and birth time of a file. A file system may reuse the number, but not with the same
/// birth time.
#[derive(Clone, Copy)]
pub(super) struct Inode {
    pub(super) number: u64,
    /// Birth time, if the file system stores it.
    pub(super) birth: Option<Time>,
}

impl fmt::Display for Inode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.birth {
            Some(time) => {
                write!(formatter, "{} {}.{}", self.number, time.seconds, time.nanoseconds)
            }
            None => write!(formatter, "{} -", self.number),
        }
    }
}

fn text(source: Inode, target: Inode) -> String {
    format!(
        "This directory's move is complete; its source is being removed.\n\
         source {source}\ntarget {target}\n"
    )
}

/// Returns the absolute path of a source and of its directory. Returns `None` if the path cannot
/// be determined or is longer than the kernel accepts.
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
    let mut told = format!("in {}\n", Inode { number: stat.ino, birth }).into_bytes();
    told.extend_from_slice(PATH);
    told.extend_from_slice(&path);
    (path.len() < 4096).then_some(told)
}

/// Returns the path of the parent directory with a trailing slash, so that symbolic links are
/// followed.
fn parent_of(path: &[u8]) -> Option<CString> {
    let (directory, _) = split_at_last_slash(path);
    CString::new(directory).ok().filter(|directory| !directory.is_empty())
}

/// Writes the note for a complete copy that waits.
pub(super) fn write(
    directory: BorrowedFd<'_>,
    waiting: &CStr,
    path: &CStr,
    source: Inode,
) -> haul_sys::Result<()> {
    let number = statat(directory, waiting)?.ino;
    let copy = Inode { number, birth: birth_at(directory, waiting)? };
    let mut text = text(source, copy).into_bytes();
    text.extend(whereabouts(path).unwrap_or_default());
    let name = name(waiting);
    let make = || openat(directory, &name, OpenHow::new_file(0o600));
    let fd = match make() {
        // The note of an interrupted run, for a copy that turned out to be incomplete.
        Err(error) if error.errno == Errno::EXIST => {
            remove(directory, waiting)?;
            make()?
        }
        made => made?,
    };
    let written = haul_sys::data::write(&fd, &text)?;
    close(fd)?;
    // The file system has no room for a hundred bytes.
    if written == text.len() { Ok(()) } else { Err(CallError::new(Call::Write, Errno::NOSPC)) }
}

/// Describes what has the name of the note for a waiting name, if anything has.
pub(super) fn described(
    directory: BorrowedFd<'_>,
    waiting: &CStr,
) -> haul_sys::Result<Option<Stat>> {
    match statat(directory, &name(waiting)) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.errno == Errno::NOENT => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes the note for a waiting name, if it exists.
pub(crate) fn remove(directory: BorrowedFd<'_>, waiting: &CStr) -> haul_sys::Result<()> {
    stage::unlink(directory, &name(waiting))
}

/// Returns whether an earlier run's note identifies the target as the complete copy of the source.
pub(crate) fn tells_of(
    directory: BorrowedFd<'_>,
    target: &CStr,
    source: &CStr,
    selection: u64,
) -> bool {
    let look = || -> haul_sys::Result<bool> {
        let stat = statat(CWD, source)?;
        let birth = birth_at(CWD, source)?;
        let number = statat(directory, target)?.ino;
        let there = Inode { number, birth: birth_at(directory, target)? };
        let expected = text(Inode { number: stat.ino, birth }, there);
        let note = read(directory, &name(&stage::name_for(&stat, birth, target, selection)))?;
        Ok(note.is_some_and(|text| text.starts_with(expected.as_bytes())))
    };
    look().unwrap_or(false)
}

/// Reads a note. Returns `None` if the file does not belong to the user.
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

/// State of the source that a note describes.
pub(crate) enum Source {
    /// The directory of the source does not contain it any more.
    Gone,
    /// Parts of the source still exist. The value is its path.
    Left(Vec<u8>),
    /// The source cannot be examined.
    Unknown,
}

/// Looks for the source that a note describes.
pub(crate) fn source_of(directory: BorrowedFd<'_>, name: &CStr) -> Source {
    let look = || -> Option<Source> {
        let text = read(directory, name).ok()??;
        let mut lines = text.splitn(5, |byte| *byte == b'\n').skip(1);
        let is = |line: &[u8], word: &str, stat: &Stat, birth| {
            line == format!("{word} {}", Inode { number: stat.ino, birth }).as_bytes()
        };
        let (source, _target, within) = (lines.next()?, lines.next()?, lines.next()?);
        let path = lines.next()?.strip_prefix(PATH)?;
        let parent = parent_of(path)?;
        let (stat, birth) = (statat_follow(CWD, &parent).ok()?, birth_at(CWD, &parent).ok()?);
        // A different directory at this path proves nothing: a file system may not be mounted.
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
