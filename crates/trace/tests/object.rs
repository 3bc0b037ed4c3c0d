//! The checked-in eBPF object matches its source.

use std::path::Path;
use std::process::Command;

use crate::support::ignored;

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let output = Command::new(program).args(arguments).current_dir(directory).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then_some(text)
}

/// The instructions of every program, without the line that names the file.
fn disassembly(object: &str) -> Option<Vec<String>> {
    let text = output("llvm-objdump", &["-d", "-r", object])?;
    Some(text.lines().filter(|line| !line.contains("file format")).map(str::to_owned).collect())
}

#[test]
fn is_reproduced_by_the_recorded_compiler() {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let Some(version) = output("clang", &["--version"]) else {
        ignored("there is no clang");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let object = directory.path().join("trace.o");
    let flags = std::fs::read_to_string(bpf.join("flags")).unwrap();
    let mut arguments: Vec<&str> = flags.split_whitespace().collect();
    arguments.extend(["-c", "trace.bpf.c", "-o", object.to_str().unwrap()]);
    if output("clang", &arguments).is_none() {
        ignored("this clang does not compile for BPF");
        return;
    }
    let recorded = std::fs::read_to_string(bpf.join("trace.o.clang")).unwrap();
    if version.lines().next() == recorded.lines().next() {
        let same = std::fs::read(&object).unwrap() == std::fs::read(bpf.join("trace.o")).unwrap();
        assert!(same, "bpf/trace.o is out of date: bpf/README.md says how to make it");
        return;
    }
    let (Some(fresh), Some(checked_in)) =
        (disassembly(object.to_str().unwrap()), disassembly("trace.o"))
    else {
        ignored("clang differs from the recorded version, and there is no llvm-objdump");
        return;
    };
    assert!(fresh == checked_in, "bpf/trace.o differs, compiled by another clang than {recorded}");
}
