//! Moving: a request in, counts out.

use std::collections::HashSet;
use std::ffi::CStr;

use super::batch::Batch;
use super::monitor::{Control, Counts, Monitor};
use super::operand::Mover;
use super::request::Request;
use super::run::Run;
use super::target::Target;
use crate::request::TargetForm;

/// Moves what the request asks for, and returns what was done. Blocks until it is done or stopped;
/// failures reach the monitor as they happen.
///
/// Where a source is on another file system it is copied beside its place under a hidden name, the
/// file system is waited for, the copy gets its name, that is waited for, and then the source is
/// removed. The control must have been made for at least as many jobs as the request has.
pub fn relocate(request: &Request, monitor: &dyn Monitor, control: &Control<'_>) -> Counts {
    let run = Run { request, monitor, control };
    let (target, first) = match Target::resolve(request) {
        Ok(resolved) => resolved,
        Err((what, errno)) => {
            let source = request.sources.first().map(|source| source.to_bytes());
            run.fail(what, (source.unwrap_or_default(), request.target.to_bytes()), Some(errno));
            return control.counts();
        }
    };
    let is_directory = matches!(target, Target::Into(_)) && request.form != TargetForm::Name;
    let mut mover = Mover {
        run: &run,
        batch: Batch::new(&run),
        made: HashSet::new(),
        into_themselves: HashSet::new(),
        remembers: is_directory && request.sources.len() > 1,
    };
    let last = request.sources.len().saturating_sub(1);
    for (index, source) in request.sources.iter().enumerate() {
        if control.is_stopped() {
            break;
        }
        let source: &CStr = source;
        let place = target.place(source, request);
        mover.one(source, &place, (first, index == last));
    }
    mover.batch.finish();
    control.counts()
}
