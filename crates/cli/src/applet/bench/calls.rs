//! Counts the system calls of a tool for `haul bench`, by `haul-trace`.

use std::fs::File;
use std::sync::atomic::Ordering;

use haul_bench::{CallCounter, Calls, Command};
use haul_sys::process::{hear_stop, stop_signal};
use haul_trace::{Ending, Interrupt, Trace, TraceOptions};

/// How many calls are kept by name: the rest of a tool's calls is its start.
const FREQUENT: usize = 8;

/// Traces tools, by eBPF where that is allowed, else by ptrace: the counts are the same.
pub(super) struct Tracer {
    options: TraceOptions,
}

impl Tracer {
    pub(super) fn new() -> Tracer {
        let interrupt = Some(Interrupt::Signals(hear_stop()));
        Tracer { options: TraceOptions { interrupt, ..TraceOptions::default() } }
    }
}

impl CallCounter for Tracer {
    fn count(&mut self, command: &Command) -> Result<Calls, String> {
        let null = |writes: bool| {
            let file = File::options().read(!writes).write(writes).open("/dev/null");
            file.map_err(|error| error.to_string())
        };
        let traced = haul_trace::Command::new(command.program())
            .arguments(command.arguments())
            .stdin(null(false)?)
            .stdout(null(true)?)
            .stderr(null(true)?);
        let traced = Trace::run(&traced, &self.options);
        // The tracer takes the flag back once it has passed the signal on; the session ends too.
        if stop_signal().is_some() {
            hear_stop().store(true, Ordering::Relaxed);
        }
        let report = traced.map_err(|error| error.to_string())?;
        if report.ending != Ending::Exited(0) {
            return Err("the tool failed while it was traced".to_owned());
        }
        let total = report.total();
        let counts = total.calls.iter().map(|(name, tally)| (name.to_string(), tally.count));
        let mut frequent: Vec<(String, u64)> = counts.collect();
        frequent.sort_by(|(one, few), (other, many)| many.cmp(few).then(one.cmp(other)));
        frequent.truncate(FREQUENT);
        Ok(Calls { total: total.all_counts(), frequent })
    }
}
