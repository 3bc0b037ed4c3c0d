//! Makes names durable: `fsync` of the directories that contain them.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use haul_sys::fs::{Follow, fsync_names, open_directory, split_at_last_slash};

use crate::copy::entry::Entry;
use crate::copy::node::Node;
use crate::copy::run::Run;
use crate::data::error::What;
use crate::metadata::Kept;

/// Waits until the names in a target directory are on stable storage.
pub(crate) fn sync_names(run: &Run<'_>, node: &Arc<Node>) {
    let synced = run.cache.of(node).and_then(|handles| {
        // The handle may be an `O_PATH` descriptor, which `fsync` rejects.
        let readable = open_directory(handles.target(), c".", Follow::No)?;
        fsync_names(&readable)?;
        // An operand's own name may be in a directory without a node.
        let name = node.target_name.as_ref().unwrap_or(&node.source_name);
        let is_elsewhere = is_path(name);
        if is_elsewhere && node.parent.as_ref().is_some_and(|parent| parent.lists_operands) {
            fsync_names(open_directory(handles.target(), c"..", Follow::No)?)?;
        }
        Ok(())
    });
    if let Err(error) = synced {
        run.fail_node(node, What::Sync, Some(error.errno));
    }
}

/// Waits for a single name to be on stable storage, if the policy requires that.
pub(crate) fn secure_place(run: &Run<'_>, entry: &Entry<'_>) -> Kept {
    if run.policy.syncs_names() { sync_place(run, entry) } else { Kept::All }
}

/// Waits until the name of a file that was given as a path is on stable storage. Its directory has
/// no node.
pub(crate) fn sync_place(run: &Run<'_>, entry: &Entry<'_>) -> Kept {
    if !entry.node.lists_operands || !is_path(entry.target) {
        return Kept::All;
    }
    let (directory, _) = split_at_last_slash(entry.target.to_bytes());
    let Ok(parent) = CString::new(directory) else { return Kept::All };
    let synced = run
        .cache
        .of(entry.node)
        .and_then(|handles| fsync_names(open_directory(handles.target(), &parent, Follow::Yes)?));
    if let Err(error) = synced {
        entry.fail(run, What::Sync, Some(error.errno));
        return Kept::NotAll;
    }
    Kept::All
}

fn is_path(name: &CStr) -> bool {
    name.to_bytes().contains(&b'/')
}
