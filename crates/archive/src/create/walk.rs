//! The order of members: a directory's own, then its entries as the file system lists them or by name.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use haul_sys::fs::{
    DirectoryBuffer, Follow, Kind, Stat, for_each_entry, fstat, open_directory, statat,
    statat_follow,
};
use haul_sys::{CallError, Errno};

use super::tag::{Tag, TagScope, mark};

/// Bytes of a buffer of directory entries: the C library's size.
const ENTRIES_BYTES: usize = 32 << 10;

/// In which order the entries of a directory come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As the file system lists them.
    None,
    /// By the bytes of their names.
    Name,
}

/// One name to be archived.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The directory that `name` is relative to.
    pub(super) root: Arc<OwnedFd>,
    pub(super) parent: Arc<OwnedFd>,
    pub(super) leaf: CString,
    /// The name in messages and, less a dangerous beginning, in the archive; without a slash at its end.
    pub(super) name: Vec<u8>,
    /// The kind that its directory tells, if it does.
    pub(super) kind: Option<Kind>,
    /// Whether the user named it.
    pub(super) is_operand: bool,
    /// The number of the operand that it is, or is below.
    pub(super) operand: usize,
}

/// What the walk found.
pub(super) enum Step {
    Entry(Found),
    /// A directory could not be read. The last field tells whether the user named it.
    Unreadable(Vec<u8>, CallError, bool),
    /// A directory changed while its entries were archived.
    Changed(Vec<u8>),
    /// A directory has a file of this name that marks it.
    Tagged(Vec<u8>, CString, TagScope),
}

/// A directory whose entries come next.
struct Level {
    directory: Arc<OwnedFd>,
    /// What it was when it was opened.
    stat: Stat,
    root: Arc<OwnedFd>,
    operand: usize,
    name: Vec<u8>,
    leaves: VecDeque<(CString, Option<Kind>)>,
}

/// Which names the walk leaves out and where it does not go.
pub(super) trait Filter {
    /// Returns whether the name, and all below it, is left out.
    fn is_excluded(&self, name: &[u8]) -> bool;
}

/// The walk below one operand.
pub(super) struct Walk<'f, F> {
    filter: &'f F,
    sort: Sort,
    follow: Follow,
    tags: &'f [Tag],
    /// The device of the operand, where others are not entered.
    device: Option<u64>,
    levels: Vec<Level>,
    pending: VecDeque<Step>,
    buffer: DirectoryBuffer,
}

impl<'f, F: Filter> Walk<'f, F> {
    /// Begins a walk at an operand.
    pub(super) fn new(
        filter: &'f F,
        (sort, follow, tags): (Sort, Follow, &'f [Tag]),
        operand: &Found,
        recurses: bool,
        stays_on_device: bool,
    ) -> Walk<'f, F> {
        let mut walk = Walk {
            filter,
            sort,
            follow,
            tags,
            device: None,
            levels: Vec::new(),
            pending: VecDeque::new(),
            buffer: DirectoryBuffer::new(ENTRIES_BYTES),
        };
        if !filter.is_excluded(&operand.name) {
            if stays_on_device {
                walk.device = walk.stat(&operand.parent, &operand.leaf).map(|stat| stat.dev).ok();
            }
            walk.visit(operand, None, recurses);
        }
        walk
    }

    fn stat(&self, parent: &OwnedFd, leaf: &CStr) -> haul_sys::Result<Stat> {
        match self.follow {
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
            let Some((leaf, kind)) = level.leaves.pop_front() else {
                let level = self.levels.pop()?;
                let is_same = |now: Stat| now.ctime == level.stat.ctime;
                // One that cannot be described any more has changed.
                if !fstat(&*level.directory).is_ok_and(is_same) {
                    self.pending.push_back(Step::Changed(level.name));
                }
                continue;
            };
            let found = level.child(leaf, kind);
            if self.filter.is_excluded(&found.name) {
                continue;
            }
            self.visit(&found, kind, true);
        }
    }

