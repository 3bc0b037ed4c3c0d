//! Moves files and trees, also to another file system: `move_files SOURCE... TARGET`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use haul_engine::monitor::Report;
use haul_engine::relocate::{Control, Policy, Request, relocate};

/// Prints failures.
fn print(report: Report<'_>) {
    if let Report::Failed(failure) = report {
        eprintln!("{failure}");
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut sources: Vec<_> = std::env::args_os().skip(1).collect();
    let target = sources.pop().ok_or("two paths are needed")?;
    let request = Request::new(sources, target, Policy::new())?;
    let stop = AtomicBool::new(false);
    let counts = relocate(&request, &print, &Control::new(&stop));
    println!("{} renamed, {} copied", counts.renamed, counts.copied.entries());
    Ok(if counts.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
