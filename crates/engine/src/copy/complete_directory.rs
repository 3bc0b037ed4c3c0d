//! Reports directories that are complete.

use std::sync::Arc;

use haul_sys::fs::Kind;

use super::pin_later::Unpinned;
use crate::copy::entry::Entry;
use crate::copy::node::{Node, Origin};
use crate::copy::run::Run;
use crate::peers::state::Foreign;

/// Returns whether a directory is reported, or pinned, when it is complete.
pub(crate) fn is_reported(run: &Run<'_>, node: &Node) -> bool {
    run.tells_entries || node.attributes.pinning().is_some()
}

/// Reports a directory that the run has made, now that it is complete. What is in it has reports of its own. One
/// that is to become immutable or append-only is complete only at the end of the run.
pub(crate) fn tell_copied(run: &Run<'_>, node: &Arc<Node>) {
    let Some(parent) = node.parent.as_ref().filter(|_| node.foreign == Foreign::No) else { return };
    let (source, target) = (&*node.source_name, node.target_name());
    let entry = Entry { node: parent, source, target, rest: None };
    let is_made = node.origin == Origin::Made && !node.lists_operands;
    match node.attributes.pinning() {
        Some((flags, stat)) => {
            let unpinned = Unpinned::of(&entry, &stat, node.target_id, flags);
            run.pin_later.add(match is_made {
                true => unpinned.reporting(node.kept(), None),
                false => unpinned,
            });
        }
        None if is_made => entry.tell_copied(run, (Kind::Directory, node.kept()), None),
        None => {}
    }
}
