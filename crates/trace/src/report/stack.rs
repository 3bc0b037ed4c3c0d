//! Time by kernel stack.

use serde::Serialize;

/// Time that threads of one command spent on one stack of kernel functions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StackTime {
    /// Name of the command, as `comm` of `/proc`.
    pub command: String,
    /// The system call that the threads were in; `None` in the program itself, or in a fault or an interrupt that
    /// came while it ran.
    pub call: Option<String>,
    /// The kernel's functions, the outermost first; empty while the program itself ran.
    pub functions: Vec<String>,
    /// Whether the threads had no processor: they slept, or others had it.
    pub waits: bool,
    /// Time in nanoseconds. While the threads run it is a sum of samples; while they wait it is exact.
    pub ns: u64,
}
