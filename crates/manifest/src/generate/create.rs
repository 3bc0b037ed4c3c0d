//! Creates the items of a tree on disk.
//!
//! All work is relative to the current directory, so a flat corpus of 100,000 files costs four
//! calls a file (create, write, time, close) and a chain of 100,000 directories is possible.
//! Attributes of a directory are set on leaving it, because its entries change its time; modes that
//! deny access to an ordinary user are set last.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags,
    chmodat, chownat, fchmod, fchown, fsetxattr, ftruncate, futimens, linkat, makedev, mkdirat,
    mknodat, openat, setxattr, symlinkat, utimensat,
};
use rustix::io::{Errno, fcntl_dupfd_cloexec, pwrite};
use serde::{Deserialize, Serialize};

use super::content;
use super::item::{Body, Feature, Item, ItemKind};
use crate::dirstack::DirStack;
use crate::failure::{Action, During as _, Failure, Step};
use crate::node::{Attributes, Node, Place, RootLinks, open_reading, retry};
use crate::segments::Segment;
use crate::values::{Rdev, Timestamp};
use crate::xattrs::Xattr;

/// Size of one write; a multiple of 8, so that chunks begin at whole words.
const WRITE_BYTES: usize = 1024 * 1024;

/// Counts of created entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Generated {
    /// Entries with the root.
    pub entries: u64,
    /// Regular files without further hard links.
    pub files: u64,
    /// Directories with the root.
    pub directories: u64,
    /// Bytes written, without holes.
    pub data_bytes: u64,
    /// Counts of items that the file system or the user's permissions did not allow.
    pub skipped: BTreeMap<Feature, u64>,
}

/// Creates the directory `root` and the items in it.
///
/// Items that need privileges that this process lacks, or features that this file system lacks
/// (devices, foreign owners, extended attributes, ACLs, capabilities), are skipped and counted in
/// [`Generated::skipped`]. The umask does not matter. Nothing is synced.
///
/// # Errors
///
/// Ends at the first entry that cannot be created; the entries created so far stay. `EEXIST` if
/// `root` exists, `EINVAL` if an item is deeper than the directory before it allows.
pub fn create_tree(
    root: &Path,
    items: impl IntoIterator<Item = Item>,
) -> Result<Generated, Failure> {
    let mut maker = Maker::new(root)?;
    for item in items {
        maker.add(item)?;
    }
    maker.finish()
}

/// Whether an item was created.
enum Made {
    Yes,
    Skipped(Feature),
}

/// The state of one creation.
struct Maker {
    root: OwnedFd,
    stack: DirStack,
    /// The chain of entered directories, the root first.
    entered: Vec<Item>,
    /// The path of the current directory.
    path: Vec<u8>,
    /// Modes that deny access to an ordinary user, set at the end, the deepest first.
    locked: Vec<(Vec<u8>, u16)>,
    /// The umask: bits that the kernel clears in the mode of new files.
    umask: u16,
    buffer: Vec<u8>,
    generated: Generated,
}

impl Maker {
    fn new(root: &Path) -> Result<Self, Failure> {
        let root_failure = |(action, errno)| Failure::new(b"", action, errno);
        let name = CString::new(root.as_os_str().as_bytes())
            .map_err(|_| root_failure((Action::Create, Errno::INVAL)))?;
        let open = || {
            mkdirat(CWD, &name, Mode::from_raw_mode(0o777)).during(Action::Create)?;
            let fd = open_reading(Place::root(&name, RootLinks::Keep), OFlags::DIRECTORY)
                .during(Action::Open)?;
            // The bits that are missing in the new directory's mode are the umask. umask(2) would
            // change it for all threads for a moment.
            let umask = 0o777 & !Attributes::of(&fd)?.mode;
            fchmod(&fd, Mode::from_raw_mode(0o700)).during(Action::SetAttribute)?;
            let root = fcntl_dupfd_cloexec(&fd, 0).during(Action::Open)?;
            Ok((root, DirStack::new(fd)?, umask))
        };
        let (root, stack, umask) = open().map_err(root_failure)?;
        Ok(Self {
            root,
            stack,
            entered: vec![Item::new(0, "", ItemKind::Directory)],
            path: Vec::new(),
            locked: Vec::new(),
            umask,
            buffer: Vec::new(),
            generated: Generated { entries: 1, directories: 1, ..Generated::default() },
        })
    }

