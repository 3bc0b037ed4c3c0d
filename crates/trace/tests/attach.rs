//! Observing a running process.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_manifest::wait_until;
use haul_trace::{Ending, Interrupt, Report, Trace, TraceError, TraceOptions};

use crate::support::{BACKENDS, by, ignored, tracee};

/// Starts the program and waits until it waits for its input.
fn start(arguments: &[&str]) -> Option<Child> {
    let child = std::process::Command::new(tracee()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let name = format!("/proc/{}/syscall", child.id());
    let reads = format!("{} 0x0 ", libc::SYS_read);
    wait_until("the program waits", || {
        std::fs::read_to_string(&name).unwrap_or_default().starts_with(&reads)
    });
    Some(child)
}

/// Ends the wait of a program that waits for its input, and asserts that it goes on by itself.
fn let_go(mut child: Child) {
    assert!(child.try_wait().unwrap().is_none(), "it ended with the tracer");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// Observes a program that waits for its input, which ends when the program is observed: its tracer is known, or
/// this thread sleeps between two looks at it.
fn attach_and_let_go(child: &mut Child, options: &TraceOptions) -> Result<Report, TraceError> {
    let stdin = child.stdin.take();
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let own = std::path::Path::new("/proc").join(own).join("syscall");
    let status = format!("/proc/{}/status", child.id());
    let sleeps = format!("{} ", libc::SYS_clock_nanosleep);
    let has_returned = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap_or_default();
            wait_until("the program is observed", || {
                has_returned.load(Ordering::Relaxed)
                    || read(&own).starts_with(&sleeps)
                    || !read(status.as_ref()).contains("TracerPid:\t0\n")
            });
            drop(stdin);
        });
        let report = Trace::attach(child.id(), options);
        has_returned.store(true, Ordering::Relaxed);
        report
    })
}

#[test]
fn counts_what_it_does_from_then_on() {
    for backend in BACKENDS {
        let Some(mut child) = start(&["told"]) else { return };
        let report = attach_and_let_go(&mut child, &by(backend));
        // The tracer has reaped it by ptrace already: it is a child of the same process.
        let _reaped = child.wait();
        let report = match report {
            Ok(report) => report,
            Err(TraceError::Unavailable(reason)) => {
                ignored(&reason);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(report.ending, Ending::Unknown);
        assert_eq!(report.total().count("getppid"), 17, "{backend:?}");
        assert_eq!(report.total().call("exit_group").map(|tally| tally.unfinished), Some(1));
    }
}

#[test]
fn is_over_after_its_time_and_leaves_the_process_alone() {
    for backend in BACKENDS {
        let Some(child) = start(&["told"]) else { return };
        let mut options = by(backend);
        options.duration = Some(Duration::from_millis(200));
        let report = Trace::attach(child.id(), &options);
        let_go(child);
        match report {
            Ok(report) => assert_eq!(report.total().count("getppid"), 0),
            Err(TraceError::Unavailable(reason)) => ignored(&reason),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn an_interrupt_ends_it_and_leaves_the_process_alone() {
    for backend in BACKENDS {
        let Some(child) = start(&["told"]) else { return };
        let mut options = by(backend);
        options.interrupt = Some(Interrupt::Flag(Arc::new(AtomicBool::new(true))));
        let report = Trace::attach(child.id(), &options);
        let_go(child);
        match report {
            Ok(report) => assert_eq!(report.ending, Ending::Unknown),
            Err(TraceError::Unavailable(reason)) => ignored(&reason),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn waiting_without_children_is_an_error() {
    for backend in BACKENDS {
        // Above any pid_max.
        match Trace::attach(1 << 23, &by(backend)) {
            Err(TraceError::Attach(error)) => assert_eq!(error.errno.raw_os_error(), libc::ESRCH),
            Err(TraceError::Unavailable(reason)) => ignored(&reason),
            other => panic!("{other:?}"),
        }
    }
}
