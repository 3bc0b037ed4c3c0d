//! The merge of two trees.
//!
//! Both trees are walked together, one directory at a time: its names are sorted on both sides and
//! merged, each common entry is compared, and the common directories are entered afterwards. Memory
//! holds the names of one directory, the names of pending directories on each level, and inodes
//! with several names; never a tree.

use std::cmp::Ordering;
use std::ffi::{CStr, CString};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::Errno;

use super::attributes::judge_attributes;
use super::content::{Buffers, Unread, compare_content, open_pair};
use super::difference::What;
use super::links::{LinkPairs, Relation};
use super::stored::Stored;
use super::unit::{Alone, Kernel, Outside, Unit, Work};
use super::{
    Aspect, CompareOptions, Comparison, Difference, Finding, Precision, RootAttributes, Side,
    Summary,
};
use crate::dirstack::DirStack;
use crate::failure::{Action, Failure, Step};
use crate::names::{ListBuffer, Names};
use crate::node::{Attributes, Node, Place, is_well_known};
use crate::text::RawText;
use crate::values::Kind;
use crate::xattrs::XattrReader;

/// Compares the trees at `a` and `b`, which may be entries of any kind, and keeps the findings.
///
/// See [`compare_with`], which reports them one by one.
#[must_use]
pub fn compare(a: &Path, b: &Path, options: &CompareOptions) -> Comparison {
    let mut findings = Vec::new();
    let summary = compare_with(a, b, options, &mut |finding| {
        if findings.len() < Comparison::FINDINGS_MAX {
            findings.push(finding);
        }
        ControlFlow::Continue(())
    });
    Comparison { findings, summary }
}

/// Compares the trees at `a` and `b`, which may be entries of any kind, and calls `report` for
/// each finding as it is made; `report` may end the comparison.
///
/// Findings come directory by directory: those of a directory's entries in order of their names'
/// bytes, then those of the directories in it. Entries that are one inode on both sides are
/// compared once, under the first of their names. Follows no symbolic link below the roots, opens
/// no FIFO, socket or device, crosses mount points. Blocks on I/O.
///
/// The trees should not change. A concurrent change may or may not be reported, but a file whose
/// size (or times, where the kernel keeps them) has changed between the beginning and the end of
/// reading it is a failure. An entry that could not be read is a [`Finding::Failure`] and counts in
/// [`Summary::failures`]: without failures and differences, the trees are equal in all aspects of
/// `options`.
pub fn compare_with(
    a: &Path,
    b: &Path,
    options: &CompareOptions,
    report: &mut dyn FnMut(Finding) -> ControlFlow<()>,
) -> Summary {
    compare_for(&mut Alone(report), a, b, options)
}

/// The same as [`compare_with`], for a caller that also looks after the page cache.
pub fn compare_for(
    caller: &mut dyn Outside,
    a: &Path,
    b: &Path,
    options: &CompareOptions,
) -> Summary {
    let mut walk = Walk::new(a, b, options, caller);
    // Only the caller stops the walk; a failure is reported, and the walk continues.
    if walk.run(a, b).is_break() {
        walk.summary.stopped = true;
    }
    walk.summary
}

/// Reports a finding, and ends the walk if the caller asks for it.
pub(super) type Flow<T = ()> = ControlFlow<(), T>;

/// A pair of values, one for each tree.
#[derive(Clone, Copy)]
pub(super) struct Both<T> {
    pub(super) a: T,
    pub(super) b: T,
}

impl<T> Both<T> {
    fn map<U>(self, change: impl Fn(T) -> U) -> Both<U> {
        Both { a: change(self.a), b: change(self.b) }
    }
}

pub(super) struct Walk<'a> {
    pub(super) options: &'a CompareOptions,
    pub(super) outside: &'a mut dyn Outside,
    /// The roots as the caller gave them.
    pub(super) operands: Both<RawText>,
    pub(super) summary: Summary,
    /// The path of the current entry; its length grows with the depth of the tree.
    pub(super) path: Vec<u8>,
    pub(super) links: LinkPairs,
    /// Names in the current directories that another process compares.
    pub(super) routed: Vec<(usize, RawText)>,
    /// Names in the current directories whose links another process compares as well, and whether
    /// they were found to differ.
    pub(super) routed_links: Vec<(usize, RawText, bool)>,
    pub(super) xattrs: XattrReader,
    buffers: Buffers,
    list: ListBuffer,
    stored: Stored,
}

