//! `cargo xtask soak MINUTES [--seed N] [--binary HAUL] [--only CASE]`.

use super::beside::{self, Beside};
use super::case::{CASES, Case, Places};
use super::options::Options;
use super::play::{Found, Tools, play};
use super::stage::{Cell, Stage};
use crate::command::{cargo, run};
use crate::error::{Context, Error, Result};
use crate::fs::enter_private;
use crate::interrupt;
use crate::report::{Entry, Report};
use crate::workspace::Workspace;
use haul_manifest::Numbers;
use rustix::process::geteuid;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time between two lines that say how far the soak is.
const PROGRESS: Duration = Duration::from_secs(60);

/// A case of either kind.
#[derive(Clone, Copy)]
enum Kind {
    Script(&'static Case),
    Beside(&'static Beside),
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Script(case) => case.name,
            Self::Beside(case) => case.name,
        }
    }

    fn weight(self) -> u64 {
        match self {
            Self::Script(case) => case.weight,
            Self::Beside(case) => case.weight,
        }
    }
}

fn kinds() -> Vec<Kind> {
    CASES.iter().map(Kind::Script).chain(beside::CASES.iter().map(Kind::Beside)).collect()
}

/// What was done so far.
#[derive(Default)]
struct Done {
    rounds: u64,
    steps: u64,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let names: Vec<_> = kinds().into_iter().map(Kind::name).collect();
    let options = Options::parse(arguments, &names)?;
    if !geteuid().is_root() {
        return Err(Error::new("a soak mounts file systems, which only root may"));
    }
    interrupt::install()?;
    let workspace = Workspace::find()?;
    let tools = Tools { haul: haul_binary(&workspace, options.binary.as_ref())? };
    enter_private()?;
    let stage = Stage::up(&workspace)?;
    let mut report = Report::new(workspace.target.join("soak"));
    let mut done = Done::default();
    let played = soak(&options, &tools, &stage, &mut report, &mut done);
    println!("{} rounds, {} steps", done.rounds, done.steps);
    for line in report.summary() {
        println!("{line}");
    }
    stage.down()?;
    played?;
    Ok(if report.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the binary that the user names, or a fresh release build, by its absolute path.
pub(crate) fn haul_binary(workspace: &Workspace, named: Option<&PathBuf>) -> Result<PathBuf> {
    let path = match named {
        Some(path) => path.clone(),
        None => {
            run(&mut cargo(&["build", "--release", "-p", "haul"]))?;
            workspace.release_binary()
        }
    };
    path.canonicalize().context("find", path.display())
}

/// Returns a seed that is another one in each run.
pub(crate) fn seed_of_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Twelve digits are easily typed, and far enough apart.
    since.as_secs() % 1_000_000 * 1_000_000 + u64::from(since.subsec_micros())
}

fn soak(
    options: &Options,
    tools: &Tools,
    stage: &Stage,
    report: &mut Report,
    done: &mut Done,
) -> Result<()> {
    let first = options.seed.unwrap_or_else(seed_of_now);
    println!("soak: {} minutes from seed {first}", options.minutes);
    let begun = Instant::now();
    let end = begun + Duration::from_secs(options.minutes * 60);
    let mut said = begun;
    loop {
        round(first.wrapping_add(done.rounds), options, tools, stage, report, done)?;
        done.rounds += 1;
        interrupt::check()?;
        if Instant::now() >= end {
            return Ok(());
        }
        if said.elapsed() > PROGRESS {
            said = Instant::now();
            println!("soak: {} rounds, {} steps", done.rounds, done.steps);
        }
    }
}

fn round(
    seed: u64,
    options: &Options,
    tools: &Tools,
    stage: &Stage,
    report: &mut Report,
    done: &mut Done,
) -> Result<()> {
    let mut numbers = Numbers::new(seed);
    let kind = draw_kind(&mut numbers, options.only.as_deref());
    let places = Places::draw(&mut numbers);
    let found = match kind {
        Kind::Script(case) => {
            let script = (case.draw)(&mut numbers, &places);
            let played = play(case.name, &script, tools, stage);
            let (found, steps) = played.map_err(|error| error.hint(format!("seed {seed}")))?;
            done.steps += steps;
            found
        }
        Kind::Beside(case) => {
            done.steps += 1;
            beside::play(case, &mut numbers, &places, tools, stage)?
        }
    };
    if let Some(found) = found {
        add(report, kind.name(), seed, &found, stage)?;
    }
    stage.clear()
}

/// Draws a case by its weight, also if the user has named one, so that the rest of the round is the same.
fn draw_kind(numbers: &mut Numbers, only: Option<&str>) -> Kind {
    let kinds = kinds();
    let total = kinds.iter().map(|kind| kind.weight()).sum();
    let mut left = numbers.below(total);
    let named = kinds.iter().find(|kind| only == Some(kind.name()));
    let drawn = kinds.iter().find(|kind| {
        let is_it = left < kind.weight();
        left = left.saturating_sub(kind.weight());
        is_it
    });
    *named.or(drawn).unwrap_or(&kinds[0])
}

fn add(report: &mut Report, case: &str, seed: u64, found: &Found, stage: &Stage) -> Result<()> {
    for flaw in &found.flaws {
        let mut lines = vec![format!("cargo xtask soak 0 --seed {seed} --only {case}")];
        lines.extend(found.lines.iter().cloned());
        lines.extend(flaw.details.iter().cloned());
        if let Some(folder) = report.add(&Entry { case, seed, class: &flaw.class, lines })? {
            for cell in Cell::ALL {
                let archive = folder.join(format!("{}.tar.gz", cell.name()));
                if !archive.exists() {
                    report.keep(&stage.cell(cell), &archive)?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_named_one_or_drawn_by_weight() {
        let named = draw_kind(&mut Numbers::new(1), Some("tee"));
        assert_eq!(named.name(), "tee");
        let mut drawn: Vec<_> =
            (0..1000).map(|seed| draw_kind(&mut Numbers::new(seed), None).name()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), kinds().len());
    }

    #[test]
    fn a_named_case_leaves_the_same_numbers() {
        let (mut one, mut two) = (Numbers::new(5), Numbers::new(5));
        let drawn = draw_kind(&mut one, None).name();
        draw_kind(&mut two, Some(drawn));
        assert_eq!(one.next(), two.next());
    }
}
