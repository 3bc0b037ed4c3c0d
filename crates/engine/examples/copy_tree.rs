//! Copies a tree with all attributes, shows progress, and ends the copy after so many files:
//! `copy_tree SOURCE TARGET [FILES]`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints its output")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haul_engine::monitor::{Control, Report};
use haul_engine::request::{Policy, Request, TargetForm};

/// Prints failures.
fn print(report: Report<'_>) {
    if let Report::Failed(failure) = report {
        eprintln!("{failure}");
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [source, target, most @ ..] = &arguments[..] else {
        return Err("two paths are needed".into());
    };
    let most: u64 = match most.first() {
        Some(number) => number.to_string_lossy().parse()?,
        None => u64::MAX,
    };
    // The target is the new name, also if it is a directory.
    let request = Request::new([source], target, Policy::archive())?.form(TargetForm::Name);
    let stop = AtomicBool::new(false);
    let control = Control::new(&stop);
    let counts = std::thread::scope(|scope| {
        let copy = scope.spawn(|| haul_engine::copy(&request, &print, &control));
        while !copy.is_finished() {
            let counts = control.counts();
            eprint!("\r{} files, {} bytes", counts.files, counts.bytes);
            if counts.files >= most {
                stop.store(true, Ordering::Relaxed);
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        copy.join()
    });
    let counts = counts.map_err(|_| "the copy has a bug")?;
    println!("{} files, {} directories", counts.files, counts.directories);
    let is_complete = counts.failures == 0 && !stop.load(Ordering::Relaxed);
    Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
