//! Moving: a request in, counts out.

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use haul_sys::Errno;

use super::batch::Batch;
use super::monitor::{Control, Counts, Failure, Monitor, MoveFailure, What};
use super::request::Request;
use super::target::Target;
use crate::error::Severity;
use crate::request::TargetForm;
use crate::walk::node::Identity;

/// What all operands of a run share.
pub(super) struct Run<'r> {
    pub(super) request: &'r Request,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
}

impl Run<'_> {
    /// Reports what went wrong with an operand, once.
    pub(super) fn fail(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>) {
        Control::one(&self.control.failures);
        self.report(what, paths, (errno, Severity::Failure));
    }

    /// Tells what is odd about an operand.
    pub(super) fn warn(&self, what: What, paths: (&[u8], &[u8])) {
        Control::one(&self.control.warnings);
        self.report(what, paths, (None, Severity::Warning));
    }

    fn report(
        &self,
        what: What,
        (source, target): (&[u8], &[u8]),
        (errno, severity): (Option<Errno>, Severity),
    ) {
        self.monitor.failed(&Failure::Move(MoveFailure {
            what,
            source: source.to_vec(),
            target: target.to_vec(),
            errno,
            severity,
        }));
    }
}

/// The state of a run between its operands.
pub(super) struct Mover<'r> {
    pub(super) run: &'r Run<'r>,
    pub(super) batch: Batch<'r>,
    /// What was moved into the target directory, so that no second source replaces it.
    pub(super) made: HashSet<(CString, Identity)>,
    /// Directories that were to be moved into themselves, and where to.
    pub(super) into_themselves: HashSet<(CString, Identity)>,
    /// Whether what was moved has to be known.
    pub(super) remembers: bool,
}

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
