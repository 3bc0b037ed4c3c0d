//! A process's share of a comparison that several carry out: units one after the other.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::io::Errno;

use super::unit::{Outside, Unit, Work};
use super::walk::{Both, Flow, Walk, push_name};
use super::{CompareOptions, Side, Summary};
use crate::dirstack::DirStack;
use crate::failure::Action;
use crate::node::Place;
use crate::text::RawText;
use crate::values::Kind;

/// Share of one process.
pub struct Share<'a> {
    walk: Walk<'a>,
    roots: Both<&'a Path>,
}

impl<'a> Share<'a> {
    /// Begins a share of the comparison of `a` and `b`. All processes have the same arguments and the
    /// same current directory.
    #[must_use]
    pub fn new(
        a: &'a Path,
        b: &'a Path,
        options: &'a CompareOptions,
        outside: &'a mut dyn Outside,
    ) -> Share<'a> {
        Share { walk: Walk::new(a, b, options, outside), roots: Both { a, b } }
    }

    /// Compares a unit. Returns `false` if the caller ended the comparison. Blocks on I/O.
    pub fn compare(&mut self, unit: &Unit) -> bool {
        let is_done = self.unit(unit).is_continue();
        self.walk.path.clear();
        self.walk.summary.stopped |= !is_done;
        is_done
    }

    /// Returns what was compared and found.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.walk.summary
    }

    fn unit(&mut self, unit: &Unit) -> Flow {
        let walk = &mut self.walk;
        if unit.work == Work::Roots {
            return walk.run(self.roots.a, self.roots.b);
        }
        let Some(mut stacks) = walk.open_roots(self.roots.a, self.roots.b)? else {
            return Flow::Continue(());
        };
        for part in unit.path.0.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            if !walk.enter(&mut stacks, &name(part))? {
                return Flow::Continue(());
            }
        }
        for (side, found, expected) in [
            (Side::A, stacks.a.current_ino(), unit.inodes.0),
            (Side::B, stacks.b.current_ino(), unit.inodes.1),
        ] {
            if found != expected {
                // Another machine has another tree there, or the directory was replaced.
                return walk.fail(side, (Action::Open, Errno::STALE));
            }
        }
        match &unit.work {
            Work::Roots => Flow::Continue(()),
            Work::Directory(directory) => {
                if walk.enter(&mut stacks, &name(&directory.0))? {
                    walk.walk(stacks, None)?;
                }
                Flow::Continue(())
            }
            Work::Range(from, to) => walk.walk(stacks, Some((from, to.as_ref()))),
            Work::Names(names) => walk.names(&stacks, names),
            Work::Links(names) => walk.links(&stacks, names),
        }
    }
}

fn name(bytes: &[u8]) -> CString {
    CString::new(bytes).unwrap_or_default()
}

impl Walk<'_> {
    /// Opens both roots, which were compared before.
    fn open_roots(&mut self, a: &Path, b: &Path) -> Flow<Option<Both<DirStack>>> {
        let (a, b) = (name(a.as_os_str().as_bytes()), name(b.as_os_str().as_bytes()));
        let links = self.options.root_links;
        let places = Both { a: Place::root(&a, links), b: Place::root(&b, links) };
        let Some(nodes) = self.pin(places)? else { return Flow::Continue(None) };
        self.open(places, &nodes, DirStack::new)
    }

    /// Enters a directory on both sides; reports a failure and returns `false` if that fails.
    fn enter(&mut self, stacks: &mut Both<DirStack>, name: &std::ffi::CStr) -> Flow<bool> {
        push_name(&mut self.path, name);
        let (dir_a, dir_b) = (stacks.a.current(), stacks.b.current());
        let places = Both { a: Place::below(dir_a, name), b: Place::below(dir_b, name) };
        let Some(nodes) = self.pin(places)? else { return Flow::Continue(false) };
        let Some(fds) = self.open(places, &nodes, Ok)? else { return Flow::Continue(false) };
        drop(nodes);
        self.descend(stacks, fds)
    }

    /// Compares entries that this process compares for all.
    fn names(&mut self, stacks: &Both<DirStack>, names: &[RawText]) -> Flow {
        let path_bytes = self.path.len();
        for bytes in names {
            let name = name(&bytes.0);
            push_name(&mut self.path, &name);
            if self.entry(stacks, &name)? == Some(Kind::Directory) {
                // It was none when it was found, so no process enters it.
                self.fail(Side::A, (Action::HoldStill, Errno::STALE))?;
            }
            self.path.truncate(path_bytes);
        }
        self.send_routed(stacks);
        Flow::Continue(())
    }

    /// Compares the links of entries whose inodes in B this process meets.
    fn links(&mut self, stacks: &Both<DirStack>, names: &[(RawText, bool)]) -> Flow {
        let path_bytes = self.path.len();
        for (bytes, is_reported) in names {
            let name = name(&bytes.0);
            push_name(&mut self.path, &name);
            let (dir_a, dir_b) = (stacks.a.current(), stacks.b.current());
            let places = Both { a: Place::below(dir_a, &name), b: Place::below(dir_b, &name) };
            if let Some(nodes) = self.pin(places)? {
                let (a, b) = (nodes.a.attributes.id, nodes.b.attributes.id);
                if let Some(what) = self.links.meet_back(&self.path, a, b)
                    && !is_reported
                {
                    self.differ(what)?;
                }
            }
            self.path.truncate(path_bytes);
        }
        Flow::Continue(())
    }

    /// Sends the entries of the current directories that belong to other processes.
    pub(super) fn send_routed(&mut self, stacks: &Both<DirStack>) {
        let mut names: BTreeMap<usize, Vec<RawText>> = BTreeMap::new();
        for (to, name) in std::mem::take(&mut self.routed) {
            names.entry(to).or_default().push(name);
        }
        let mut links: BTreeMap<usize, Vec<(RawText, bool)>> = BTreeMap::new();
        for (to, name, is_reported) in std::mem::take(&mut self.routed_links) {
            links.entry(to).or_default().push((name, is_reported));
        }
        let names = names.into_iter().map(|(to, names)| (to, Work::Names(names)));
        let links = links.into_iter().map(|(to, names)| (to, Work::Links(names)));
        let inodes = (stacks.a.current_ino(), stacks.b.current_ino());
        for (to, work) in names.chain(links) {
            let path = self.path.as_slice().into();
            self.outside.send(to, Unit { path, inodes, work });
        }
    }
}
