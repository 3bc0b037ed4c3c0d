//! The part of another process's file that this process opened last. While it is open, the next part of
//! the same file is opened by its descriptors, without the directories: each process has several parts of a
//! file, one after another, and to look up the names takes as long as a few ranges of each worker.

use haul_sys::sync::Mutex;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use haul_io::Pair;
use haul_sys::fs::Stat;

use crate::copy::node::Node;
use crate::peers::state::Foreign;

/// The two files of a part, open.
pub(crate) struct PartFiles {
    pub(crate) source: Arc<OwnedFd>,
    pub(crate) target: Arc<OwnedFd>,
    /// The source as it was when it was opened.
    pub(crate) stat: Stat,
    pub(crate) pair: Arc<Pair>,
}

/// The part that was opened last; none at first.
#[derive(Default)]
pub(crate) struct LastPart(Mutex<Option<Known>>);

/// An open part. The files are closed when it ends, so that no descriptor of a complete file stays open.
struct Known {
    /// What describes the file, without the part.
    file: Vec<u8>,
    node: Weak<Node>,
    source: Weak<OwnedFd>,
    target: Weak<OwnedFd>,
    stat: Stat,
    pair: Arc<Pair>,
}

impl LastPart {
    /// Remembers an open part of the file that is described like this, instead of the one before it.
    pub(super) fn remember(&self, file: Vec<u8>, node: &Arc<Node>, files: &PartFiles) {
        let PartFiles { source, target, stat, pair } = files;
        let (node, pair) = (Arc::downgrade(node), Arc::clone(pair));
        let (source, target) = (Arc::downgrade(source), Arc::downgrade(target));
        let known = Known { file, node, source, target, stat: *stat, pair };
        *self.0.lock() = Some(known);
    }

    /// Returns the files of the last part, if they are open and described alike, and another node for their
    /// directory. Neither it nor those above it have open directories, which a part does not need.
    pub(super) fn open_files(
        &self,
        file: &[u8],
        foreign: Foreign,
    ) -> Option<(Arc<Node>, PartFiles)> {
        let known = self.0.lock();
        let known = known.as_ref().filter(|known| known.file == file)?;
        let (node, pair) =
            (another_node(&*known.node.upgrade()?, foreign), Arc::clone(&known.pair));
        let (source, target) = (known.source.upgrade()?, known.target.upgrade()?);
        Some((node, PartFiles { source, target, stat: known.stat, pair }))
    }
}

/// Describes a directory and those above it once more. Does not recurse: trees are as deep as they want.
fn another_node(node: &Node, foreign: Foreign) -> Arc<Node> {
    let mut above = Vec::new();
    let mut at = node.parent.as_ref();
    while let Some(parent) = at {
        above.push(parent);
        at = parent.parent.as_ref();
    }
    let parent = above.into_iter().rev().fold(None, |outer, directory| {
        Some(Arc::new(Node::new(outer, directory.described_again(Foreign::Above))))
    });
    Arc::new(Node::new(parent, node.described_again(foreign)))
}
