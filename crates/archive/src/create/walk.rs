//! The order of members: a directory's own, then its entries as the file system lists them or by name.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_io::Device;
use haul_sys::fs::{
    DirectoryBuffer, Follow, Kind, Stat, for_each_entry, fstat, open_directory, statat,
    statat_follow,
};
use haul_sys::{Call, CallError, Errno};

use super::found::{Entries, Found, Origin};
use super::tag::{Tag, TagScope, mark};

/// Bytes of a buffer of directory entries: the C library's size.
const ENTRIES_BYTES: usize = 32 << 10;

/// The error of a directory that cannot be found again.
const GONE: CallError = CallError::new(Call::Openat, Errno::NOENT);

/// In which order the entries of a directory come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As the file system lists them.
    None,
    /// By the bytes of their names.
    Name,
}

/// What the walk found.
pub(super) enum Step {
    Entry(Found),
    /// A name whose kind cannot be found out, so that nothing below it can be.
    Unknown(Found, CallError),
    /// A directory could not be read. The last field tells whether the user named it.
    Unreadable(Vec<u8>, CallError, bool),
    /// A directory changed while its entries were archived.
    Changed(Vec<u8>),
    /// A directory has a file of this name that marks it.
    Tagged(Vec<u8>, CString, TagScope),
}

/// A directory whose entries come next.
struct Level {
    /// Open if its entries are walked now, or soon again.
    directory: Option<Arc<OwnedFd>>,
    /// What it was when it was opened.
    stat: Stat,
    root: Arc<OwnedFd>,
    operand: Origin,
    name: Vec<u8>,
    entries: Entries,
}

/// Which names the walk leaves out and where it does not go.
pub(super) trait Filter {
    /// Returns whether the name, and all below it, is left out.
    fn is_excluded(&self, name: &[u8]) -> bool;
}

/// How a walk goes.
#[derive(Clone, Copy)]
pub(super) struct Rules<'f> {
    pub(super) sort: Sort,
    pub(super) follow: Follow,
    pub(super) tags: &'f [Tag],
    /// Whether directories of other file systems are not entered.
    pub(super) stays_on_device: bool,
    /// Directories that stay open while what is below them is walked, at least 1; others are opened again.
    pub(super) open_levels: usize,
}

/// The walk below one operand.
pub(super) struct Walk<'f, F> {
    filter: F,
    rules: Rules<'f>,
    /// The device of the operand, where others are not entered.
    device: Option<u64>,
    levels: Vec<Level>,
    pending: VecDeque<Step>,
    buffer: DirectoryBuffer,
    last_device: LastDevice,
}

/// The file system of the directory that was read last: whether it is on a server is asked when another one
/// comes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastDevice(Option<(u64, bool)>);

impl LastDevice {
    /// Takes note of an open directory. Blocks as `fstatfs`.
    fn note(&mut self, directory: &OwnedFd, dev: u64) {
        if self.0.is_none_or(|(last, _)| last != dev) {
            let device = Device::of(directory);
            self.0 = Some((dev, device.is_ok_and(|device| device.quirk.is_remote())));
        }
    }

    /// Returns whether it is on a server.
    pub(super) fn is_remote(self) -> bool {
        self.0.is_some_and(|(_, is_remote)| is_remote)
    }
}

