//! No call is lost under high load.

use haul_trace::{Backend, Command};

use crate::support::{by, run, tracee};

#[test]
fn four_processes_at_full_speed() {
    let Some(tracee) = tracee() else { return };
    let command = Command::new(tracee).arguments(["load", "500000"]);
    let Some(report) = run(&command, &by(Backend::Ebpf)) else { return };
    assert_eq!(report.total().count("getppid"), 2_000_000);
    assert_eq!(report.notices, Vec::<String>::new());
}

#[test]
fn more_processes_than_the_tables_hold_at_once() {
    let Some(tracee) = tracee() else { return };
    // 3,000 processes of about 5 rows and 3,000 of about 30 are more than the 16,384 cells.
    let command = Command::new(tracee).arguments(["vfork", "3000"]);
    let Some(report) = run(&command, &by(Backend::Ebpf)) else { return };
    assert_eq!(report.total().count("getppid"), 21_000);
    assert_eq!(report.total().count("execve"), 3_001);
    assert_eq!(report.processes(), 3_001);
    assert_eq!(report.notices, Vec::<String>::new());
}