    /// Adds a name, and reads the entries of a directory.
    fn visit(&mut self, found: &Found, kind: Option<Kind>, recurses: bool) {
        let may_be_tagged = !self.tags.is_empty() && self.is_directory(found, kind);
        let marked = if may_be_tagged { self.marked(found) } else { None };
        let Some((name, scope)) = marked else {
            self.pending.push_back(Step::Entry(found.clone()));
            if recurses {
                self.enter(found, kind);
            }
            return;
        };
        if scope != TagScope::All {
            self.pending.push_back(Step::Entry(found.clone()));
            if !recurses {
                return;
            }
        }
        self.pending.push_back(Step::Tagged(found.name.clone(), name.to_owned(), scope));
        if scope == TagScope::Contents
            && let Ok(directory) = open_directory(&*found.parent, &found.leaf, self.follow)
        {
            let root = Arc::clone(&found.root);
            let parents = (Arc::new(directory), root);
            let inside = child(parents, found.operand, &found.name, name.to_owned());
            self.visit(&inside, None, recurses);
        }
    }

    /// Returns which file marks a directory to be left out.
    fn marked(&self, found: &Found) -> Option<(&'f CStr, TagScope)> {
        let directory = open_directory(&*found.parent, &found.leaf, self.follow).ok()?;
        mark(self.tags, &directory)
    }

    fn is_directory(&self, found: &Found, kind: Option<Kind>) -> bool {
        match (kind, self.follow) {
            (Some(Kind::Directory), _) => true,
            (Some(Kind::Symlink), Follow::Yes) | (None, _) => {
                // A name that cannot be described is reported when it is archived.
                let stat = self.stat(&found.parent, &found.leaf);
                stat.is_ok_and(|stat| stat.kind() == Kind::Directory)
            }
            _ => false,
        }
    }

    /// Reads the entries of a directory; other kinds have none.
    fn enter(&mut self, found: &Found, kind: Option<Kind>) {
        if self.is_directory(found, kind)
            && let Err(error) = self.read(found)
        {
            let step = Step::Unreadable(found.name.clone(), error, found.is_operand);
            self.pending.push_back(step);
        }
    }

    fn read(&mut self, found: &Found) -> haul_sys::Result<()> {
        let directory = open_directory(&*found.parent, &found.leaf, self.follow)?;
        let stat = fstat(&directory)?;
        if self.device.is_some_and(|device| device != stat.dev) {
            return Ok(());
        }
        // With -h a link may lead to a directory above it.
        let loops = self.levels.iter().any(|level| level.stat.same_file(&stat));
        if loops {
            return Err(CallError::new(haul_sys::Call::Openat, Errno::LOOP));
        }
        let mut leaves = Vec::new();
        while for_each_entry(directory.as_fd(), &mut self.buffer, |entry| {
            leaves.push((entry.name.to_owned(), entry.kind));
            ControlFlow::Continue(())
        })? {}
        if self.sort == Sort::Name {
            leaves.sort_by(|one, other| one.0.cmp(&other.0));
        }
        self.levels.push(Level {
            directory: Arc::new(directory),
            stat,
            root: Arc::clone(&found.root),
            operand: found.operand,
            name: found.name.clone(),
            leaves: leaves.into(),
        });
        Ok(())
    }
}

impl Level {
    fn child(&self, leaf: CString, kind: Option<Kind>) -> Found {
        let parents = (Arc::clone(&self.directory), Arc::clone(&self.root));
        Found { kind, ..child(parents, self.operand, &self.name, leaf) }
    }
}

/// Returns an entry of a directory of this name.
fn child(
    (parent, root): (Arc<OwnedFd>, Arc<OwnedFd>),
    operand: usize,
    above: &[u8],
    leaf: CString,
) -> Found {
    let mut name = Vec::with_capacity(above.len() + 1 + leaf.to_bytes().len());
    name.extend_from_slice(above);
    if !name.ends_with(b"/") {
        name.push(b'/');
    }
    name.extend_from_slice(leaf.to_bytes());
    Found { root, parent, leaf, name, kind: None, is_operand: false, operand }
}
