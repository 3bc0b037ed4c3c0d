//! Finishes directories: applies attributes and flushes names when all entries of a directory are
//! handled.

use crate::copy::durable_names::sync_names;
use std::sync::Arc;

use haul_sys::fs::Kind;

use crate::copy::entry::Entry;
use crate::copy::node::{Node, Origin};
use crate::copy::node::{Side, of_node};
use crate::copy::run::Run;
use crate::copy::{commit_group, resumable};
use crate::data::error::Severity;
use crate::data::request::{Appearance, Sync};
use crate::journal::Secure;
use crate::metadata::Kept;

/// Finishes a directory whose entries are all handled.
pub(crate) fn finish(run: &Run<'_>, node: &Arc<Node>) {
    if run.stopped() {
        return;
    }
    if let Some(journal) = run.journal {
        resumable::discard_stale(run, journal, node);
    }
    let kept = if node.attributes.is_due() { apply_attributes(run, node) } else { Kept::All };
    secure(run, node);
    tell_copied(run, node, kept);
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

/// Reports a directory that the run has made, now that it is complete. What is in it has reports of its own.
fn tell_copied(run: &Run<'_>, node: &Arc<Node>, kept: Kept) {
    if let Some(parent) = &node.parent
        && node.origin == Origin::Made
        && !node.lists_operands
    {
        let (source, target) = (&*node.source_name, node.target_name());
        let entry = Entry { node: parent, source, target, rest: None };
        entry.tell_copied(run, (Kind::Directory, kept), None);
    }
}

fn apply_attributes(run: &Run<'_>, node: &Arc<Node>) -> Kept {
    if node.attributes.denies_changes(run.policy) {
        // A run that goes on from here, by a user without privileges, should not have to change the mode
        // again: it knows the entries that are finished.
        run.write_journal(Secure::Later);
    }
    let handles = match run.cache.of(node) {
        Ok(handles) => handles,
        Err(error) => {
            run.fail_node(node, crate::data::error::What::OpenDirectory, Some(error.errno));
            return Kept::NotAll;
        }
    };
    let mut kept = Kept::All;
    for lost in node.attributes.apply(handles.target(), run.policy) {
        if lost.severity == Severity::Failure {
            kept = Kept::NotAll;
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
    kept
}
