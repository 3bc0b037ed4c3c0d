//! State that all operands of a move share, and reports of their failures.

use haul_sys::Errno;

use super::control::Control;
use super::request::Request;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::monitor::Monitor;

/// State that all operands of a run share.
pub(super) struct Run<'r> {
    pub(super) request: &'r Request,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
}

impl Run<'_> {
    /// Reports a failure of an operand, once.
    pub(super) fn fail(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>) {
        Control::one(&self.control.failures);
        self.report(what, paths, errno, Severity::Failure);
    }

    /// Reports a warning about an operand.
    pub(super) fn warn(&self, what: What, paths: (&[u8], &[u8])) {
        Control::one(&self.control.warnings);
        self.report(what, paths, None, Severity::Warning);
    }

    fn report(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>, severity: Severity) {
        let (source, target) = paths;
        self.monitor.failed(&Failure {
            operation: Operation::Move,
            what,
            source: source.to_vec(),
            target: target.to_vec(),
            errno,
            severity,
        });
    }
}
