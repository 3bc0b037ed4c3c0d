//! Options of a trace.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::calls::{
    CALL_ROWS, ROWS, call_name, call_number, operation_number, operation_shape, row_name, shape_of,
};
use crate::{CallList, Interrupt, TraceError};

/// The backend of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// eBPF if the kernel permits it, otherwise ptrace with a notice of the reason.
    #[default]
    Auto,
    /// eBPF or an error.
    Ebpf,
    /// ptrace.
    Ptrace,
}

/// Whether calls are also recorded by file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// Not by file, which is faster.
    #[default]
    Ignored,
    /// By file.
    Observed,
}

/// Whether the time of kernel functions is recorded by stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// Not recorded.
    #[default]
    Ignored,
    /// Recorded, by eBPF: a timer looks at each processor 2,000 times in a second, and each wait is timed.
    Observed,
}

/// When the tracing of a command ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// When the command and all its descendants have ended, or after an interrupt.
    #[default]
    LastEnds,
    /// When the command itself has ended; its descendants continue untraced.
    CommandEnds,
}

/// Options of a trace.
///
/// The report decides how to aggregate the figures ([`crate::Grouping`]): the finest grain is
/// always recorded.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The system calls to observe, and io_uring operations as `io_uring:NAME`; empty for all.
    pub filter: BTreeSet<String>,
    /// Whether to record figures by file.
    pub files: Files,
    /// Receives each call by itself, besides the figures. Costs more, and eBPF may lose calls of a program that makes
    /// more than some 100,000 in a second; a notice tells how many.
    pub list: Option<CallList>,
    /// Whether to record the time of kernel functions. Only eBPF can: there is no report without it.
    pub stacks: Stacks,
    /// Which backend to use.
    pub backend: Backend,
    /// When the tracing of a command ends.
    pub until: Until,
    /// The longest time to observe. A command that runs longer continues untraced, and the tracer
    /// waits for it.
    pub duration: Option<Duration>,
    /// How the caller requests an interruption.
    pub interrupt: Option<Interrupt>,
    /// Called once, on the caller's thread, when the tracer has waited for a command's descendants
    /// for a second, so that the caller can explain the wait.
    pub on_wait: Option<fn()>,
}

impl TraceOptions {
    /// Returns the packed shape of each row, with the bit for "wanted".
    pub(crate) fn shapes(&self) -> Result<Box<[u32; ROWS]>, TraceError> {
        let mut shapes = Box::new([0; ROWS]);
        let all = u32::from(self.filter.is_empty());
        for (row, packed) in shapes.iter_mut().enumerate() {
            let shape = match call_name(row) {
                Some(name) if row < CALL_ROWS => shape_of(name),
                _ if row < CALL_ROWS => shape_of(""),
                _ => operation_shape(&row_name(row)),
            };
            *packed = shape.packed() | all;
        }
        for name in &self.filter {
            let row = match name.strip_prefix("io_uring:") {
                Some(operation) => operation_number(operation).map(|opcode| CALL_ROWS + opcode),
                None => call_number(name),
            };
            let slot = row.and_then(|row| shapes.get_mut(row));
            *slot.ok_or_else(|| TraceError::UnknownCall(name.clone()))? |= 1;
        }
        Ok(shapes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_wants_what_it_names_and_refuses_what_is_none() {
        let mut options = TraceOptions::default();
        assert!(options.shapes().unwrap().iter().all(|shape| shape & 1 == 1));
        options.filter = ["read".into(), "io_uring:read".into()].into();
        let shapes = options.shapes().unwrap();
        assert_eq!(shapes.iter().filter(|shape| *shape & 1 == 1).count(), 2);
        assert_eq!(shapes[CALL_ROWS + 22] & 1, 1);
        options.filter = ["raed".into()].into();
        assert_eq!(options.shapes().err(), Some(TraceError::UnknownCall("raed".into())));
    }
}
