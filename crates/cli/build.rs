//! Links the unwinder of GCC into the programs, in place of the shared library `libgcc_s`.
//!
//! The standard library asks for that library, so the loader opens, maps and relocates it at every start: ten calls
//! and seven page faults for functions that only a backtrace needs. `libgcc_eh.a`, which the C compiler brings, has the
//! same functions. A linker that has them already leaves the shared library out. Without the archive, or with a linker
//! that looks into archives in the order of its arguments, nothing changes.

use std::env;
use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CC");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST").ok() == env::var("TARGET").ok();
    if !is("CARGO_CFG_TARGET_ENV", "gnu") || !is_native {
        return;
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let answer = Command::new(compiler).arg(format!("-print-file-name={ARCHIVE}")).output();
    let path = answer.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    // A compiler that does not know the archive answers with its bare name.
    let Ok(path) = path else { return };
    if let Some(folder) = Path::new(&path).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
