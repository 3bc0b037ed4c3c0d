//! `cargo xtask lint`: rustfmt, clippy, the licences and known faults of dependencies, and the tidy checks.
//!
//! The stages are independent and all of them run, so that one run shows all findings.

use crate::command::{cargo, run, which};
use crate::error::{Context, Error, Result};
use crate::interrupt;
use crate::licence;
use crate::tally::Tally;
use crate::tidy;
use crate::workspace::Workspace;
use std::fs;
use std::process::{Command, ExitCode};

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let stages = match words[..] {
        [] => stages,
        ["--tidy"] => tidy_stage,
        _ => return Err(Error::new(format!("`lint` takes only --tidy, but got {words:?}"))),
    };
    interrupt::install()?;
    let mut tally = Tally::default();
    stages(&Workspace::find()?, &mut tally)?;
    Ok(if tally.failures().is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the stages that take seconds; each stage with findings counts as one failure in `tally`.
pub(crate) fn quick_stages(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    println!("lint: rustfmt");
    let found = run(&mut cargo(&["fmt", "--all", "--check"]));
    count("rustfmt", found, "`cargo fmt --all`; or `rustup component add rustfmt`", tally)?;

    println!("lint: licences");
    let hint = "replace the crate, or add its licence in xtask/src/licence.rs if it may be";
    count("licences", licence::check(workspace), hint, tally)?;
    tidy_stage(workspace, tally)
}

/// Runs all stages; each stage with findings counts as one failure in `tally`.
pub(crate) fn stages(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    quick_stages(workspace, tally)?;

    println!("lint: clippy");
    let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let found = run(&mut cargo(&clippy));
    count("clippy", found, "fix what it shows; or `rustup component add clippy`", tally)?;

    println!("lint: clippy without features");
    let clippy = [
        "clippy",
        "-p",
        "haul",
        "--no-default-features",
        "--lib",
        "--bins",
        "--tests",
        "--",
        "-D",
        "warnings",
    ];
    let found = run(&mut cargo(&clippy));
    count("features", found, "code that only a feature uses needs its `#[cfg]`", tally)?;

    println!("lint: oldest compiler");
    oldest_compiler(workspace, tally)?;

    println!("lint: advisories");
    if which("cargo-deny").is_some() {
        let found = run(&mut cargo(&["deny", "check", "advisories"]));
        count("advisories", found, "update the crate, or replace it", tally)?;
    } else {
        println!("ignored: advisories need `cargo install cargo-deny`, and a network");
    }
    Ok(())
}

/// Checks that the program is built by the compiler that `rust-version` promises.
fn oldest_compiler(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let manifest = workspace.root.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).context("read", manifest.display())?;
    let version = text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let version = version.unwrap_or_default().trim_matches('"');
    let install = ["toolchain", "install", version, "--profile", "minimal", "--no-self-update"];
    if run(Command::new("rustup").args(install)).is_err() {
        tally.ignore(&format!("oldest compiler: rustup cannot install Rust {version}"));
        return interrupt::check();
    }
    let mut check = Command::new("rustup");
    check.args(["run", version, "cargo", "check", "-p", "haul", "--locked"]);
    // Another compiler would build everything again in the folder of the usual one.
    check.env("CARGO_TARGET_DIR", workspace.target.join("oldest")).env_remove("RUSTFLAGS");
    for variable in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(variable);
    }
    let hint = "use what that release has, or raise `rust-version` in Cargo.toml and README.md";
    count("oldest compiler", run(&mut check), hint, tally)
}

fn tidy_stage(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    println!("lint: tidy");
    count("tidy", tidy(workspace), "each line above names a file and its breach", tally)
}

fn count(stage: &str, found: Result<()>, hint: &str, tally: &mut Tally) -> Result<()> {
    interrupt::check()?;
    if let Err(error) = found {
        tally.fail(&format!("lint: {stage}: {}", error.hint(hint)));
    }
    Ok(())
}

fn tidy(workspace: &Workspace) -> Result<()> {
    let tree = &tidy::Tree::load(workspace)?;
    let mut count = 0;
    std::thread::scope(|scope| -> Result<()> {
        let run =
            |check: &'static tidy::Check| (check.name, scope.spawn(move || (check.run)(tree)));
        for (name, findings) in tidy::CHECKS.iter().map(run).collect::<Vec<_>>() {
            // A check that panics has said why, and must not look like one that found nothing.
            let findings = findings.join().map_err(|_| Error::new(format!("{name} panicked")))?;
            count += findings.len();
            findings.iter().for_each(|finding| println!("{finding} [{name}]"));
        }
        Ok(())
    })?;
    match count {
        0 => Ok(()),
        count => Err(Error::new(format!("{count} findings"))),
    }
}
