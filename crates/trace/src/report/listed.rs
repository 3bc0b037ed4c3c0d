//! One call of a list.

use std::fmt;
use std::sync::Arc;

use crate::calls::Name;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    /// It returned this value.
    Returned(i64),
    /// It failed with this errno.
    Failed(i32),
    /// It never returned: `exit_group`, or a call of a killed thread.
    Unfinished,
}

/// One call, as the list of calls has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCall {
    /// The process.
    pub pid: u32,
    /// The thread; the process's own number for its first one.
    pub tid: u32,
    /// Nanoseconds from the beginning of the first listed call to that of this one.
    pub start_ns: u64,
    /// The name of the call.
    pub name: Name,
    /// The registers with the arguments; a call may read fewer than six.
    pub arguments: [u64; 6],
    /// The path of the file that the call is about: of a descriptor, of a path argument, or of what it opened.
    pub file: Option<String>,
    /// The path of its second descriptor.
    pub second_file: Option<String>,
    /// The second path argument, as it was given.
    pub second_path: Option<String>,
    /// How it ended.
    pub end: CallEnd,
    /// Nanoseconds until it ended.
    pub elapsed_ns: u64,
    /// Nanoseconds of these in which the thread had a processor, if that is observed.
    pub cpu_ns: Option<u64>,
}

/// The caller's function that receives each call when it has ended, in that order. It is called on a thread that
/// delays the observation while it runs.
#[derive(Clone)]
pub struct CallList(Arc<dyn Fn(&ListedCall) + Send + Sync>);

impl CallList {
    /// Returns a list that a function receives.
    pub fn new(receive: impl Fn(&ListedCall) + Send + Sync + 'static) -> CallList {
        CallList(Arc::new(receive))
    }

    /// Passes a call on.
    pub(crate) fn receive(&self, call: &ListedCall) {
        (self.0)(call);
    }
}

impl fmt::Debug for CallList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CallList")
    }
}
