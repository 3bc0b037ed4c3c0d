//! Finishes directories: applies attributes and flushes names when all entries of a directory are
//! handled.

use std::sync::Arc;

use haul_sys::fs::Kind;

use crate::copy::commit_group::Owed;
use crate::copy::complete_directory::tell_copied;
use crate::copy::durable_names::sync_names;
use crate::copy::node::Node;
use crate::copy::node::{Side, of_node};
use crate::copy::run::Run;
use crate::copy::{commit_group, resumable};
use crate::data::error::{Severity, What};
use crate::data::request::{Appearance, Sync};
use crate::journal::Secure;

/// Finishes a directory whose entries are all handled.
pub(crate) fn finish(run: &Run<'_>, node: &Arc<Node>) {
    if run.stopped() {
        return;
    }
    if let Some(journal) = run.journal {
        resumable::discard_stale(run, journal, node);
    }
    if node.attributes.is_due() {
        apply_attributes(run, node);
    }
    if secure(run, node) == Owed::Nothing {
        tell_copied(run, node);
    }
    if let Some(parent) = &node.parent
        && (parent.has_more_pending() || parent.attributes.is_due())
    {
        // If that fails, the parent is opened by its names when it is needed.
        let _opened = run.cache.climb(node, parent);
    }
}

/// Finishes this process's part of a directory that another process finishes: the names that this
/// one has made in it must be on stable storage, too.
pub(crate) fn finish_unit(run: &Run<'_>, node: &Arc<Node>) {
    if !run.stopped() {
        secure(run, node);
    }
}

/// Brings the names in a directory to stable storage, now or with those of other directories.
fn secure(run: &Run<'_>, node: &Arc<Node>) -> Owed {
    if run.policy.appearance == Appearance::Durable {
        return commit_group::owe_names(run, node);
    }
    if run.policy.sync == Sync::Files {
        sync_names(run, node);
    }
    Owed::Nothing
}

fn apply_attributes(run: &Run<'_>, node: &Arc<Node>) {
    if node.attributes.denies_changes(run.policy) {
        // A run that goes on from here, by a user without privileges, should not have to change the mode
        // again: it knows the entries that are finished.
        run.write_journal(Secure::Later);
    }
    let handles = match run.cache.of(node) {
        Ok(handles) => handles,
        Err(error) => {
            return run.fail_node(node, What::OpenDirectory, Some(error.errno));
        }
    };
    let policy = run.policy_for(Kind::Directory);
    // A directory that has everything keeps its ctime.
    if run.synchronized.is_some() && node.attributes.are_set(handles.target(), policy) {
        return;
    }
    let mut lost = match run.synchronized {
        Some(_) => node.attributes.remove_others(handles.target(), policy),
        None => Vec::new(),
    };
    lost.extend(node.attributes.apply(handles.target(), policy));
    for lost in lost {
        if lost.severity == Severity::Failure {
            run.fail_node(node, lost.what, Some(lost.errno));
            continue;
        }
        run.report(&crate::data::error::Failure {
            operation: crate::data::error::Operation::Copy,
            what: lost.what,
            source: of_node(node, Side::Source),
            target: of_node(node, Side::Target),
            errno: Some(lost.errno),
            severity: lost.severity,
        });
    }
}
