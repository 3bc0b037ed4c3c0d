//! Description of one tree.
//!
//! A manifest lists the entries of a single tree with sizes and attributes. It holds no file
//! contents and no digests, because [`crate::compare`] compares two live trees byte by byte and
//! needs no manifest.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::fs::readlinkat;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::dirstack::DirStack;
use crate::failure::{Action, During, Failure, Step};
use crate::names::{ListBuffer, Names};
use crate::node::{Attributes, FileId, Node, Place, RootLinks};
use crate::segments::{Segment, data_segments};
use crate::text::RawText;
use crate::values::{Kind, Rdev, Timestamp};
use crate::xattrs::{Xattr, XattrReader};

/// Options of a scan, in addition to the attributes of every entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanOptions {
    /// What a symbolic link given as the root stands for.
    pub root_links: RootLinks,
    /// Keep access times, as they were before the scan. The scan itself changes those of symbolic
    /// links, because readlink(2) knows no `O_NOATIME`; and, if this user may not use that flag or
    /// the file system ignores it, those of directories.
    pub access_times: bool,
    /// Leave extended attributes, ACLs and capabilities out.
    pub skip_xattrs: bool,
    /// Find the data segments of regular files. Opens every regular file.
    pub segments: bool,
}

/// Identifies an entry of one manifest: its position in [`Manifest::entries`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EntryId(pub usize);

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The directory that holds it; `None` for the root. Paths are not stored, because those of a
    /// chain of 100,000 directories would need gigabytes: see [`Manifest::path_of`].
    pub parent: Option<EntryId>,
    /// The last part of its path; empty for the root.
    pub name: RawText,
    /// What it is.
    pub kind: Kind,
    /// The size in bytes as stat(2) reports it; for a directory, the value that the file system
    /// reports.
    pub size: u64,
    /// The 12 permission bits: setuid, setgid, sticky and the three triplets.
    pub mode: u16,
    /// The owner's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The time of the last change of its data.
    pub mtime: Timestamp,
    /// The time of the last access, if it was requested.
    pub atime: Option<Timestamp>,
    /// The number of names the inode has, inside and outside the tree.
    pub nlink: u64,
    /// The same number for all entries of the tree that are one inode; `None` for an entry that
    /// shares its inode with no other entry of the tree.
    pub link_group: Option<u32>,
    /// The text of a symbolic link.
    pub link_text: Option<RawText>,
    /// The number of a device.
    pub rdev: Option<Rdev>,
    /// The extended attributes, sorted by name.
    pub xattrs: Vec<Xattr>,
    /// The allocated space, in units of 512 bytes.
    pub blocks: u64,
    /// The data segments of a regular file, if they were requested.
    pub segments: Option<Vec<Segment>>,
}

/// Totals of a manifest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// All entries with the root.
    pub entries: u64,
    /// Regular files, by name: each hard link counts.
    pub files: u64,
    /// Directories with the root.
    pub directories: u64,
    /// Sizes of the regular files in bytes, each inode once.
    pub bytes: u64,
    /// Allocated space of all entries in bytes, each inode once.
    pub allocated_bytes: u64,
}

/// The description of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The root first, then every directory's entries in order of their bytes, each directory
    /// before its contents.
    pub entries: Vec<Entry>,
    /// Entries and attributes that could not be read. An entry that could not be opened is only
    /// here.
    pub failures: Vec<Failure>,
}

impl Manifest {
    /// Scans the tree at `root`, which may be any kind of entry. Follows no symbolic link and
    /// opens no FIFO, socket or device. Crosses mount points.
    ///
    /// Never fails as a whole: read errors are listed in [`Manifest::failures`], and a root that
    /// could not be opened leaves a manifest without entries. Memory grows with the number of
    /// entries.
    #[must_use]
    pub fn scan(root: &Path, options: &ScanOptions) -> Self {
        let mut scan = Scan {
            options: *options,
            manifest: Self::default(),
            inodes: HashMap::new(),
            groups: 0,
            xattrs: XattrReader::new(),
            buffer: ListBuffer::new(),
        };
        scan.run(root);
        scan.manifest
    }