impl<'f, F: Filter> Walk<'f, F> {
    /// Begins a walk at an operand.
    pub(super) fn new(
        filter: F,
        rules: Rules<'f>,
        (operand, recurses): (Found, bool),
        last_device: LastDevice,
    ) -> Walk<'f, F> {
        let mut walk = Walk {
            last_device,
            filter,
            rules,
            device: None,
            levels: Vec::new(),
            pending: VecDeque::new(),
            buffer: DirectoryBuffer::new(ENTRIES_BYTES),
        };
        if !walk.filter.is_excluded(operand.name()) {
            if rules.stays_on_device {
                match walk.stat(&operand.parent, operand.leaf()) {
                    Ok(stat) => walk.device = Some(stat.dev),
                    Err(error) => {
                        walk.pending.push_back(Step::Unknown(operand, error));
                        return walk;
                    }
                }
            }
            walk.visit(operand, None, recurses);
        }
        walk
    }

    /// Returns the file system of the directory that was read last.
    pub(super) const fn last_device(&self) -> LastDevice {
        self.last_device
    }

    fn stat(&self, parent: &OwnedFd, leaf: &CStr) -> haul_sys::Result<Stat> {
        match self.rules.follow {
            Follow::No => statat(parent, leaf),
            Follow::Yes => statat_follow(parent, leaf),
        }
    }

    /// Returns the next name. Blocks while a directory is read.
    pub(super) fn advance(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.pending.pop_front() {
                return Some(step);
            }
            let level = self.levels.last_mut()?;
            let (Some((leaf, kind)), Some(directory)) = (level.entries.next(), &level.directory)
            else {
                self.leave();
                continue;
            };
            let parents = (Arc::clone(directory), Arc::clone(&level.root));
            let mut found = Found::below(parents, level.operand, &level.name, leaf);
            found.kind = kind;
            if self.filter.is_excluded(found.name()) {
                continue;
            }
            self.visit(found, kind, true);
        }
    }

    /// Ends a directory, and opens the one above again if it was closed.
    fn leave(&mut self) {
        let Some(Level { directory, stat, name, .. }) = self.levels.pop() else { return };
        let Some(directory) = directory else {
            self.pending.push_back(Step::Unreadable(name, GONE, true));
            return;
        };
        let is_same = |now: Stat| now.ctime == stat.ctime;
        // One that cannot be described any more has changed.
        if !fstat(&*directory).is_ok_and(is_same) {
            self.pending.push_back(Step::Changed(name));
        }
        while let Some(above) = self.levels.last_mut()
            && above.directory.is_none()
        {
            match above.open_again(&directory, self.rules.follow) {
                Ok(again) => above.directory = Some(Arc::new(again)),
                Err(error) => {
                    let name = std::mem::take(&mut above.name);
                    // A failure also if it is gone: its other entries are not archived.
                    self.pending.push_back(Step::Unreadable(name, error, true));
                    self.levels.pop();
                }
            }
        }
    }

    /// Adds a name, and reads the entries of a directory.
    fn visit(&mut self, mut found: Found, kind: Option<Kind>, recurses: bool) {
        let may_be_tagged = !self.rules.tags.is_empty();
        let is_directory = match recurses || may_be_tagged {
            true => match self.is_directory(&found, kind) {
                Ok(is_directory) => is_directory,
                Err(error) => return self.pending.push_back(Step::Unknown(found, error)),
            },
            false => false,
        };
        let marked = if may_be_tagged && is_directory { self.marked(&found) } else { None };
        let Some((name, scope)) = marked else {
            if recurses && is_directory {
                self.pending.push_back(Step::Entry(found.clone()));
                self.enter(&found);
            } else {
                found.is_leaf = recurses;
                self.pending.push_back(Step::Entry(found));
            }
            return;
        };
        if scope != TagScope::All {
            self.pending.push_back(Step::Entry(found.clone()));
            if !recurses {
                return;
            }
        }
        self.pending.push_back(Step::Tagged(found.name().to_vec(), name.to_owned(), scope));
        if scope == TagScope::Contents
            && let Ok(directory) = open_directory(&*found.parent, found.leaf(), self.rules.follow)
        {
            let root = Arc::clone(&found.root);
            let parents = (Arc::new(directory), root);
            let inside = Found::below(parents, found.operand, found.name(), name);
            self.visit(inside, None, recurses);
        }
    }

    /// Returns which file marks a directory to be left out.
    fn marked(&self, found: &Found) -> Option<(&'f CStr, TagScope)> {
        // One that cannot be opened is told when it is described or entered.
        let directory = open_directory(&*found.parent, found.leaf(), self.rules.follow).ok()?;
        mark(self.rules.tags, &directory)
    }

    fn is_directory(&self, found: &Found, kind: Option<Kind>) -> haul_sys::Result<bool> {
        match (kind, self.rules.follow) {
            (Some(Kind::Directory), _) => Ok(true),
            (Some(Kind::Symlink), Follow::Yes) | (None, _) => {
                let stat = self.stat(&found.parent, found.leaf())?;
                Ok(stat.kind() == Kind::Directory)
            }
            _ => Ok(false),
        }
    }

    /// Reads the entries of a directory.
    fn enter(&mut self, found: &Found) {
        if let Err(error) = self.read(found) {
            let step = Step::Unreadable(found.name().to_vec(), error, found.is_operand);
            self.pending.push_back(step);
        }
    }

    fn read(&mut self, found: &Found) -> haul_sys::Result<()> {
        let directory = open_directory(&*found.parent, found.leaf(), self.rules.follow)?;
        let stat = fstat(&directory)?;
        if self.device.is_some_and(|device| device != stat.dev) {
            return Ok(());
        }
        self.last_device.note(&directory, stat.dev);
        // With -h a link may lead to a directory above it.
        let loops = self.levels.iter().any(|level| level.stat.same_file(&stat));
        if loops {
            return Err(CallError::new(Call::Openat, Errno::LOOP));
        }
        let mut entries = Entries::default();
        while for_each_entry(directory.as_fd(), &mut self.buffer, |entry| {
            entries.add(entry.name, entry.kind);
            ControlFlow::Continue(())
        })? {}
        if self.rules.sort == Sort::Name {
            entries.sort();
        }
        self.levels.push(Level {
            directory: Some(Arc::new(directory)),
            stat,
            root: Arc::clone(&found.root),
            operand: found.operand,
            name: found.name().to_vec(),
            entries,
        });
        let closed = self.levels.len().checked_sub(1 + self.rules.open_levels.max(1));
        if let Some(above) = closed.and_then(|index| self.levels.get_mut(index)) {
            above.directory = None;
        }
        Ok(())
    }
}

impl Level {
    /// Opens the directory again: from one that was below it, or by its name. Fails with `ENOENT` if both
    /// lead to another directory by now.
    fn open_again(&self, below: &OwnedFd, follow: Follow) -> haul_sys::Result<OwnedFd> {
        let is_it = |directory: &OwnedFd| Ok(fstat(directory)?.same_file(&self.stat));
        // A directory that was moved has another one above it, or none that may be opened.
        if let Ok(directory) = open_directory(below, c"..", Follow::No)
            && is_it(&directory)?
        {
            return Ok(directory);
        }
        let name = CString::new(self.name.clone()).map_err(|_| GONE)?;
        let directory = open_directory(&*self.root, &name, follow)?;
        if is_it(&directory)? { Ok(directory) } else { Err(GONE) }
    }
}
