//! The notice that the tracer waits for the descendants of a command, and how times are counted.

use std::time::{Duration, Instant};

use crate::TraceOptions;

/// How long to wait for a command's descendants before reporting the wait: most end within
/// milliseconds, and after a second the user needs an explanation.
const SILENT_WAIT: Duration = Duration::from_secs(1);

/// The wait for a command's descendants, which is reported to the caller once.
pub(crate) struct WaitNotice {
    began: Instant,
    on_wait: Option<fn()>,
}

impl WaitNotice {
    /// Starts the wait.
    pub(crate) fn new(options: &TraceOptions) -> WaitNotice {
        WaitNotice { began: Instant::now(), on_wait: options.on_wait }
    }

    /// Reports the wait to the caller, if it is due.
    pub(crate) fn report_if_due(&mut self) {
        if self.began.elapsed() >= SILENT_WAIT
            && let Some(notify) = self.on_wait.take()
        {
            notify();
        }
    }
}

/// Returns a duration in nanoseconds; saturates at 584 years.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
