//! Names of files with several names: taken over from an earlier run, and reported for a later one.

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haul_sys::fs::{CWD, Kind, Stat, statat};

use super::links::{Copied, Made, Name};
use crate::copy::node::Node;
use crate::copy::node::{Side, of_entry};
use crate::copy::run::Run;
use crate::data::monitor::{Detail, Report};
use crate::data::request::Dereference;
use crate::names::known_names::{FileState, KnownName, SourceState};

/// Records the names of an earlier run. `root` is the node whose entries are paths.
pub(crate) fn take_over(run: &Run<'_>, root: &Arc<Node>, known: &[KnownName]) {
    for known in known.iter().filter(|known| known.still_holds(&run.file_systems)) {
        let name = Name {
            node: Arc::clone(root),
            name: known.target.clone(),
            source: known.source.clone(),
        };
        let source = SourceState { file: known.source_state, ctime: known.source_ctime };
        let copied = Copied { source, made: Made::Before(known.target_state) };
        run.links.take_over(copied, name);
    }
}

/// Reports, at the end of a run with failures, the names that a later run needs.
pub(crate) fn tell(run: &Run<'_>) {
    // Where links are followed, a file can have any number of further names.
    if !run.monitor.wants(Detail::KnownNames)
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
        let (Ok(source_stat), Ok(target_stat)) = (statat(CWD, &source), statat(CWD, &target))
        else {
            return;
        };
        let target_state = match copied.made {
            Made::Before(state) => state,
            Made::Now(kind) if looks_like_a_copy(run, (copied.source.file, kind), &target_stat) => {
                FileState::of(&target_stat)
            }
            Made::Now(_) => return,
        };
        let SourceState { file: source_state, ctime: source_ctime } = copied.source;
        let on = KnownName::file_systems(
            &run.file_systems,
            (&source, &source_stat),
            (&target, &target_stat),
        );
        // What changed meanwhile, or could not be recognised, is copied again by the later run.
        if let Some((source_on, target_on)) = on
            && SourceState::of(&source_stat) == copied.source
        {
            let known = KnownName {
                source,
                target,
                source_state,
                source_ctime,
                target_state,
                source_on,
                target_on,
            };
            run.monitor.report(Report::KnownName(&known));
        }
    });
}

/// Returns whether the file at the path of a copy can be that copy: another program, or another operand, may
/// have replaced or changed it.
fn looks_like_a_copy(run: &Run<'_>, (source, kind): (FileState, Kind), target: &Stat) -> bool {
    target.kind() == kind
        && (kind != Kind::Regular || target.size == source.size)
        && (!run.policy.preserve.times.wanted() || target.mtime == source.mtime)
}
