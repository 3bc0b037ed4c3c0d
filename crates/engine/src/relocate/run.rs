//! State that all operands of a move share, and reports of their failures.

use std::ffi::{CStr, CString};

use haul_sys::Errno;
use haul_sys::fs::{CWD, Follow, Kind, statat};

use super::control::Control;
use super::request::Request;
use crate::data::error::{Failure, Operation, Severity, What};
use crate::data::monitor::{Monitor, Report};
use crate::data::selected::of_operands;
use crate::names::path::trimmed;

/// State that all operands of a run share.
pub(super) struct Run<'r> {
    pub(super) request: &'r Request,
    pub(super) monitor: &'r dyn Monitor,
    pub(super) control: &'r Control<'r>,
}

/// What becomes of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is renamed if that is possible.
    Rename,
    /// It is a directory from which not everything may be selected, so it is copied and removed.
    Copy,
    /// It is not selected, and stays.
    Stay,
}

impl Request {
    /// Returns a number that differs between selections; 0 if everything is selected.
    pub(super) fn selection_number(&self) -> u64 {
        self.policy.selection.as_ref().map_or(0, |selected| selected.0.fingerprint())
    }

    /// Returns what becomes of an operand, as far as its selection decides that.
    pub(super) fn way(&self, source: &CStr) -> Way {
        let Some(within) = of_operands(self.policy.selection.as_ref()) else { return Way::Rename };
        let choice = within.choose_operand(CWD, source, Follow::No);
        // Behind a slash a link is followed, and a rename refuses what it leads to.
        let path = match trimmed(source.to_bytes()) {
            b"" => source.to_owned(),
            path => CString::new(path).unwrap_or_default(),
        };
        let is_directory = || statat(CWD, &path).is_ok_and(|stat| stat.kind() == Kind::Directory);
        match choice {
            choice if choice.is_excluded() => Way::Stay,
            _ if is_directory() => Way::Copy,
            _ => Way::Rename,
        }
    }
}

impl Run<'_> {
    /// Reports a failure of an operand, once.
    pub(super) fn fail(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>) {
        Control::one(&self.control.failures);
        self.report(what, paths, errno, Severity::Failure);
    }

    /// Reports a failure of an operand of which nothing was moved: no name that is listed below it is missing.
    pub(super) fn fail_unmoved(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>) {
        if let Some(selected) = &self.request.policy.selection {
            selected.0.meet_all();
        }
        self.fail(what, paths, errno);
    }

    /// Reports a warning about an operand.
    pub(super) fn warn(&self, what: What, paths: (&[u8], &[u8])) {
        Control::one(&self.control.warnings);
        self.report(what, paths, None, Severity::Warning);
    }

    fn report(&self, what: What, paths: (&[u8], &[u8]), errno: Option<Errno>, severity: Severity) {
        let (source, target) = paths;
        let (source, target) = (source.to_vec(), target.to_vec());
        let operation = Operation::Move;
        let failure = Failure { operation, what, source, target, errno, severity };
        self.monitor.report(Report::Failed(&failure));
    }
}
