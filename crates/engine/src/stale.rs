//! Leftovers: hidden names that runs which were killed could not take away, found and removed.
//!
//! A name counts only if it has the exact form of ours, belongs to us and to nobody who lives: a
//! run that is at work holds a lock on its files, and what cannot be locked (links, FIFOs) has its
//! hidden name for an instant, so it is left alone until it is old.

use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

use haul_io::hidden::is_hidden_name;
use haul_sys::fs::{
    CWD, DirectoryBuffer, Follow, Kind, OpenHow, Stat, for_each_entry, fstat, open_directory,
    openat, statat, try_lock, unlinkat,
};

use crate::relocate::stale::{self, Quiet};
use crate::walk::path::join;

/// How old a leftover has to be, usually. A name that is about to be another's is hidden for microseconds.
pub const AGE_SECONDS: i64 = 60;

/// Bytes of names that are read at a time.
const BUFFER_BYTES: usize = 64 << 10;

/// What becomes of what interrupted moves would go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// It is told, and stays.
    Keep,
    /// It counts as leftovers.
    GiveUp,
}

/// What is done with leftovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are told.
    Tell,
    /// They are removed, and told.
    Remove,
}

/// What became of a name that looks like a leftover, or of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is one, and was removed if that was to be done.
    Leftover,
    /// A run is at work on it, or was a moment ago.
    InUse,
    /// It belongs to somebody else.
    Foreign,
    /// A directory that an interrupted move has copied in part, or the note on it: the same move goes
    /// on with it, and its source is whole.
    Unfinished,
    /// The note that of this source, or of one that cannot be looked for now, only the removal is
    /// left to do: the same move goes on with that.
    Unremoved(Option<Vec<u8>>),
    /// It could not be looked at or removed.
    Failed(haul_sys::CallError),
}

struct Level {
    directory: OwnedFd,
    path: Vec<u8>,
    below: Vec<CString>,
}

/// Looks for leftovers in a directory and everything below it on the same file system: what was
/// changed after `latest_seconds` of the epoch is left alone.
pub fn clean(
    root: &CStr,
    latest_seconds: i64,
    (mode, moves): (Mode, Moves),
    tell: &mut dyn FnMut(&[u8], Found),
) {
    let opened = open_directory(CWD, root, Follow::Yes);
    let described = opened.and_then(|directory| fstat(&directory).map(|stat| (directory, stat)));
    let (directory, stat) = match described {
        Ok(described) => described,
        Err(error) => return tell(root.to_bytes(), Found::Failed(error)),
    };
    let mut buffer = DirectoryBuffer::new(BUFFER_BYTES);
    let mut sweeper = Sweeper { latest_seconds, mode, moves, dev: stat.dev, tell };
    let mut levels = vec![sweeper.level(directory, root.to_bytes().to_vec(), &mut buffer)];
    while let Some(level) = levels.last_mut() {
        let Some(name) = level.below.pop() else {
            levels.pop();
            continue;
        };
        let path = join(&[&level.path, name.to_bytes()]);
        match open_directory(&level.directory, &name, Follow::No) {
            Ok(directory) => {
                let is_near = fstat(&directory).is_ok_and(|stat| stat.dev == sweeper.dev);
                if is_near {
                    levels.push(sweeper.level(directory, path, &mut buffer));
                }
            }
            Err(error) => (sweeper.tell)(&path, Found::Failed(error)),
        }
    }
}

struct Sweeper<'a> {
    latest_seconds: i64,
    mode: Mode,
    moves: Moves,
    dev: u64,
    tell: &'a mut dyn FnMut(&[u8], Found),
}

impl Sweeper<'_> {
    /// Deals with the leftovers of one directory, and lists its subdirectories.
    fn level(&mut self, directory: OwnedFd, path: Vec<u8>, buffer: &mut DirectoryBuffer) -> Level {
        let (mut below, mut hidden, mut moving) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let more = for_each_entry(&directory, buffer, |entry| {
                if is_hidden_name(entry.name.to_bytes()) {
                    hidden.push(entry.name.to_owned());
                } else if stale::is_name(entry.name.to_bytes()) {
                    moving.push(entry.name.to_owned());
                } else if matches!(entry.kind, Some(Kind::Directory) | None) {
                    below.push(entry.name.to_owned());
                }
                ControlFlow::Continue(())
            });
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    (self.tell)(&path, Found::Failed(error));
                    break;
                }
            }
        }
        // Where the kind was not told, most of them are no directories.
        below.retain(|name| {
            statat(&directory, name).is_ok_and(|stat| stat.kind() == Kind::Directory)
        });
        for name in hidden {
            let found = self.one(&directory, &name).unwrap_or_else(Found::Failed);
            (self.tell)(&join(&[&path, name.to_bytes()]), found);
        }
        if !moving.is_empty() {
            // Held until all of them are dealt with, so that no move begins meanwhile.
            let quiet = Quiet::new(&directory);
            for name in moving {
                let found = match &quiet {
                    Ok(quiet) => self.moving(&directory, &name, quiet.as_ref()),
                    Err(error) => Err(*error),
                };
                let found = found.unwrap_or_else(Found::Failed);
                (self.tell)(&join(&[&path, name.to_bytes()]), found);
            }
        }
        Level { directory, path, below }
    }

    /// Deals with a name that moves use.
    fn moving(
        &self,
        directory: &OwnedFd,
        name: &CStr,
        quiet: Option<&Quiet>,
    ) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if me.uid != 0 && stat.uid != me.uid {
            return Ok(Found::Foreign);
        }
        if quiet.is_none() || stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::InUse);
        }
        let found = stale::judge(directory.as_fd(), name, &stat);
        if found != Found::Leftover && self.moves == Moves::Keep {
            return Ok(found);
        }
        if self.mode == Mode::Remove {
            stale::remove(directory.as_fd(), name, &stat)?;
        }
        Ok(Found::Leftover)
    }

    fn one(&self, directory: &OwnedFd, name: &CStr) -> haul_sys::Result<Found> {
        let stat = statat(directory, name)?;
        let me = haul_sys::process::identity();
        if stat.kind() == Kind::Directory || (me.uid != 0 && stat.uid != me.uid) {
            return Ok(Found::Foreign);
        }
        if stat.ctime.seconds > self.latest_seconds {
            return Ok(Found::InUse);
        }
        // Held until the name is gone, so that nobody can begin to use it meanwhile.
        let _lock = match lock(directory, name, &stat)? {
            Lock::None => None,
            Lock::Ours(fd) => Some(fd),
            Lock::Theirs => return Ok(Found::InUse),
        };
        if self.mode == Mode::Remove {
            unlinkat(directory, name)?;
        }
        Ok(Found::Leftover)
    }
}

enum Lock {
    /// It is nothing that could be locked.
    None,
    Ours(OwnedFd),
    Theirs,
}

fn lock(directory: &OwnedFd, name: &CStr, stat: &Stat) -> haul_sys::Result<Lock> {
    if stat.kind() != Kind::Regular {
        return Ok(Lock::None);
    }
    let fd = openat(directory, name, OpenHow::READ)?;
    if !fstat(&fd)?.same_file(stat) {
        return Ok(Lock::Theirs);
    }
    Ok(if try_lock(&fd)? { Lock::Ours(fd) } else { Lock::Theirs })
}
