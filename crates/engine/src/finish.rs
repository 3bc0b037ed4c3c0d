//! What a directory gets when everything in it is done: its attributes, and stable storage for its names.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use haul_sys::fs::{Follow, fsync_names, open_directory};

use crate::apply::commit_group;
use crate::error::What;
use crate::request::{Appearance, Sync};
use crate::run::{Entry, Run};
use crate::walk::node::Node;
use crate::walk::path::{Side, of_node};

/// Finishes a directory of which everything is done.
pub(crate) fn finish(run: &Run<'_>, node: &Arc<Node>) {
    if run.stopped() {
        return;
    }
    if node.attributes.is_due() {
        apply_attributes(run, node);
    }
    secure(run, node);
    if let Some(parent) = &node.parent
        && (parent.has_more_pending() || parent.attributes.is_due())
    {
        // Where that fails, the parent is opened by its names when it is needed.
        let _opened = run.cache.climb(node, parent);
    }
}

fn secure(run: &Run<'_>, node: &Arc<Node>) {
    if run.policy.appearance == Appearance::Durable {
        commit_group::owe_names(run, node);
    } else if run.policy.sync == Sync::Files {
        sync_names(run, node);
    }
}

/// Waits until the names in a target directory are on stable storage.
pub(crate) fn sync_names(run: &Run<'_>, node: &Arc<Node>) {
    let synced = run.cache.of(node).and_then(|handles| {
        // The handle may be good for looking up names alone (O_PATH), which cannot be synced.
        let readable = open_directory(handles.target(), c".", Follow::No)?;
        fsync_names(&readable)?;
        // An operand's own name may be in a directory that is no node of ours.
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

/// Does that for a name that was made at once, where the policy waits for names.
pub(crate) fn secure_place(run: &Run<'_>, entry: &Entry<'_>) {
    if run.policy.syncs_names() {
        sync_place(run, entry);
    }
}

/// Waits until the name of a file is on stable storage that was given as a path: the directory that
/// it is in is no node of ours.
pub(crate) fn sync_place(run: &Run<'_>, entry: &Entry<'_>) {
    if !entry.node.lists_operands || !is_path(entry.target) {
        return;
    }
    let path = entry.target.to_bytes();
    let behind = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let Ok(parent) = CString::new(path.get(..behind).unwrap_or_default()) else { return };
    let synced = run
        .cache
        .of(entry.node)
        .and_then(|handles| fsync_names(open_directory(handles.target(), &parent, Follow::Yes)?));
    if let Err(error) = synced {
        entry.fail(run, What::Sync, Some(error.errno));
    }
}

fn is_path(name: &CStr) -> bool {
    name.to_bytes().contains(&b'/')
}

fn apply_attributes(run: &Run<'_>, node: &Arc<Node>) {
    let handles = match run.cache.of(node) {
        Ok(handles) => handles,
        Err(error) => {
            run.fail_node(node, crate::error::What::OpenDirectory, Some(error.errno));
            return;
        }
    };
    for lost in node.attributes.apply(handles.target(), run.policy) {
        run.report(
            lost.severity,
            &crate::error::Failure {
                what: lost.what,
                source: of_node(node, Side::Source),
                target: of_node(node, Side::Target),
                errno: Some(lost.errno),
                severity: lost.severity,
            },
        );
    }
}