    fn add(&mut self, item: Item) -> Result<(), Failure> {
        while self.entered.len() > item.depth.max(1) {
            self.leave()?;
        }
        if item.depth != self.entered.len() {
            return Err(self.failure(&item, (Action::Create, Errno::INVAL)));
        }
        match self.create(&item).map_err(|failed| self.failure(&item, failed))? {
            Made::Yes => self.generated.entries += 1,
            Made::Skipped(feature) => skip(&mut self.generated, feature),
        }
        if item.kind == ItemKind::Directory {
            if !self.path.is_empty() {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(item.name.as_bytes());
            self.entered.push(item);
        }
        Ok(())
    }

    fn failure(&self, item: &Item, (action, errno): (Action, Errno)) -> Failure {
        let mut path = self.path.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(item.name.as_bytes());
        Failure::new(&path, action, errno)
    }

    fn create(&mut self, item: &Item) -> Step<Made> {
        let name =
            CString::new(item.name.as_bytes()).map_err(|_| (Action::Create, Errno::INVAL))?;
        let dir = self.stack.current();
        let mode = Mode::from_raw_mode(u32::from(item.mode & 0o777));
        match &item.kind {
            ItemKind::Directory => {
                mkdirat(dir, &name, Mode::from_raw_mode(0o700)).during(Action::Create)?;
                let fd = open_reading(Place::below(dir, &name), OFlags::DIRECTORY)
                    .during(Action::Open)?;
                self.stack.push(fd)?;
                self.generated.directories += 1;
            }
            ItemKind::Regular(body) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let fd = openat(dir, &name, flags, mode).during(Action::Create)?;
                self.write(&fd, body)?;
                let needs_chmod = item.mode & (self.umask | 0o7000) != 0;
                set_by_fd(fd.as_fd(), item, needs_chmod.then_some(item.mode), &mut self.generated)?;
                self.generated.files += 1;
            }
            ItemKind::Symlink(text) => {
                symlinkat(text.as_bytes(), dir, &name).during(Action::Create)?;
                set_by_name(dir, &name, item, &mut self.generated)?;
            }
            ItemKind::HardLink(first) => {
                let (first_dir, first_name) = self.open_parent(first.as_bytes())?;
                linkat(self.or_root(first_dir.as_ref()), &first_name, dir, &name, AtFlags::empty())
                    .during(Action::Create)?;
            }
            ItemKind::Fifo => {
                return self.special(&name, item, FileType::Fifo, Rdev::default());
            }
            ItemKind::Socket => {
                return self.special(&name, item, FileType::Socket, Rdev::default());
            }
            ItemKind::BlockDevice(rdev) => {
                return self.special(&name, item, FileType::BlockDevice, *rdev);
            }
            ItemKind::CharDevice(rdev) => {
                return self.special(&name, item, FileType::CharacterDevice, *rdev);
            }
        }
        Ok(Made::Yes)
    }

    fn special(&mut self, name: &CString, item: &Item, kind: FileType, rdev: Rdev) -> Step<Made> {
        let dir = self.stack.current();
        let mode = Mode::from_raw_mode(u32::from(item.mode & 0o777));
        match mknodat(dir, name, kind, mode, makedev(rdev.major, rdev.minor)) {
            Err(Errno::PERM) if kind != FileType::Fifo && kind != FileType::Socket => {
                Ok(Made::Skipped(Feature::Device))
            }
            result => {
                result.during(Action::Create)?;
                set_by_name(dir, name, item, &mut self.generated)?;
                Ok(Made::Yes)
            }
        }
    }

