//! How the work of a copy leaves this process and arrives.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use haul_tree::Entries;

use super::adopt;
use super::unit::{Found, Level, One, Place, Unit};
use crate::copy::context::{Enter, Worker};
use crate::copy::node::{CopyDirectory, Node};
use crate::copy::run::Run;
use crate::copy::shared_file::SharedFile;
use crate::copy::{self, commit_group};
use crate::peers::divided::{Divided, Routed, within};
use crate::peers::state::{Foreign, PeerState, Token};
use crate::peers::unit::Work;

impl<'r> Divided for Run<'r> {
    fn peers(&self) -> Option<&PeerState> {
        self.peers.as_ref()
    }

    fn stop_flag(&self) -> &AtomicBool {
        self.control.stop
    }

    fn foreign(directory: &CopyDirectory) -> Foreign {
        directory.foreign
    }

    fn may_send(&self, found: &Box<Enter>) -> bool {
        found.rest.is_none() && !found.parent.lists_operands
    }

    fn may_share(&self, node: &Node) -> bool {
        !node.lists_operands
    }

    fn directory_unit(&self, found: Box<Enter>) -> (Arc<Node>, Vec<u8>) {
        let enter = *found;
        let found = Found {
            source: enter.source_name,
            target: enter.target_name,
            ino: enter.stat.ino,
            made: enter.made,
            origin: enter.origin,
            through_link: enter.through_link,
            target_through_link: enter.target_through_link,
        };
        let work = Work::One(One::Directory(found));
        let unit = Unit { place: place(self, &enter.parent), work };
        (enter.parent, unit.encode())
    }

    fn entries_unit(&self, node: &Arc<Node>, entries: &Entries) -> Vec<u8> {
        let name = |slot| (entries.name(slot).to_owned(), entries.target(slot).to_owned());
        let names = entries.slots.iter().map(name).collect();
        Unit { place: place(self, node), work: Work::Entries(names) }.encode()
    }

    fn may_split(&self, file: &SharedFile) -> bool {
        copy::part::may_split(self, file)
    }

    fn part_unit(&self, file: &SharedFile) -> Option<(Range<u64>, Token, Vec<u8>)> {
        let processes = self.peers.as_ref()?.count();
        let (range, part) = copy::part::take(self, file, processes)?;
        let node = file.node();
        let work = Work::One(One::Part(Box::new(part)));
        Some((range, within::<Self>(node), Unit { place: place(self, node), work }.encode()))
    }

    fn part_returned(file: &SharedFile, range: &Range<u64>, answer: &[u8]) {
        copy::part::came_back(file, range, answer);
    }

    fn routed_unit(&self, most: usize) -> Option<Routed<Self>> {
        let taken = self.routes.take(most);
        let first = taken.first()?;
        let (to, place) = (first.to, place(self, &first.node));
        let (nodes, names) =
            taken.into_iter().map(|name| (name.node, (name.source, name.target))).unzip();
        Some(Routed { to, nodes, bytes: Unit { place, work: Work::Entries(names) }.encode() })
    }

    fn holds_files(&self) -> bool {
        commit_group::has_waiting(self)
    }

    fn commit(worker: &mut Worker<'_, 'r>) {
        copy::commit_remaining(worker);
    }

    fn is_part(bytes: &[u8]) -> bool {
        Unit::decode(bytes).is_ok_and(|unit| matches!(unit.work, Work::One(One::Part(_))))
    }

    fn adopt(worker: &mut Worker<'_, 'r>, token: Token, bytes: &[u8]) {
        adopt::adopt(worker, token, bytes);
    }
}

/// Describes a directory by the chain from its operand.
fn place(run: &Run<'_>, node: &Arc<Node>) -> Place {
    let roots = run.made_roots.lock();
    let roots = roots.iter().map(|(_, ino)| *ino).collect();
    let mut levels = Vec::new();
    let mut at = node;
    while let Some(parent) = &at.parent {
        levels.push(Level {
            source: at.source_name.clone(),
            target: at.target_name.clone(),
            source_ino: at.source_id.1,
            target_ino: at.target_id.1,
            through_link: at.through_link,
            target_through_link: at.target_through_link,
            inherits_acl: at.inherits_acl,
            lists_operands: at.lists_operands,
            origin: at.origin,
        });
        at = parent;
    }
    levels.reverse();
    Place { base: at.target_name().to_owned(), roots, levels }
}
