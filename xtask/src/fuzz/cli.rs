//! `cargo xtask fuzz MINUTES [--seed N] [--binary HAUL] [--only TARGET]`.

use super::archive;
use super::corpus::{self, Seed};
use super::lab::Lab;
use super::state;
use super::stream::{FORMATS, Format};
use crate::error::{Context, Error, Result};
use crate::flaw::Flaw;
use crate::interrupt;
use crate::report::{Entry, Report};
use crate::soak::{Options, haul_binary, seed_of_now};
use crate::workspace::Workspace;
use haul_manifest::Numbers;
use rustix::process::geteuid;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Time between two lines that say how far the run is.
const PROGRESS: Duration = Duration::from_secs(60);

/// What is fuzzed.
#[derive(Clone, Copy)]
enum Target {
    Archive,
    Stream(&'static Format),
    Journal,
    Index,
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Archive => archive::NAME,
            Self::Stream(format) => format.name,
            Self::Journal => "journal",
            Self::Index => "index",
        }
    }

    fn corpus(self, lab: &Lab) -> Result<Vec<Seed>> {
        match self {
            Self::Archive => corpus::archives(lab),
            Self::Stream(format) => format.corpus(lab),
            Self::Journal => Ok(Vec::new()),
            Self::Index => state::indexed(lab),
        }
    }

    /// Makes one attempt: the changed input, what it was made of, and what is wrong.
    fn attempt(
        self,
        numbers: &mut Numbers,
        corpus: &[Seed],
        lab: &Lab,
    ) -> Result<(Vec<u8>, String, Vec<Flaw>)> {
        match self {
            Self::Archive => archive::attempt(numbers, corpus, lab),
            Self::Stream(format) => format.attempt(numbers, corpus, lab),
            Self::Journal => state::journal(numbers, lab),
            Self::Index => state::index(numbers, corpus, lab),
        }
    }
}

/// The targets; archives twice, because they have the most to say.
fn targets() -> Vec<Target> {
    let mut targets = vec![Target::Archive, Target::Archive];
    targets.extend(FORMATS.iter().map(Target::Stream));
    targets.extend([Target::Journal, Target::Index]);
    targets
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let names: Vec<_> = targets().into_iter().map(Target::name).collect();
    let options = Options::parse(arguments, &names)?;
    if !geteuid().is_root() {
        return Err(Error::new("the fuzzers mount a folder in memory, which only root may"));
    }
    interrupt::install()?;
    let workspace = Workspace::find()?;
    let haul = haul_binary(&workspace, options.binary.as_ref())?;
    let kept = workspace.target.join("fuzz");
    let lab = Lab::up(haul, workspace.target.join("fuzz-lab"), &kept)?;
    let mut report = Report::new(kept);
    let mut attempts = 0;
    let ended = fuzz(&options, &lab, &mut report, &mut attempts);
    println!("{attempts} attempts");
    for line in report.summary() {
        println!("{line}");
    }
    ended?;
    Ok(if report.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn fuzz(options: &Options, lab: &Lab, report: &mut Report, attempts: &mut u64) -> Result<()> {
    let first = options.seed.unwrap_or_else(seed_of_now);
    println!("fuzz: {} minutes from seed {first}", options.minutes);
    let chosen = |target: &Target| options.only.as_deref().is_none_or(|only| only == target.name());
    let mut prepared = Vec::new();
    for target in targets().into_iter().filter(chosen) {
        prepared.push((target, target.corpus(lab)?));
    }
    let end = Instant::now() + Duration::from_secs(options.minutes * 60);
    let mut said = Instant::now();
    loop {
        let seed = first.wrapping_add(*attempts);
        let mut numbers = Numbers::new(seed);
        // Drawn in any case, so that a named target gets the same numbers.
        let draw = numbers.next();
        let (target, corpus) = &prepared[(draw % prepared.len() as u64) as usize];
        let (input, made_of, flaws) = target.attempt(&mut numbers, corpus, lab)?;
        *attempts += 1;
        for flaw in flaws {
            add(report, target.name(), seed, (&input, &made_of), &flaw)?;
        }
        interrupt::check()?;
        if Instant::now() >= end {
            return Ok(());
        }
        if said.elapsed() > PROGRESS {
            said = Instant::now();
            println!("fuzz: {attempts} attempts");
        }
    }
}

fn add(
    report: &mut Report,
    target: &str,
    seed: u64,
    (input, made_of): (&[u8], &str),
    flaw: &Flaw,
) -> Result<()> {
    let mut lines = vec![
        format!("cargo xtask fuzz 0 --seed {seed} --only {target}"),
        format!("{} bytes, changed from: {made_of}", input.len()),
    ];
    lines.extend(flaw.details.iter().cloned());
    if let Some(folder) = report.add(&Entry { case: target, seed, class: &flaw.class, lines })? {
        let path = folder.join("input");
        fs::write(&path, input).context("write", path.display())?;
    }
    Ok(())
}