    fn write(&mut self, fd: &OwnedFd, body: &Body) -> Step<()> {
        let data_bytes: u64 = body.data.iter().map(|segment| segment.length).sum();
        if data_bytes < body.size {
            // The size is set first: XFS preallocates on writes that extend a file, and the
            // preallocation would fill the holes.
            retry(|| ftruncate(fd, body.size)).during(Action::Write)?;
        }
        for segment in &body.data {
            let length = segment.end().min(body.size).saturating_sub(segment.offset);
            self.write_segment(fd, Segment { offset: segment.offset, length }, body.seed)?;
        }
        Ok(())
    }

    fn write_segment(&mut self, fd: &OwnedFd, segment: Segment, seed: u64) -> Step<()> {
        // Two segments of one file must not repeat each other.
        let seed = seed ^ segment.offset.rotate_left(32);
        let mut done = 0;
        while done < segment.length {
            let length = (segment.length - done).min(WRITE_BYTES as u64) as usize;
            if self.buffer.len() < length {
                self.buffer.resize(length, 0);
            }
            let chunk = &mut self.buffer[..length];
            content::fill(seed, done / 8, chunk);
            let mut rest = &*chunk;
            while !rest.is_empty() {
                let offset = segment.offset + done;
                let count = retry(|| pwrite(fd, rest, offset)).during(Action::Write)?;
                rest = &rest[count..];
                done += count as u64;
            }
        }
        self.generated.data_bytes += segment.length;
        Ok(())
    }

    /// Opens the directory of a path relative to the root, component by component, because the path
    /// may be longer than `PATH_MAX`; `None` is the root.
    fn open_parent(&self, path: &[u8]) -> Step<(Option<OwnedFd>, CString)> {
        let as_name = |name: &[u8]| CString::new(name).map_err(|_| (Action::Open, Errno::INVAL));
        let mut dir: Option<OwnedFd> = None;
        let mut names = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = names.next() {
            let name = as_name(name)?;
            if names.peek().is_none() {
                return Ok((dir, name));
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let parent = self.or_root(dir.as_ref());
            let child = retry(|| openat(parent, &name, flags, Mode::empty()));
            dir = Some(child.during(Action::Open)?);
        }
        Err((Action::Open, Errno::NOENT))
    }

    fn or_root<'a>(&'a self, dir: Option<&'a OwnedFd>) -> BorrowedFd<'a> {
        dir.unwrap_or(&self.root).as_fd()
    }

    /// Leaves the current directory for its parent, and sets its attributes.
    fn leave(&mut self) -> Result<(), Failure> {
        let here = |path: &[u8]| {
            let path = path.to_vec();
            move |(action, errno)| Failure::new(&path, action, errno)
        };
        let Some(item) = self.entered.pop() else { return Ok(()) };
        let left = self.stack.pop().map_err(here(&self.path))?;
        let fd = left.as_ref().map_or(self.stack.current(), |left| left.as_fd());
        let locks_out = item.mode & 0o700 != 0o700;
        let mode = if locks_out { item.mode | 0o700 } else { item.mode };
        set_by_fd(fd, &item, Some(mode), &mut self.generated).map_err(here(&self.path))?;
        if locks_out {
            self.locked.push((self.path.clone(), item.mode));
        }
        let parent_bytes = self.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.path.truncate(parent_bytes);
        Ok(())
    }

    fn finish(mut self) -> Result<Generated, Failure> {
        while !self.entered.is_empty() {
            self.leave()?;
        }
        for (path, mode) in &self.locked {
            let mode = Mode::from_raw_mode(u32::from(*mode));
            self.open_parent(path)
                .and_then(|(dir, name)| {
                    let dir = self.or_root(dir.as_ref());
                    chmodat(dir, &name, mode, AtFlags::empty()).during(Action::SetAttribute)
                })
                .map_err(|(action, errno)| Failure::new(path, action, errno))?;
        }
        Ok(self.generated)
    }
}

fn skip(generated: &mut Generated, feature: Feature) {
    *generated.skipped.entry(feature).or_default() += 1;
}

/// Counts a lack of permission or support as skipped; any other error is a failure.
fn allow_refusal(
    result: rustix::io::Result<()>,
    feature: Feature,
    generated: &mut Generated,
) -> Step<()> {
    match result {
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS) => {
            skip(generated, feature);
            Ok(())
        }
        result => result.during(Action::SetAttribute),
    }
}

