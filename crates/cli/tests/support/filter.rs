//! A seccomp filter, as container engines use: the kernel refuses some calls.
//!
//! A filter applies to a thread and the processes that it starts, like a fence.

use std::process::{Child, Command};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use super::fence::on_a_thread;

/// The refused calls and their errno.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// Numbers of system calls.
    pub(crate) calls: Vec<i64>,
    pub(crate) errno: i32,
}

impl Filter {
    /// Starts a program behind the filter.
    pub(crate) fn start(&self, command: &mut Command) -> Result<Child, String> {
        let program = self.program().map_err(|error| error.to_string())?;
        on_a_thread(|| {
            apply_filter(&program).map_err(|error| error.to_string())?;
            command.spawn().map_err(|error| error.to_string())
        })?
    }

    fn program(&self) -> Result<BpfProgram, seccompiler::BackendError> {
        let rules = self.calls.iter().map(|call| (*call, Vec::new())).collect();
        let refuse = SeccompAction::Errno(self.errno.unsigned_abs());
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            refuse,
            std::env::consts::ARCH.try_into()?,
        )?;
        filter.try_into()
    }
}
