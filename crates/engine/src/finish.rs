//! Finishes directories: applies attributes and flushes names when all entries of a directory are
//! handled.

use crate::durable_names::sync_names;
use std::sync::Arc;

use crate::apply::{commit_group, resumable};
use crate::journal::Secure;
use crate::request::{Appearance, Sync};
use crate::run::Run;
use crate::walk::node::Node;
use crate::walk::path::{Side, of_node};

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
    secure(run, node);
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

fn secure(run: &Run<'_>, node: &Arc<Node>) {
    if run.policy.appearance == Appearance::Durable {
        commit_group::owe_names(run, node);
    } else if run.policy.sync == Sync::Files {
        sync_names(run, node);
    }
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
            run.fail_node(node, crate::error::What::OpenDirectory, Some(error.errno));
            return;
        }
    };
    for lost in node.attributes.apply(handles.target(), run.policy) {
        run.report(&crate::error::Failure {
            operation: crate::error::Operation::Copy,
            what: lost.what,
            source: of_node(node, Side::Source),
            target: of_node(node, Side::Target),
            errno: Some(lost.errno),
            severity: lost.severity,
        });
    }
}
