//! A note beside a moved directory while its source is being removed, so that a rerun of the same
//! command knows that only that is left to do.
//!
//! It is written before the copy gets its name and made to last with it, and it is only believed if
//! it is our own file and names exactly this source and this target, by inode and birth. Whoever can
//! write to the directory cannot make one.

use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;

use haul_sys::fs::{
    CWD, Kind, OpenHow, Stat, Time, birth_at, close, fstat, openat, statat, unlinkat,
};
use haul_sys::{Call, CallError, Errno};

use super::stage;

/// What a note's name ends in.
const SUFFIX: &[u8] = b".done";

/// More than a note has; what is longer is none.
const MOST_BYTES: usize = 512;

/// Returns the name of the note on a waiting name.
fn name(stage: &CStr) -> CString {
    CString::new([stage.to_bytes(), SUFFIX].concat()).unwrap_or_default()
}

fn text(
    (source, source_birth): (&Stat, Option<Time>),
    (target, target_birth): (&Stat, Option<Time>),
) -> String {
    let birth = |time: Option<Time>| {
        time.map_or_else(|| "-".to_owned(), |time| format!("{}.{}", time.seconds, time.nanoseconds))
    };
    format!(
        "This directory's move is complete; its source is being removed.\n\
         source {} {}\ntarget {} {}\n",
        source.ino,
        birth(source_birth),
        target.ino,
        birth(target_birth)
    )
}

/// Writes the note on a complete copy that waits.
pub(super) fn write(
    directory: BorrowedFd<'_>,
    waiting: &CStr,
    (source, birth): (&Stat, Option<Time>),
) -> haul_sys::Result<()> {
    let copy = statat(directory, waiting)?;
    let copy_birth = birth_at(directory, waiting)?;
    let text = text((source, birth), (&copy, copy_birth));
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
    let written = haul_sys::data::write(&fd, text.as_bytes())?;
    close(fd)?;
    // A file system that has no room for a hundred bytes.
    if written == text.len() { Ok(()) } else { Err(CallError::new(Call::Write, Errno::NOSPC)) }
}

/// Removes the note on a waiting name, if there is one.
pub(super) fn remove(directory: BorrowedFd<'_>, waiting: &CStr) -> haul_sys::Result<()> {
    match unlinkat(directory, &name(waiting)) {
        Err(error) if error.errno != Errno::NOENT => Err(error),
        _ => Ok(()),
    }
}

/// Tells whether what has a name is the complete copy of a source, by an earlier run's note.
pub(super) fn tells_of(directory: BorrowedFd<'_>, target: &CStr, source: &CStr) -> bool {
    let look = || -> haul_sys::Result<bool> {
        let stat = statat(CWD, source)?;
        let birth = birth_at(CWD, source)?;
        let there = statat(directory, target)?;
        let there_birth = birth_at(directory, target)?;
        let expected = text((&stat, birth), (&there, there_birth));
        let note = openat(directory, &name(&stage::name_for(&stat, birth, target)), OpenHow::READ)?;
        let found = fstat(&note)?;
        let me = haul_sys::process::identity().uid;
        let is_ours = found.kind() == Kind::Regular && found.uid == me && found.nlink == 1;
        let mut bytes = [0; MOST_BYTES];
        let length = haul_sys::data::read(&note, &mut bytes)?;
        Ok(is_ours && bytes.get(..length) == Some(expected.as_bytes()))
    };
    look().unwrap_or(false)
}
