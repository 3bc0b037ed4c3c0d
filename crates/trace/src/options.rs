//! What to observe, and for how long.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::calls::{
    CALL_ROWS, ROWS, call_name, call_number, operation_number, operation_shape, row_name, shape_of,
};
use crate::{Interrupt, TraceError};

/// Which backend observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// eBPF where the kernel lets us, else ptrace with a notice that says why.
    #[default]
    Auto,
    /// eBPF or an error.
    Ebpf,
    /// ptrace.
    Ptrace,
}

/// Whether calls are also told apart by file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// They are not, which is faster.
    #[default]
    Ignored,
    /// They are.
    Observed,
}

/// When the tracing of a command is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// When the command and all that it started have ended, or after an interrupt.
    #[default]
    LastEnds,
    /// When the command itself has ended; what it left behind runs on untraced.
    CommandEnds,
}

/// What to observe, and for how long.
///
/// How to add the figures up ([`crate::Grouping`]) is asked of the report, not here: the finest
/// grain is always recorded.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// The system calls to observe, and io_uring operations as `io_uring:NAME`; empty for all.
    pub filter: BTreeSet<String>,
    /// Whether to tell files apart.
    pub files: Files,
    /// Which backend to use.
    pub backend: Backend,
    /// When the tracing of a command is over.
    pub until: Until,
    /// The longest time to observe. A command that runs longer goes on untraced, and is waited for.
    pub duration: Option<Duration>,
    /// How the caller says that it was asked to stop.
    pub interrupt: Option<Interrupt>,
    /// Called once, by the caller's own thread, when what a command left behind has been waited
    /// for during a second: somebody may wonder.
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
