//! Support for the tests: the traced program, the available backends, and strace.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use haul_trace::{Backend, Command, Observer, Report, Trace, TraceError, TraceOptions};

/// Reports that a test was ignored, and why.
#[expect(clippy::print_stderr, reason = "the test's output must show it")]
pub(crate) fn ignored(reason: &str) {
    eprintln!("ignored: {reason}");
}

/// Returns the compiled `programs/tracee.c`; `None` without a C compiler.
pub(crate) fn tracee() -> Option<&'static Path> {
    static TRACEE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let path = TRACEE.get_or_init(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tracee");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/tracee.c");
        // Tests are processes, and one of them may start the program while another one would write it.
        let lock = std::fs::File::create(path.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let written = |path: &Path| path.metadata().and_then(|told| told.modified()).ok();
        if written(&path) > written(&source) {
            return Some(path);
        }
        let status = std::process::Command::new("cc")
            .args(["-O1", "-pthread", "-o"])
            .arg(&path)
            .arg(source)
            .status();
        status.is_ok_and(|status| status.success()).then_some(path)
    });
    if path.is_none() {
        ignored("there is no C compiler");
    }
    path.as_deref()
}

/// Runs a command with a backend; reports and returns `None` if it cannot run here.
pub(crate) fn run(command: &Command, options: &TraceOptions) -> Option<Report> {
    match Trace::run(command, options) {
        Ok(report) => Some(report),
        Err(TraceError::Unavailable(reason)) => {
            ignored(&reason);
            None
        }
        Err(error) => panic!("{}: {error}", command.line()),
    }
}

/// Options for a backend.
pub(crate) fn by(backend: Backend) -> TraceOptions {
    TraceOptions { backend, ..TraceOptions::default() }
}

/// Both backends.
pub(crate) const BACKENDS: [Backend; 2] = [Backend::Ebpf, Backend::Ptrace];

/// The backend of a report.
pub(crate) fn observer(backend: Backend) -> Observer {
    if backend == Backend::Ptrace { Observer::Ptrace } else { Observer::Ebpf }
}

/// Count and failures of each call.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

/// The counts of a report, without calls that never returned.
pub(crate) fn counts(report: &Report) -> Counts {
    let total = report.total();
    let returned = total.calls.iter().filter(|(_, tally)| tally.count > 0);
    returned.map(|(name, tally)| (name.to_string(), (tally.count, tally.failed()))).collect()
}

/// What `strace -f -c` counts; `None` without strace.
pub(crate) fn strace(arguments: &[&str]) -> Option<Counts> {
    let output = tempfile::NamedTempFile::new().unwrap();
    let status = std::process::Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(output.path())
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if status.is_err() {
        ignored("there is no strace");
        return None;
    }
    let table = std::fs::read_to_string(output.path()).unwrap();
    // Columns: % time, seconds, usecs/call, calls, errors (or nothing), syscall.
    let rows = table.lines().filter(|line| !line.starts_with(['-', '%'])).filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let name = fields.last().filter(|name| **name != "total" && fields.len() >= 5)?;
        let errors = if fields.len() == 6 { fields[4].parse().ok()? } else { 0 };
        Some(((*name).to_owned(), (fields[3].parse().ok()?, errors)))
    });
    Some(rows.collect())
}
