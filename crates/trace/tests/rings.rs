//! io_uring operations are counted one by one, by opcode, regardless of the submitter.

use haul_trace::{Backend, Command, Ending};

use crate::support::{by, ignored, run, tracee};

fn counts_what_was_submitted(way: &str) {
    let Some(tracee) = tracee() else { return };
    let command = Command::new(tracee).arguments([way, "50"]);
    let Some(report) = run(&command, &by(Backend::Ebpf)) else { return };
    if report.ending == Ending::Exited(77) {
        ignored("io_uring is forbidden here");
        return;
    }
    assert_eq!(report.ending, Ending::Exited(0));
    assert_eq!(report.notices, Vec::<String>::new());
    let total = report.total();
    let count = |name| total.operation(name).map(|operation| operation.count);
    assert_eq!(count("nop"), Some(50));
    assert_eq!(count("write"), Some(50));
    assert_eq!(count("read"), Some(150));
    assert_eq!(total.operations.len(), 3);
    let read = total.operation("read").unwrap();
    assert_eq!(read.errors[&libc::EBADF], 50);
    assert_eq!(read.bytes, 50 * (4096 + 512));
    assert_eq!(read.sizes.total(), 100);
    assert_eq!(read.latencies.total(), 150);
    assert!(read.punted >= 50, "{}", read.punted);
    assert_eq!(total.operation("write").unwrap().bytes, 50 * 4096);
}

#[test]
fn submitted_by_the_program() {
    counts_what_was_submitted("ring");
}

#[test]
fn submitted_by_a_kernel_thread() {
    counts_what_was_submitted("sqpoll");
}
