//! Time by kernel stack.

use haul_trace::render::folded;
use haul_trace::{Backend, Command, StackTime, Stacks, Trace, TraceError, TraceOptions};

use crate::support::{by, run};

fn observed(command: &Command) -> Option<Vec<StackTime>> {
    let options = TraceOptions { stacks: Stacks::Observed, ..by(Backend::Ebpf) };
    let report = run(command, &options)?;
    assert!(report.notices.iter().all(|notice| !notice.contains("stack")), "{:?}", report.notices);
    assert!(folded(&report).lines().count() <= report.stacks.len());
    Some(report.stacks)
}

fn sum<'a>(stacks: impl Iterator<Item = &'a StackTime>) -> u64 {
    stacks.map(|stack| stack.ns).sum()
}

#[test]
fn a_wait_is_timed_where_it_is() {
    let Some(stacks) = observed(&Command::new("sleep").argument("0.2")) else { return };
    let is_sleep = |stack: &&StackTime| {
        stack.waits
            && stack.command == "sleep"
            && stack.call.as_deref().is_some_and(|call| call.ends_with("nanosleep"))
            && stack.functions.iter().any(|function| function.contains("nanosleep"))
    };
    let slept = sum(stacks.iter().filter(is_sleep));
    // The command sleeps for 200 ms, and a busy machine lets it wait longer for a processor.
    assert!(slept >= 199_000_000, "{stacks:?}");
}

#[test]
fn a_call_that_works_is_sampled_where_it_works() {
    let dd = ["if=/dev/zero", "of=/dev/null", "bs=1M", "count=20000", "status=none"];
    let Some(stacks) = observed(&Command::new("dd").arguments(dd)) else { return };
    let works = |call: &'static str| {
        let is_call = move |stack: &&StackTime| !stack.waits && stack.call.as_deref() == Some(call);
        sum(stacks.iter().filter(is_call))
    };
    let all = sum(stacks.iter().filter(|stack| !stack.waits));
    // Nearly all of the work is to fill the buffer.
    assert!(works("read") > all / 2, "{stacks:?}");
    assert!(works("read") > works("write"), "{stacks:?}");
    let reads = stacks.iter().filter(|stack| stack.call.as_deref() == Some("read"));
    assert!(
        reads.flat_map(|stack| &stack.functions).any(|function| function.contains("read_zero"))
    );
}

#[test]
fn a_wait_that_has_not_ended_counts() {
    // It sleeps when the time is over.
    let duration = Some(std::time::Duration::from_millis(300));
    let options = TraceOptions { stacks: Stacks::Observed, duration, ..by(Backend::Ebpf) };
    let Some(report) = run(&Command::new("sleep").argument("1"), &options) else { return };
    let waits = report.stacks.iter().filter(|stack| stack.waits && stack.call.is_some());
    assert!(sum(waits) >= 100_000_000, "{:?}", report.stacks);
}

#[test]
fn ptrace_records_no_stacks_and_says_so() {
    let options = TraceOptions { stacks: Stacks::Observed, ..by(Backend::Ptrace) };
    let refused = Trace::run(&Command::new("true"), &options);
    assert!(matches!(refused, Err(TraceError::Unavailable(_))), "{refused:?}");
}
