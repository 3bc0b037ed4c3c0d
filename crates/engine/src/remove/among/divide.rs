//! How the work of a removal leaves this process and arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::fs::{Kind, birth_at};
use haul_tree::Entries;

use super::adopt;
use super::kept::Kept;
use super::unit::{Level, Name, Place, Unit, names_of};
use crate::peers::divided::Divided;
use crate::peers::state::{Foreign, PeerState, Token};
use crate::peers::unit::Work;
use crate::remove::context::{Enter, Worker};
use crate::remove::node::{Node, RemoveDirectory, keep};
use crate::remove::run::Run;

impl<'r> Divided for Run<'r> {
    fn peers(&self) -> Option<&PeerState> {
        self.peers.as_ref()
    }

    fn stop_flag(&self) -> &AtomicBool {
        self.control.stop
    }

    fn foreign(directory: &RemoveDirectory) -> Foreign {
        directory.foreign
    }

    /// Operands stay, because the guards have examined them here.
    fn may_send(&self, found: &Enter) -> bool {
        !found.parent.is_root()
    }

    fn may_share(&self, node: &Node) -> bool {
        !node.is_root()
    }

    fn directory_unit(&self, found: Enter) -> (Arc<Node>, Vec<u8>) {
        let Enter { parent, name, .. } = found;
        let name = Name { name, kind: Some(Kind::Directory), ino: 0 };
        let unit = Unit { place: place(self, &parent), work: Work::One(name) };
        (parent, unit.encode())
    }

    fn entries_unit(&self, node: &Arc<Node>, entries: &Entries) -> Vec<u8> {
        Unit { place: place(self, node), work: Work::Entries(names_of(entries)) }.encode()
    }

    fn adopt(worker: &mut Worker<'_, 'r>, token: Token, bytes: &[u8]) {
        adopt::adopt(worker, token, bytes);
    }

    fn returned(node: &Node, answer: &[u8]) {
        match Kept::of(answer) {
            Kept::Nothing => node.progress.store(true, Ordering::Relaxed),
            Kept::Entries => keep(node),
        }
    }
}

/// Describes a directory by the chain from its operand.
fn place(run: &Run<'_>, node: &Arc<Node>) -> Place {
    let mut levels = Vec::new();
    let mut at = node;
    while let Some(parent) = &at.parent {
        levels.push(Level { name: at.name.clone(), ino: at.id.1 });
        at = parent;
    }
    levels.reverse();
    let directory = run.cache.of(node).ok();
    let birth = directory.and_then(|directory| birth_at(&**directory, c".").ok().flatten());
    Place { levels, birth }
}