/// The common subdirectories of one directory that are not walked yet.
struct Level {
    names: Names,
    next: usize,
    path_bytes: usize,
    /// Inode numbers of the directory on both sides.
    inodes: (u64, u64),
}

/// Names from the first one on, up to the second one.
type Range<'r> = (&'r RawText, Option<&'r RawText>);

/// Number of names of a directory below which it is not shared: the other process lists it again.
const SHARED_NAMES: usize = 64;

impl<'a> Walk<'a> {
    pub(super) fn new(
        a: &Path,
        b: &Path,
        options: &'a CompareOptions,
        outside: &'a mut dyn Outside,
    ) -> Walk<'a> {
        Walk {
            options,
            outside,
            operands: Both { a, b }.map(|root| RawText::from(root.as_os_str().as_bytes())),
            summary: Summary::default(),
            path: Vec::new(),
            links: LinkPairs::default(),
            routed: Vec::new(),
            routed_links: Vec::new(),
            xattrs: XattrReader::new(),
            buffers: Buffers::new(),
            list: ListBuffer::new(),
            stored: Stored::default(),
        }
    }

    pub(super) fn run(&mut self, a: &Path, b: &Path) -> Flow {
        let name = |root: &Path| CString::new(root.as_os_str().as_bytes());
        let (Ok(a), Ok(b)) = (name(a), name(b)) else {
            return self.fail(Side::A, (Action::Open, Errno::INVAL));
        };
        let links = self.options.root_links;
        let places = Both { a: Place::root(&a, links), b: Place::root(&b, links) };
        let Some(nodes) = self.pin(places)? else { return Flow::Continue(()) };
        let kinds = self.compare_pair(places, &nodes)?;
        if kinds != Some(Kind::Directory) {
            return Flow::Continue(());
        }
        let Some(stacks) = self.open(places, &nodes, DirStack::new)? else {
            return Flow::Continue(());
        };
        drop(nodes);
        self.walk(stacks, None)
    }

    /// Compares the entries of the current directories, or a range of them, and everything below them.
    pub(super) fn walk(&mut self, mut stacks: Both<DirStack>, range: Option<Range<'_>>) -> Flow {
        let mut levels = vec![self.directory(&stacks, range)?];
        while !levels.is_empty() {
            self.give_directories(&mut levels);
            let Some(level) = levels.last_mut() else { break };
            self.path.truncate(level.path_bytes);
            let Some(name) = level.names.get(level.next) else {
                levels.pop();
                if let Err(failed) = stacks.a.pop() {
                    return self.fail(Side::A, failed);
                }
                if let Err(failed) = stacks.b.pop() {
                    return self.fail(Side::B, failed);
                }
                continue;
            };
            level.next += 1;
            push_name(&mut self.path, name);
            let (dir_a, dir_b) = (stacks.a.current(), stacks.b.current());
            let places = Both { a: Place::below(dir_a, name), b: Place::below(dir_b, name) };
            let Some(nodes) = self.pin(places)? else { continue };
            let Some(fds) = self.open(places, &nodes, Ok)? else { continue };
            drop(nodes);
            if self.descend(&mut stacks, fds)? {
                levels.push(self.directory(&stacks, None)?);
            }
        }
        Flow::Continue(())
    }

    /// Gives directories that are not walked yet to other processes, those nearest to the roots first;
    /// keeps one.
    fn give_directories(&mut self, levels: &mut [Level]) {
        while self.outside.is_wanted() {
            let waiting = |level: &Level| level.names.len().saturating_sub(level.next);
            if levels.iter().map(waiting).sum::<usize>() < 2 {
                return;
            }
            let Some(level) = levels.iter_mut().find(|level| waiting(level) > 0) else { return };
            let path = self.path[..level.path_bytes].into();
            let inodes = level.inodes;
            let Some(name) = level.names.pop() else { return };
            let work = Work::Directory(name.to_bytes().into());
            self.outside.give(Unit { path, inodes, work });
        }
    }

    /// Descends on both sides or on neither, so that the two chains stay in step.
    pub(super) fn descend(
        &mut self,
        stacks: &mut Both<DirStack>,
        fds: Both<OwnedFd>,
    ) -> Flow<bool> {
        if let Err(failed) = stacks.a.push(fds.a) {
            self.fail(Side::A, failed)?;
            return Flow::Continue(false);
        }
        if let Err(failed) = stacks.b.push(fds.b) {
            self.fail(Side::B, failed)?;
            // The parent was current just before and is still open, so this cannot fail.
            if let Err(failed) = stacks.a.pop() {
                self.fail(Side::A, failed)?;
                return Flow::Break(());
            }
            return Flow::Continue(false);
        }
        Flow::Continue(true)
    }

    /// Compares all entries of the two current directories, and returns the common directories.
    fn directory(&mut self, stacks: &Both<DirStack>, range: Option<Range<'_>>) -> Flow<Level> {
        let path_bytes = self.path.len();
        let inodes = (stacks.a.current_ino(), stacks.b.current_ino());
        let mut level = Level { names: Names::default(), next: 0, path_bytes, inodes };
        if let Err(errno) = self.outside.enters(&self.path, stacks.a.current()) {
            self.fail(Side::A, (Action::List, errno))?;
            return Flow::Continue(level);
        }
        let (in_a, error) = Names::list(stacks.a.current(), &mut self.list);
        if let Some(errno) = error {
            self.fail(Side::A, (Action::List, errno))?;
        }
        let (in_b, error) = Names::list(stacks.b.current(), &mut self.list);
        if let Some(errno) = error {
            self.fail(Side::B, (Action::List, errno))?;
        }
        let (from, mut end) = match range {
            Some((from, to)) => (from.as_bytes(), to.cloned()),
            None => (&[][..], None),
        };
        let is_before = |name: &&CStr| name.to_bytes() < from;
        let mut a = in_a.iter().skip_while(is_before).peekable();
        let mut b = in_b.iter().skip_while(is_before).peekable();
        loop {
            let (name, order) = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(a), None) => (*a, Ordering::Less),
                (None, Some(b)) => (*b, Ordering::Greater),
                (Some(a), Some(b)) => ((*a).min(*b), a.cmp(b)),
            };
            if end.as_ref().is_some_and(|end| name.to_bytes() >= end.as_bytes()) {
                break;
            }
            push_name(&mut self.path, name);
            if order != Ordering::Greater {
                a.next();
            }
            if order != Ordering::Less {
                b.next();
            }
            let dir_a = (order != Ordering::Greater).then(|| stacks.a.current());
            let dir_b = (order != Ordering::Less).then(|| stacks.b.current());
            match order {
                _ if !self.outside.selects(name, dir_a, dir_b) => {}
                Ordering::Less => self.only(stacks, Side::A, name)?,
                Ordering::Greater => self.only(stacks, Side::B, name)?,
                Ordering::Equal => {
                    if self.entry(stacks, name)? == Some(Kind::Directory) {
                        level.names.push(name);
                    }
                }
            }
            self.path.truncate(path_bytes);
            if self.outside.is_wanted() {
                let rest = if in_a.len() < in_b.len() { &in_b } else { &in_a };
                end = self.give_half(rest, name, inodes, end);
            }
        }
        self.send_routed(stacks);
        Flow::Continue(level)
    }

    /// Gives the second half of the names behind one to another process. Returns the new end.
    fn give_half(
        &mut self,
        names: &Names,
        behind: &CStr,
        inodes: (u64, u64),
        end: Option<RawText>,
    ) -> Option<RawText> {
        let is_inside =
            |name: &CStr| end.as_ref().is_none_or(|end| name.to_bytes() < end.as_bytes());
        let first = names.partition_point(|name| name <= behind);
        let count = names.partition_point(is_inside).saturating_sub(first);
        if count < SHARED_NAMES {
            return end;
        }
        let Some(middle) = names.get(first + count / 2) else { return end };
        let middle = RawText::from(middle.to_bytes());
        let path = self.path.as_slice().into();
        let work = Work::Range(middle.clone(), end);
        self.outside.give(Unit { path, inodes, work });
        Some(middle)
    }

    fn only(&mut self, stacks: &Both<DirStack>, side: Side, name: &CStr) -> Flow {
        let stack = match side {
            Side::A => &stacks.a,
            Side::B => &stacks.b,
        };
        // The finding is that the name exists; its kind is additional information.
        let kind = Node::pin(Place::below(stack.current(), name)).ok();
        let kind = kind.map(|node| node.attributes.kind);
        self.differ(match side {
            Side::A => What::OnlyInA { kind },
            Side::B => What::OnlyInB { kind },
        })
    }

    pub(super) fn entry(&mut self, stacks: &Both<DirStack>, name: &CStr) -> Flow<Option<Kind>> {
        let (dir_a, dir_b) = (stacks.a.current(), stacks.b.current());
        let places = Both { a: Place::below(dir_a, name), b: Place::below(dir_b, name) };
        match self.pin(places)? {
            Some(nodes) => self.compare_pair(places, &nodes),
            None => Flow::Continue(None),
        }
    }

    /// Compares one pair of entries, and returns their kind if it is the same.
    fn compare_pair(&mut self, places: Both<Place<'_>>, nodes: &Both<Node>) -> Flow<Option<Kind>> {
        let (a, b) = (&nodes.a.attributes, &nodes.b.attributes);
        let is_linked = a.kind == b.kind && a.kind != Kind::Directory && a.nlink.max(b.nlink) > 1;
        if is_linked && let (Some(to), Some(name)) = (self.outside.owner(a.id.ino), self.name()) {
            self.routed.push((to, name));
            return Flow::Continue(None);
        }
        self.summary.entries += 1;
        if a.kind != b.kind {
            self.differ(What::Kind { a: a.kind, b: b.kind })?;
            return Flow::Continue(None);
        }
        if a.kind != Kind::Directory {
            let relation = self.links.meet(&self.path, a, b);
            if is_linked {
                self.meet_back(&relation, a, b)?;
            }
            match relation {
                Relation::Never => {}
                Relation::Together => return Flow::Continue(Some(a.kind)),
                Relation::Apart(what) if self.options.aspects.contains(Aspect::Links) => {
                    self.differ(what)?;
                }
                Relation::Apart(_) => {}
            }
        }
        let is_root = self.path.is_empty();
        if !is_root || self.options.root_attributes == RootAttributes::Compare {
            for what in judge_attributes(self.options.aspects, a, b) {
                self.differ_in_stored(nodes, what)?;
            }
            self.xattrs(nodes)?;
            self.flags(places, nodes)?;
        }
        match a.kind {
            Kind::Regular => {
                self.content(places, nodes)?;
                self.blocks(places, nodes)?;
            }
            Kind::Symlink => self.link_text(nodes)?,
            // The number of a device is an attribute; the other kinds have no content of their own.
            Kind::Directory | Kind::Fifo | Kind::Socket | Kind::BlockDevice | Kind::CharDevice => {}
        }
        Flow::Continue(Some(a.kind))
    }

    /// Lets the process that meets the inode in B compare the links, if several take part: names of
    /// one inode there may belong to several inodes in A.
    fn meet_back(&mut self, relation: &Relation, a: &Attributes, b: &Attributes) -> Flow {
        let wants_links = self.options.aspects.contains(Aspect::Links);
        if !self.outside.is_shared() || !wants_links || *relation == Relation::Together {
            return Flow::Continue(());
        }
        let is_reported = *relation != Relation::Never;
        match (self.outside.owner(b.id.ino), self.name()) {
            (Some(to), Some(name)) => self.routed_links.push((to, name, is_reported)),
            _ => {
                if let Some(what) = self.links.meet_back(&self.path, a.id, b.id)
                    && !is_reported
                {
                    return self.differ(what);
                }
            }
        }
        Flow::Continue(())
    }

    /// Returns the name of the current entry in its directory; `None` for the roots.
    fn name(&self) -> Option<RawText> {
        self.path
            .rsplit(|byte| *byte == b'/')
            .next()
            .filter(|name| !name.is_empty())
            .map(Into::into)
    }

    fn content(&mut self, places: Both<Place<'_>>, nodes: &Both<Node>) -> Flow {
        let (a, b) = (&nodes.a.attributes, &nodes.b.attributes);
        let sizes_count = self.options.aspects.contains(Aspect::Size);
        if !self.options.aspects.contains(Aspect::Bytes) {
            if sizes_count && a.size != b.size {
                self.differ(What::Size { a: a.size, b: b.size })?;
            }
            return Flow::Continue(());
        }
        let Some(fds) = self.open(places, nodes, Ok)? else { return Flow::Continue(()) };
        // Two names of one inode have the same content; but on some file systems inode numbers are
        // not unique.
        if a.id == b.id && is_well_known(&fds.a) {
            return Flow::Continue(());
        }
        let fds = (fds.a, fds.b);
        let (file_a, file_b) = open_pair(&fds, a, b);
        let mut kernel = Kernel;
        let pages = self.outside.page_cache().unwrap_or(&mut kernel);
        let both = [file_a.fd, file_b.fd];
        pages.begin(both);
        let holes = self.options.holes;
        let outcome = compare_content(&file_a, &file_b, holes, &mut self.buffers, pages);
        pages.end(both);
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(Unread::Failed(side, failed)) => return self.fail(side, failed),
            Err(Unread::Stopped) => return Flow::Break(()),
        };
        self.held_still(Side::A, &fds.0, a)?;
        self.held_still(Side::B, &fds.1, b)?;
        let Summary { bytes, hole_bytes, .. } = &mut self.summary;
        *bytes = bytes.saturating_add(outcome.read_bytes);
        // Three files of the maximum size overflow the counter.
        *hole_bytes = hole_bytes.saturating_add(outcome.hole_bytes);
        let (length_a, length_b) = outcome.lengths;
        let lengths_differ = length_a != length_b;
        if sizes_count && lengths_differ {
            self.differ(What::Size { a: length_a, b: length_b })?;
        }
        let missing = (lengths_differ && !sizes_count).then_some(length_a.min(length_b));
        if let Some(first_offset) = outcome.first_offset.or(missing) {
            self.differ(What::Bytes { first_offset })?;
        }
        Flow::Continue(())
    }

    /// Fails if a file has changed: the bytes read then match no single state of it. Times are
    /// reliable only if the kernel itself keeps them; on other file systems they may be reported
    /// late.
    fn held_still(&mut self, side: Side, fd: &OwnedFd, before: &Attributes) -> Flow {
        let now = match Attributes::of(fd) {
            Ok(now) => now,
            Err(failed) => return self.fail(side, failed),
        };
        let times_differ = (before.mtime, before.ctime) != (now.mtime, now.ctime);
        if before.size != now.size || (times_differ && is_well_known(fd)) {
            return self.fail(side, (Action::HoldStill, Errno::STALE));
        }
        Flow::Continue(())
    }

    /// Pins the entry on both sides; reports a failure and returns `None` if either fails.
    pub(super) fn pin(&mut self, places: Both<Place<'_>>) -> Flow<Option<Both<Node>>> {
        self.both(Node::pin(places.a), Node::pin(places.b))
    }

    /// Opens the data on both sides; reports a failure and returns `None` if either fails.
    pub(super) fn open<T>(
        &mut self,
        places: Both<Place<'_>>,
        nodes: &Both<Node>,
        then: impl Fn(OwnedFd) -> Step<T>,
    ) -> Flow<Option<Both<T>>> {
        let a = nodes.a.open(places.a).and_then(&then);
        let b = nodes.b.open(places.b).and_then(&then);
        self.both(a, b)
    }

    pub(super) fn both<T>(&mut self, a: Step<T>, b: Step<T>) -> Flow<Option<Both<T>>> {
        match (a, b) {
            (Ok(a), Ok(b)) => return Flow::Continue(Some(Both { a, b })),
            (Err(failed), Ok(_)) => self.fail(Side::A, failed)?,
            (Ok(_), Err(failed)) => self.fail(Side::B, failed)?,
            (Err(in_a), Err(in_b)) => {
                self.fail(Side::A, in_a)?;
                self.fail(Side::B, in_b)?;
            }
        }
        Flow::Continue(None)
    }

    /// Reports a difference, unless the caller does not want those that a perfect copy has, too.
    pub(super) fn differ_in_stored(&mut self, nodes: &Both<Node>, what: What) -> Flow {
        let is_coarse = self.options.precision == Precision::Stored;
        if is_coarse && self.stored.leaves_out(&what, &nodes.a, &nodes.b) {
            *self.summary.left_out.entry(what.label().to_owned()).or_default() += 1;
            return Flow::Continue(());
        }
        self.differ(what)
    }

    pub(super) fn differ(&mut self, what: What) -> Flow {
        *self.summary.differences.entry(what.label().to_owned()).or_default() += 1;
        self.outside
            .report(Finding::Difference(Difference { path: self.path.as_slice().into(), what }))
    }

    pub(super) fn fail(&mut self, side: Side, (action, errno): (Action, Errno)) -> Flow {
        self.summary.failures += 1;
        let failure = Failure::new(&self.path, action, errno);
        let operand = match side {
            Side::A => self.operands.a.clone(),
            Side::B => self.operands.b.clone(),
        };
        self.outside.report(Finding::Failure { side, operand, failure })
    }
}

pub(super) fn push_name(path: &mut Vec<u8>, name: &CStr) {
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
}
