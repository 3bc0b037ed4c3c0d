//! The exit status of a command is passed through, and every ending gives a report.

use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haul_manifest::wait_until;
use haul_trace::{Backend, Command, Ending, Interrupt, Trace, TraceError, Until};

use crate::support::{BACKENDS, by, observer, run, tracee};

fn shell(script: &str) -> Command {
    Command::new("sh").arguments(["-c", script])
}

#[test]
fn exit_status_and_signals_pass_through() {
    for backend in BACKENDS {
        for (script, ending, code) in [
            ("exit 3", Ending::Exited(3), 3),
            ("kill -INT $$", Ending::Signaled(2), 130),
            ("kill -KILL $$", Ending::Signaled(9), 137),
        ] {
            let Some(report) = run(&shell(script), &by(backend)) else { continue };
            assert_eq!(report.ending, ending);
            assert_eq!(report.ending.shell_code(), code);
        }
    }
}

#[test]
fn streams_pass_through() {
    for backend in BACKENDS {
        let mut input = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut input, b"through and through").unwrap();
        input.rewind().unwrap();
        let mut output = tempfile::tempfile().unwrap();
        let command = Command::new("cat").stdin(input).stdout(output.try_clone().unwrap());
        let Some(_report) = run(&command, &by(backend)) else { continue };
        let mut text = String::new();
        output.rewind().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through and through");
    }
}

#[test]
fn environment_and_directory_are_the_callers_choice() {
    let directory = tempfile::tempdir().unwrap();
    for backend in BACKENDS {
        let command = Command::new("/bin/sh")
            .arguments(["-c", "test \"$ONLY\" = this && test -z \"$HOME\" && pwd -P > here"])
            .environment([("ONLY".into(), "this".into())])
            .directory(directory.path());
        let Some(report) = run(&command, &by(backend)) else { continue };
        assert_eq!(report.ending, Ending::Exited(0));
        assert!(directory.path().join("here").exists());
    }
}

#[test]
fn a_command_that_is_none_is_an_error() {
    for backend in BACKENDS {
        for (program, errno) in [("/nonexistent/program", libc::ENOENT), ("/etc", libc::EACCES)] {
            match Trace::run(&Command::new(program), &by(backend)) {
                Err(TraceError::Spawn(error)) => {
                    assert_eq!(error.errno.raw_os_error(), errno);
                }
                Err(TraceError::Unavailable(reason)) => crate::support::ignored(&reason),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn what_a_command_leaves_behind_is_waited_for_or_not() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let mut options = by(backend);
        let command = Command::new(tracee).argument("daemon");
        let Some(report) = run(&command, &options) else { continue };
        assert_eq!(report.total().count("getppid"), 13, "{backend:?}");
        options.until = Until::CommandEnds;
        let Some(report) = run(&command, &options) else { continue };
        assert_eq!(report.total().count("getppid"), 0, "{backend:?}");
    }
}

/// Sets a flag when the shell whose number is in a file has ended; then ends what it has left, whose number is
/// there, too.
fn interrupt_after(mark: &Path, flag: &AtomicBool, trace_ended: &AtomicBool) {
    let numbers = || std::fs::read_to_string(mark).unwrap_or_default();
    let has_ended = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_none_or(|state| state.is_empty() || state.starts_with('Z'))
    };
    wait_until("the shell has ended", || {
        let is_there = numbers().split_once(' ').is_some_and(|(shell, _)| has_ended(shell));
        is_there || trace_ended.load(Ordering::Relaxed)
    });
    flag.store(true, Ordering::Relaxed);
    wait_until("the trace has ended", || trace_ended.load(Ordering::Relaxed));
    if let Some((_, left)) = numbers().trim().split_once(' ') {
        let killed = std::process::Command::new("kill").arg(left).status().unwrap();
        assert!(killed.success());
    }
}

#[test]
fn an_interrupt_ends_the_wait_for_what_was_left_behind() {
    for backend in BACKENDS {
        let flag = Arc::new(AtomicBool::new(false));
        let mut options = by(backend);
        options.interrupt = Some(Interrupt::Flag(Arc::clone(&flag)));
        let started = Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        let line =
            format!("sleep 600 & echo $$ $! >{0}.new; mv {0}.new {0}; exit 5", mark.display());
        let ended = Arc::new(AtomicBool::new(false));
        let interrupter = std::thread::spawn({
            let ended = Arc::clone(&ended);
            move || interrupt_after(&mark, &flag, &ended)
        });
        let report = run(&shell(&line), &options);
        ended.store(true, Ordering::Relaxed);
        interrupter.join().unwrap();
        let Some(report) = report else { continue };
        assert_eq!(report.ending, Ending::Exited(5));
        assert!(started.elapsed() < Duration::from_mins(5), "{backend:?}: it waited for the sleep");
    }
}

#[test]
fn a_long_wait_for_descendants_is_reported_once() {
    static NOTIFIED: AtomicUsize = AtomicUsize::new(0);
    for backend in BACKENDS {
        NOTIFIED.store(0, Ordering::Relaxed);
        let mut options = by(backend);
        options.on_wait = Some(|| {
            NOTIFIED.fetch_add(1, Ordering::Relaxed);
        });
        if run(&shell("sleep 0.2 & exit"), &options).is_none() {
            continue;
        }
        assert_eq!(NOTIFIED.load(Ordering::Relaxed), 0, "{backend:?}");
        run(&shell("sleep 1.5 & exit"), &options).unwrap();
        assert_eq!(NOTIFIED.load(Ordering::Relaxed), 1, "{backend:?}");
    }
}

#[test]
fn after_its_time_a_command_goes_on_untraced() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let mut options = by(backend);
        options.duration = Some(Duration::from_millis(200));
        let command = Command::new(tracee).arguments(["sleep", "600"]);
        let Some(report) = run(&command, &options) else { continue };
        assert_eq!(report.ending, Ending::Exited(0));
        assert_eq!(report.total().count("getppid"), 0);
        assert_eq!(report.total().count("execve"), 1);
        assert!(report.wall_ns >= 600_000_000);
        assert!(report.faults().minor > 0, "{backend:?}");
    }
}

#[test]
fn the_default_backend_always_gives_a_report() {
    let Some(report) = run(&Command::new("true"), &by(Backend::Auto)) else { return };
    assert_eq!(report.total().count("execve"), 1);
    let is_fallback = report.observer == observer(Backend::Ptrace);
    assert_eq!(is_fallback, report.notices.iter().any(|text| text.contains("eBPF cannot be used")));
}

#[test]
fn traces_run_side_by_side_without_seeing_each_other() {
    let Some(tracee) = tracee() else { return };
    for backend in BACKENDS {
        let counts: Vec<Option<u64>> = std::thread::scope(|scope| {
            let traces: Vec<_> = (1..=4)
                .map(|times: u32| {
                    scope.spawn(move || {
                        let times = (times * 100).to_string();
                        let command = Command::new(tracee).argument("calls").argument(times);
                        run(&command, &by(backend)).map(|report| report.total().count("getppid"))
                    })
                })
                .collect();
            traces.into_iter().map(|trace| trace.join().unwrap()).collect()
        });
        if counts.iter().all(Option::is_some) {
            assert_eq!(counts, [Some(100), Some(200), Some(300), Some(400)]);
        }
    }
}