    /// Returns an entry.
    #[must_use]
    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(id.0)
    }

    /// Returns an entry's path relative to the root; empty for the root itself and for an id of
    /// another manifest.
    #[must_use]
    pub fn path_of(&self, id: EntryId) -> RawText {
        let mut names = Vec::new();
        let mut next = self.get(id);
        while let Some(entry) = next {
            names.push(entry.name.as_bytes());
            next = entry.parent.and_then(|parent| self.get(parent));
        }
        // The last one is the root's, which is empty.
        names.pop();
        names.reverse();
        RawText(names.join(&b'/'))
    }

    /// Finds an entry by its path relative to the root, in one pass over the manifest. The empty
    /// path is the root.
    #[must_use]
    pub fn find(&self, path: &[u8]) -> Option<&Entry> {
        let mut entries = self.entries.iter().enumerate();
        let (mut id, mut found) = entries.next()?;
        if path.is_empty() {
            return Some(found);
        }
        for name in path.split(|byte| *byte == b'/') {
            // An entry always follows its parent, so the search continues from the current
            // position.
            (id, found) = entries.find(|(_, entry)| {
                entry.parent == Some(EntryId(id)) && entry.name.as_bytes() == name
            })?;
        }
        Some(found)
    }

    /// Returns the totals.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let mut seen = vec![false; self.entries.len() + 1];
        for entry in &self.entries {
            totals.entries += 1;
            match entry.kind {
                Kind::Regular => totals.files += 1,
                Kind::Directory => totals.directories += 1,
                _ => {}
            }
            // There are fewer groups than entries.
            let group = entry.link_group.and_then(|group| seen.get_mut(group as usize));
            if group.is_some_and(|seen| std::mem::replace(seen, true)) {
                continue;
            }
            if entry.kind == Kind::Regular {
                totals.bytes = totals.bytes.saturating_add(entry.size);
            }
            totals.allocated_bytes =
                totals.allocated_bytes.saturating_add(entry.blocks.saturating_mul(512));
        }
        totals
    }
}

/// The state of one scan.
struct Scan {
    options: ScanOptions,
    manifest: Manifest,
    inodes: HashMap<FileId, EntryId>,
    groups: u32,
    xattrs: XattrReader,
    buffer: ListBuffer,
}

/// The subdirectories of one directory that are not walked yet.
struct Level {
    names: Names,
    ids: Vec<EntryId>,
    next: usize,
}

impl Scan {
    fn run(&mut self, root: &Path) {
        let name = match CString::new(root.as_os_str().as_bytes()) {
            Ok(name) => name,
            Err(_) => return self.fail(None, b"", (Action::Open, Errno::INVAL)),
        };
        let place = Place::root(&name, self.options.root_links);
        let Some((id, node)) = self.entry(place, None, b"") else { return };
        if node.attributes.kind != Kind::Directory {
            return;
        }
        match node.open(place).and_then(DirStack::new) {
            Ok(stack) => self.walk(stack, id),
            Err(failed) => self.fail(None, b"", failed),
        }
    }

    fn walk(&mut self, mut stack: DirStack, root: EntryId) {
        let mut levels = vec![self.directory(&stack, root)];
        while let Some(level) = levels.last_mut() {
            let next = level.names.get(level.next).zip(level.ids.get(level.next).copied());
            let Some((name, id)) = next else {
                levels.pop();
                if let Err(failed) = stack.pop() {
                    return self.fail(Some(root), b"", failed);
                }
                continue;
            };
            level.next += 1;
            let place = Place::below(stack.current(), name);
            let opened = Node::pin(place).and_then(|node| node.open(place));
            match opened.and_then(|fd| stack.push(fd)) {
                Ok(()) => levels.push(self.directory(&stack, id)),
                Err(failed) => self.fail(Some(id), b"", failed),
            }
        }
    }

