//! Removes trees: `remove_tree PATH...`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use haul_engine::monitor::{Control, Report};
use haul_engine::remove::{Policy, Request, remove};
use haul_engine::request::Recursion;

/// Prints failures.
fn print(report: Report<'_>) {
    if let Report::Failed(failure) = report {
        eprintln!("{failure}");
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let policy = Policy::new().recursion(Recursion::Yes);
    let request = Request::new(std::env::args_os().skip(1), policy)?;
    let stop = AtomicBool::new(false);
    let counts = remove(&request, &print, &Control::new(&stop));
    println!("{} entries", counts.entries());
    Ok(if counts.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
