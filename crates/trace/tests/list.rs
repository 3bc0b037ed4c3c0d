//! Each call by itself.

use std::sync::{Arc, Mutex};

use haul_trace::{Backend, CallEnd, CallList, Command, ListedCall, Report, TraceOptions};

use crate::support::{BACKENDS, by, run};

/// Runs a command with a list of its calls; `None` if the backend cannot run here.
fn list(command: &Command, options: TraceOptions) -> Option<(Report, Vec<ListedCall>)> {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&calls);
    let list = CallList::new(move |call: &ListedCall| kept.lock().unwrap().push(call.clone()));
    let report = run(command, &TraceOptions { list: Some(list), ..options })?;
    let calls = std::mem::take(&mut *calls.lock().unwrap());
    Some((report, calls))
}

#[test]
fn has_every_call_once_and_in_order() {
    for backend in BACKENDS {
        let command = Command::new("sh").arguments(["-c", "true; cat /dev/null; exit 3"]);
        let Some((report, calls)) = list(&command, by(backend)) else { continue };
        let total = report.total();
        for (name, tally) in &total.calls {
            let listed = calls.iter().filter(|call| call.name == *name);
            let (returned, unfinished): (Vec<_>, Vec<_>) =
                listed.partition(|call| call.end != CallEnd::Unfinished);
            assert_eq!(returned.len() as u64, tally.count, "{backend:?} {name}");
            assert_eq!(unfinished.len() as u64, tally.unfinished, "{backend:?} {name}");
            let failed = returned.iter().filter(|call| matches!(call.end, CallEnd::Failed(_)));
            assert_eq!(failed.count() as u64, tally.failed(), "{backend:?} {name}");
        }
        assert_eq!(calls.first().map(|call| call.name.as_ref()), Some("execve"));
        assert_eq!(calls.last().map(|call| call.name.as_ref()), Some("exit_group"));
        assert_eq!(calls.last().map(|call| call.arguments[0]), Some(3));
        for process in calls.chunk_by(|one, next| one.tid == next.tid) {
            assert!(process.is_sorted_by_key(|call| call.start_ns), "{backend:?}");
        }
    }
}

#[test]
fn names_files_by_descriptor_and_both_paths() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::write(root.join("source"), [7; 3000]).unwrap();
    let script = "cat source > target; mv target renamed; cat missing 2>/dev/null";
    for backend in BACKENDS {
        let command = Command::new("sh").arguments(["-c", script]).directory(&root);
        let Some((_, calls)) = list(&command, by(backend)) else { continue };
        let path = |name: &str| Some(root.join(name).to_string_lossy().into_owned());
        let about = |name: &str| {
            let path = path(name);
            calls.iter().filter(move |call| call.file == path)
        };
        let opened = about("source").find(|call| call.name == "openat").unwrap();
        let CallEnd::Returned(fd) = opened.end else { panic!("{opened:?}") };
        let closed = about("source").find(|call| call.name == "close").unwrap();
        assert_eq!(closed.arguments[0], fd.cast_unsigned(), "{backend:?}");
        let missing = about("missing").find(|call| call.name == "openat").unwrap();
        assert_eq!(missing.end, CallEnd::Failed(libc::ENOENT));
        let renamed = calls.iter().find(|call| call.name.starts_with("rename")).unwrap();
        let second = renamed.second_path.as_deref().unwrap_or_default();
        assert!(second.ends_with("renamed"), "{renamed:?}");
        let executed = calls.first().and_then(|call| call.second_path.clone());
        assert!(executed.as_deref().is_some_and(|path| path.ends_with("sh")), "{executed:?}");
    }
}

#[test]
fn leaves_out_what_the_filter_does() {
    for backend in BACKENDS {
        let mut options = by(backend);
        options.filter = ["close".to_owned()].into();
        let Some((report, calls)) = list(&Command::new("true"), options) else { continue };
        assert!(calls.iter().all(|call| call.name == "close"), "{calls:?}");
        assert_eq!(calls.len() as u64, report.total().count("close"));
        // Files are named in the list, and figures of each file are another option.
        assert_eq!(report.files, []);
    }
}

#[test]
fn processor_time_is_without_the_time_that_a_call_sleeps() {
    let command = Command::new("sleep").argument("0.2");
    let Some((report, calls)) = list(&command, by(Backend::Ebpf)) else { return };
    let slept = calls.iter().find(|call| call.name.ends_with("nanosleep")).unwrap();
    let (elapsed, cpu) = (slept.elapsed_ns, slept.cpu_ns.unwrap());
    assert!(elapsed >= 200_000_000 && cpu < elapsed / 2, "{slept:?}");
    let total = report.total();
    let tally = total.call(&slept.name).unwrap();
    // The total is made a moment after the call of the list.
    assert_eq!(tally.count, 1);
    assert!(tally.cpu_ns.is_some_and(|all| all >= cpu && all < elapsed / 2), "{tally:?}");
    // A call that only copies memory has a processor while it runs, but for what others take of it.
    let dd = ["if=/dev/zero", "of=/dev/null", "bs=1M", "count=200", "status=none"];
    let Some((report, _)) = list(&Command::new("dd").arguments(dd), by(Backend::Ebpf)) else {
        return;
    };
    let cpu: u64 = report.total().calls.values().filter_map(|tally| tally.cpu_ns).sum();
    let threads: u64 = report.units.iter().map(|unit| unit.cpu_ns).sum();
    let read = report.total().call("read").cloned().unwrap_or_default();
    assert!(read.cpu_ns.is_some_and(|cpu| cpu > 0 && cpu <= read.total_ns), "{read:?}");
    // The kernel accounts a thread's time from switch to switch, as this does, but takes off that of interrupts.
    assert!(cpu as f64 <= threads as f64 * 1.2 + 5e6, "{cpu} of {threads}");
}

#[test]
fn a_user_without_privileges_is_told_that_processor_time_is_unknown() {
    let Some((report, calls)) = list(&Command::new("true"), by(Backend::Ptrace)) else { return };
    assert!(calls.iter().all(|call| call.cpu_ns.is_none()));
    assert!(report.total().calls.values().all(|tally| tally.cpu_ns.is_none()));
    assert!(report.notices.iter().any(|notice| notice.contains("processor time")));
}
