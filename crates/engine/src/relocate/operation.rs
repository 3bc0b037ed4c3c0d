//! Entry point of a move: takes a request, returns counts.

use std::collections::HashSet;
use std::ffi::CStr;

use super::batch::Batch;
use super::control::{Control, Counts};
use super::operand::{Mover, Operand};
use super::request::Request;
use super::run::Run;
use super::target::Target;
use crate::data;
use crate::data::monitor::Monitor;
use crate::data::request::TargetForm;
use crate::data::selected::missing;

/// Moves the operands of the request and returns the counts. Blocks until the move is complete or
/// stopped. The monitor receives each failure when it occurs.
///
/// If a source is on another file system, the run copies it to a hidden name beside its target and
/// waits for the file system. Then it renames the copy, waits until the name is stable, and
/// removes the source. The control must have been made for at least as many jobs as the request
/// has.
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
        mover.one(&Operand { source, place: &place, is_last: index == last }, first);
    }
    mover.batch.finish();
    if !control.is_stopped() {
        let selected = request.policy.selection.as_ref();
        for failure in missing(selected, (data::error::Operation::Move, &request.sources)) {
            run.fail(failure.what, (&failure.source, &[]), failure.errno);
        }
    }
    control.counts()
}
