//! Counts are those of `strace -f -c`, and sizes sum to the bytes.

use haul_trace::{Backend, Command, Grouping};

use crate::support::{BACKENDS, by, counts, observer, run, strace, tracee};

/// Compares both backends with strace.
fn agrees(way: &str, times: &str) {
    let Some(tracee) = tracee() else { return };
    let Some(expected) = strace(&[tracee.to_str().unwrap(), way, times]) else { return };
    for backend in BACKENDS {
        let command = Command::new(tracee).arguments([way, times]);
        let Some(report) = run(&command, &by(backend)) else { continue };
        assert_eq!(report.observer, observer(backend));
        assert_eq!(counts(&report), expected, "{way} {times} by {backend:?}");
    }
}

#[test]
fn of_one_process() {
    agrees("calls", "100");
}

#[test]
fn of_forks() {
    agrees("fork", "20");
}

#[test]
fn of_vforks_and_execs() {
    agrees("vfork", "5");
}

#[test]
fn of_a_thousand_threads() {
    agrees("threads", "1000");
}

#[test]
fn of_an_exec_by_another_thread_than_the_first() {
    agrees("exec", "1");
}

#[test]
fn of_signals_with_a_handler() {
    agrees("signals", "50");
}

#[test]
fn of_calls_that_a_signal_ends_with_the_process() {
    // SIGTERM and SIGKILL: strace sees the call end with the first, but not with the second.
    agrees("paused", "15");
    agrees("paused", "9");
}

#[test]
fn of_a_shell_script() {
    let script = "for i in 1 2 3; do /bin/echo $i; done | cat | wc -l; test -e /nonexistent; true";
    // The number of reads by `cat` depends on scheduling.
    let Some(mut expected) = strace(&["sh", "-c", script]) else { return };
    for backend in BACKENDS {
        let null = std::fs::File::create("/dev/null").unwrap();
        let command = Command::new("sh").arguments(["-c", script]).stdout(null);
        let Some(report) = run(&command, &by(backend)) else { continue };
        let mut found = counts(&report);
        for varying in ["read", "write", "wait4", "rt_sigreturn"] {
            expected.remove(varying);
            found.remove(varying);
        }
        assert_eq!(found, expected, "{backend:?}");
        assert_eq!(report.groups(Grouping::Command).len(), 4);
    }
}

#[test]
fn sizes_sum_to_the_bytes() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let command = Command::new(tracee).argument("sizes");
        let Some(report) = run(&command, &by(backend)) else { continue };
        let total = report.total();
        let write = total.call("write").unwrap();
        assert_eq!(write.bytes, (1 << 21) - 1);
        assert_eq!(write.sizes.total(), 21);
        let edges: Vec<u64> =
            write.sizes.buckets().filter(|bucket| bucket.count == 1).map(|b| b.from).collect();
        assert_eq!(edges, (0..=20).map(|power| 1_u64 << power).collect::<Vec<_>>());
        // The loader also reads the head of the C library; the last read fails.
        let read = total.call("read").unwrap();
        assert_eq!(read.bytes, (1 << 21) - 1 + 832);
        assert_eq!(read.errors[&libc::EBADF], 1);
        assert_eq!(read.latencies.total(), read.count);
        assert!(total.call("openat").unwrap().errors[&libc::ENOENT] >= 1);
        assert_eq!(total.call("exit_group").unwrap().unfinished, 1);
    }
}

#[test]
fn a_filter_leaves_everything_else_out() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let mut options = by(backend);
        options.filter = ["getppid".to_owned()].into();
        let command = Command::new(tracee).arguments(["fork", "3"]);
        let Some(report) = run(&command, &options) else { continue };
        assert_eq!(report.total().count("getppid"), 33);
        assert_eq!(report.total().calls.len(), 1);
        assert_eq!(report.groups(Grouping::Process).len(), 4);
    }
}

#[test]
fn page_faults_and_cpu_time_are_there() {
    let Some(tracee) = tracee() else { return };
    for backend in [Backend::Ebpf, Backend::Ptrace] {
        let command = Command::new(tracee).arguments(["fork", "3"]);
        let Some(report) = run(&command, &by(backend)) else { continue };
        assert!(report.faults().minor > 20, "{:?}", report.faults());
        assert!(report.units.iter().any(|unit| unit.cpu_ns > 0));
        assert!(report.wall_ns > 0);
    }
}
