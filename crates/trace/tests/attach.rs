//! Observing a running process.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use haul_manifest::wait_until;
use haul_trace::{Ending, Interrupt, Trace, TraceError};

use crate::support::{BACKENDS, by, ignored, tracee};

/// Starts the program and waits until it waits itself: for a time, or for its input.
fn start(arguments: &[&str]) -> Option<Child> {
    let child = std::process::Command::new(tracee()?)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let name = format!("/proc/{}/syscall", child.id());
    let sleeps = format!("{} ", libc::SYS_clock_nanosleep);
    let reads = format!("{} 0x0 ", libc::SYS_read);
    wait_until("the program waits", || {
        let call = std::fs::read_to_string(&name).unwrap_or_default();
        call.starts_with(&sleeps) || call.starts_with(&reads)
    });
    Some(child)
}

/// Ends the wait of a program that waits for its input, and asserts that it goes on by itself.
fn let_go(mut child: Child) {
    assert!(child.try_wait().unwrap().is_none(), "it ended with the tracer");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn counts_what_it_does_from_then_on() {
    for backend in BACKENDS {
        let Some(mut child) = start(&["sleep", "1500"]) else { return };
        let report = Trace::attach(child.id(), &by(backend));
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
