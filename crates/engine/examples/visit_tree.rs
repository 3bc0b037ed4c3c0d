//! Prints the files of trees and their sizes: `visit_tree PATH...`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_engine::visit::{CallError, Visited, Visitor, visit};

#[derive(Default)]
struct Sizes {
    bytes: AtomicU64,
    failures: AtomicU64,
}

impl Visitor for Sizes {
    fn visit(&self, visited: &Visited<'_>) {
        match visited.stat() {
            Ok(stat) => {
                self.bytes.fetch_add(stat.size, Ordering::Relaxed);
                println!("{} {}", stat.size, String::from_utf8_lossy(&visited.path()));
            }
            Err(error) => self.failed(&visited.path(), error),
        }
    }

    fn failed(&self, path: &[u8], error: CallError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        eprintln!("{}: {error}", String::from_utf8_lossy(path));
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let sizes = Sizes::default();
    visit(std::env::args_os().skip(1), &sizes)?;
    println!("{} bytes in all", sizes.bytes.into_inner());
    Ok(if sizes.failures.into_inner() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