    /// Records all entries of the current directory, and returns its subdirectories.
    fn directory(&mut self, stack: &DirStack, id: EntryId) -> Level {
        let (all, error) = Names::list(stack.current(), &mut self.buffer);
        if let Some(errno) = error {
            self.fail(Some(id), b"", (Action::List, errno));
        }
        let mut level = Level { names: Names::default(), ids: Vec::new(), next: 0 };
        for name in all.iter() {
            let place = Place::below(stack.current(), name);
            if let Some((child, node)) = self.entry(place, Some(id), name.to_bytes())
                && node.attributes.kind == Kind::Directory
            {
                level.names.push(name);
                level.ids.push(child);
            }
        }
        level
    }

    /// Records one entry. A read that fails after it is pinned leaves its field empty.
    fn entry(
        &mut self,
        place: Place<'_>,
        parent: Option<EntryId>,
        name: &[u8],
    ) -> Option<(EntryId, Node)> {
        let node = match Node::pin(place) {
            Ok(node) => node,
            Err(failed) => {
                self.fail(parent, name, failed);
                return None;
            }
        };
        let id = EntryId(self.manifest.entries.len());
        let entry = self.describe(&node.attributes, parent, name);
        self.manifest.entries.push(entry);
        self.link_group(&node.attributes, id);
        if let Err(failed) = self.details(&node, place, id) {
            self.fail(Some(id), b"", failed);
        }
        Some((id, node))
    }

    fn describe(&self, found: &Attributes, parent: Option<EntryId>, name: &[u8]) -> Entry {
        let is_device = matches!(found.kind, Kind::BlockDevice | Kind::CharDevice);
        Entry {
            parent,
            name: name.into(),
            kind: found.kind,
            size: found.size,
            mode: found.mode,
            uid: found.uid,
            gid: found.gid,
            mtime: found.mtime,
            atime: self.options.access_times.then_some(found.atime),
            nlink: found.nlink,
            link_group: None,
            link_text: None,
            rdev: is_device.then_some(found.rdev),
            xattrs: Vec::new(),
            blocks: found.blocks,
            segments: None,
        }
    }

    /// Assigns the group of the first entry of an inode to every later one.
    fn link_group(&mut self, found: &Attributes, id: EntryId) {
        if found.kind == Kind::Directory || found.nlink < 2 {
            return;
        }
        let first = *self.inodes.entry(found.id).or_insert(id);
        if first == id {
            return;
        }
        let known = self.manifest.get(first).and_then(|entry| entry.link_group);
        let group = known.unwrap_or(self.groups);
        self.groups = self.groups.max(group + 1);
        for id in [first, id] {
            if let Some(entry) = self.manifest.entries.get_mut(id.0) {
                entry.link_group = Some(group);
            }
        }
    }

    fn details(&mut self, node: &Node, place: Place<'_>, id: EntryId) -> Step<()> {
        let Some(entry) = self.manifest.entries.get_mut(id.0) else { return Ok(()) };
        if entry.kind == Kind::Symlink {
            entry.link_text = Some(read_link(node)?);
        }
        if self.options.segments && entry.kind == Kind::Regular {
            let fd = node.open(place)?;
            let size = node.attributes.size;
            let segments = data_segments(std::os::fd::AsFd::as_fd(&fd), size);
            entry.segments = Some(segments.during(Action::FindData)?);
        }
        if !self.options.skip_xattrs {
            entry.xattrs = self.xattrs.read(node, || None)?;
        }
        Ok(())
    }

    /// Records a failure at an entry, or at a name below it.
    fn fail(&mut self, at: Option<EntryId>, name: &[u8], (action, errno): (Action, Errno)) {
        let mut path = at.map(|id| self.manifest.path_of(id).0).unwrap_or_default();
        if !path.is_empty() && !name.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.manifest.failures.push(Failure::new(&path, action, errno));
    }
}

/// Returns the text of a pinned symbolic link.
pub(crate) fn read_link(node: &Node) -> Step<RawText> {
    let text = readlinkat(&node.fd, c"", Vec::new()).during(Action::ReadLink)?;
    Ok(RawText(text.into_bytes()))
}