/// Sets attributes in the only order that keeps all of them: chown(2) clears setuid bits and
/// capabilities, a mode without write access forbids `user` attributes, chmod(2) changes an ACL's
/// mask, and every call may change the time.
fn set_by_fd(
    fd: BorrowedFd<'_>,
    item: &Item,
    mode: Option<u16>,
    generated: &mut Generated,
) -> Step<()> {
    if let Some((uid, gid)) = item.owner {
        let owner = fchown(fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        allow_refusal(owner, Feature::Owner, generated)?;
    }
    let set = |xattr: &Xattr| {
        fsetxattr(fd, xattr.name.as_bytes(), xattr.value.as_bytes(), XattrFlags::empty())
    };
    set_xattrs(item, Namespace::Other, generated, set)?;
    if let Some(mode) = mode {
        let mode = Mode::from_raw_mode(u32::from(mode));
        fchmod(fd, mode).during(Action::SetAttribute)?;
    }
    set_xattrs(item, Namespace::System, generated, set)?;
    futimens(fd, &timestamps(item.mtime)).during(Action::SetAttribute)
}

/// Returns whether an attribute belongs to the mode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Namespace {
    System,
    Other,
}

fn set_xattrs(
    item: &Item,
    namespace: Namespace,
    generated: &mut Generated,
    set: impl Fn(&Xattr) -> rustix::io::Result<()>,
) -> Step<()> {
    for xattr in &item.xattrs {
        let name = xattr.name.as_bytes();
        let (feature, found) = match name {
            name if name.starts_with(b"system.") => (Feature::Acl, Namespace::System),
            b"security.capability" => (Feature::Capability, Namespace::Other),
            _ => (Feature::Xattr, Namespace::Other),
        };
        if found == namespace {
            match set(xattr) {
                // More than this file system stores for one entry.
                Err(Errno::NOSPC | Errno::TOOBIG | Errno::RANGE) => skip(generated, feature),
                result => allow_refusal(result, feature, generated)?,
            }
        }
    }
    Ok(())
}

/// Sets the attributes of files that cannot be opened: links, FIFOs, sockets, devices.
fn set_by_name(
    dir: BorrowedFd<'_>,
    name: &CString,
    item: &Item,
    generated: &mut Generated,
) -> Step<()> {
    if let Some((uid, gid)) = item.owner {
        let (uid, gid) = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
        let owner = chownat(dir, name, uid, gid, AtFlags::SYMLINK_NOFOLLOW);
        allow_refusal(owner, Feature::Owner, generated)?;
    }
    if !item.xattrs.is_empty() {
        let path = Node::pin(Place::below(dir, name)).map(|node| (node.proc_path(), node))?;
        let set = |xattr: &Xattr| {
            let (name, value) = (xattr.name.as_bytes(), xattr.value.as_bytes());
            setxattr(path.0.as_str(), name, value, XattrFlags::empty())
        };
        set_xattrs(item, Namespace::Other, generated, set)?;
    }
    if !matches!(item.kind, ItemKind::Symlink(_)) {
        let mode = Mode::from_raw_mode(u32::from(item.mode));
        chmodat(dir, name, mode, AtFlags::empty()).during(Action::SetAttribute)?;
    }
    utimensat(dir, name, &timestamps(item.mtime), AtFlags::SYMLINK_NOFOLLOW)
        .during(Action::SetAttribute)
}

fn timestamps(mtime: Timestamp) -> Timestamps {
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: mtime.seconds, tv_nsec: mtime.nanoseconds.into() },
    }
}
