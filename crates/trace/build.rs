//! Compiles the eBPF program if clang is installed; otherwise uses the checked-in object.
//!
//! Either way the object lands in `OUT_DIR`; `tests/object.rs` checks that the two are the same.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

const SOURCES: &[&str] = &[
    "trace.bpf.c",
    "kernel.h",
    "tally.h",
    "task.h",
    "shape.h",
    "files.h",
    "list.h",
    "ring.h",
    "stacks.h",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for source in SOURCES {
        println!("cargo::rerun-if-changed=bpf/{source}");
    }
    println!("cargo::rerun-if-changed=bpf/flags");
    println!("cargo::rerun-if-changed=bpf/trace.o");
    let object = Path::new(&env::var("OUT_DIR")?).join("trace.o");
    let flags = fs::read_to_string("bpf/flags")?;
    let compiled = Command::new("clang")
        .args(flags.split_whitespace())
        .args(["-c", "trace.bpf.c", "-o"])
        .arg(&object)
        .current_dir("bpf")
        .output();
    match compiled {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            // A clang without the BPF target must not fail the build.
            let reason = String::from_utf8_lossy(&output.stderr);
            let line = reason.lines().next().unwrap_or("no reason given");
            println!("cargo::warning=clang cannot compile the eBPF program ({line})");
            fs::copy("bpf/trace.o", &object)?;
        }
        Err(_) => {
            fs::copy("bpf/trace.o", &object)?;
        }
    }
    Ok(())
}
