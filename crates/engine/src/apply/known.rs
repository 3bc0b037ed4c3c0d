//! Names of files with several names: taken over from an earlier run, and reported for a later one.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::fs::{CWD, Kind, Stat, statat};

use super::links::{Copied, Name};
use crate::known_names::{FileState, KnownName};
use crate::request::Dereference;
use crate::run::Run;
use crate::walk::node::Node;
use crate::walk::path::{Side, of_entry};

/// Records the names of an earlier run. `root` is the node whose entries are paths.
pub(crate) fn take_over(run: &Run<'_>, root: &Arc<Node>, known: &[KnownName]) {
    for known in known.iter().filter(|known| known.still_holds()) {
        let name = Name {
            node: Arc::clone(root),
            name: known.target.clone(),
            source: known.source.clone(),
        };
        let copied = Copied {
            source: known.source_state,
            source_ctime: known.source_ctime,
            kind: Kind::Regular,
            known_target: Some(known.target_state),
        };
        run.links.take_over(copied, name);
    }
}

/// Reports, at the end of a run with failures, the names that a later run needs.
pub(crate) fn tell(run: &Run<'_>) {
    // Where links are followed, a file can have any number of further names.
    if !run.monitor.wants_known_names()
        || run.has_others()
        || run.policy.dereference != Dereference::Never
        || run.control.failures.load(Ordering::Relaxed) == 0
    {
        return;
    }
    run.links.for_each_with_missing_names(|name, copied| {
        let path = |leaf, side| CString::new(of_entry(&name.node, leaf, side)).unwrap_or_default();
        let source = path(&name.source, Side::Source);
        let target = path(&name.name, Side::Target);
        let target_state = copied.known_target.or_else(|| {
            let stat = statat(CWD, &target).ok()?;
            looks_like_a_copy(run, copied, &stat).then(|| FileState::of(&stat))
        });
        let Some(target_state) = target_state else { return };
        let (source_state, source_ctime) = (copied.source, copied.source_ctime);
        run.monitor.known_name(&KnownName {
            source,
            target,
            source_state,
            source_ctime,
            target_state,
        });
    });
}

/// Returns whether the file at the path of a copy can be that copy: another program, or another operand, may
/// have replaced or changed it.
fn looks_like_a_copy(run: &Run<'_>, copied: &Copied, target: &Stat) -> bool {
    let is_regular = copied.kind == Kind::Regular;
    target.kind() == copied.kind
        && (!is_regular || target.size == copied.source.size)
        && (!run.policy.preserve.times.wanted() || target.mtime == copied.source.mtime)
}
