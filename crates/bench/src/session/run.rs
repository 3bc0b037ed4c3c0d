//! The session: runs one case after the other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::calls::CallCounter;
use super::environment::Environment;
use super::live::LiveRunner;
use super::monitor::{Event, Monitor};
use super::options::{BenchOptions, CaseSpec, Conditions, TimeLimit};
use super::results::{Case, FORMAT, Overhead, Results};
use super::runner::Runner as _;
use super::schedule::{Plan, estimate_case, run_case};
use crate::error::{Error, Result};
use crate::measure::{Bystander, HotFile, Limits, Watch, execute};
use crate::stats::median;
use crate::tool::Template;
use crate::workspace::{
    Backing, DirectoryWorkspace, FileSystem, GroundSpec, ImageWorkspace, RAM, Scratch,
    TmpfsWorkspace, Workspace, hide_mounts, sweep,
};

/// Memory of a cached inode and its name, with the cached blocks of their tables.
const ENTRY_MEMORY_BYTES: u64 = 2 << 10;

/// Number of runs of `true` that measure the overhead of a run.
const OVERHEAD_RUNS: usize = 21;

/// Services that the caller provides to a session.
pub struct Services<'a> {
    /// Receives events.
    pub monitor: &'a mut dyn Monitor,
    /// When it is set, the session ends the current command, cleans up and returns partial results.
    pub interrupt: &'a AtomicBool,
    /// Counts system calls, if available.
    pub counter: Option<&'a mut dyn CallCounter>,
}

/// Measures all cases of the options. Removes the files that it created, on every exit path but a
/// kill; the next session removes those of a killed one.
///
/// An error within one case is stored in [`Case::trouble`], and the next case continues.
///
/// # Errors
///
/// The session could not start, or a file that it created could not be removed.
pub fn run(options: &BenchOptions, services: &mut Services<'_>) -> Result<Results> {
    in_session(options, services, with_scratch)
}

/// Number of runs of a case that make one more run for an estimate worth it: it costs a twentieth.
const WORTH_AN_ESTIMATE: usize = 20;

/// Finds out how long a session takes, by a run of the first tool of each case, and reports it. Reports
/// nothing of a short session, or if a case cannot be tried; [`run`] tells why. A strict limit is an estimate,
/// too.
///
/// # Errors
///
/// As [`run`].
pub fn estimate(options: &BenchOptions, services: &mut Services<'_>) -> Result<()> {
    let rounds = options.rounds.warm_up.saturating_add(options.rounds.counted) as usize;
    let runs: usize = options.cases.iter().map(|case| case.tools.len() * rounds).sum();
    if matches!(options.limit, TimeLimit::Strict(_))
        || runs < WORTH_AN_ESTIMATE * options.cases.len()
    {
        return Ok(());
    }
    in_session(options, services, |options, services, scratch| {
        services.monitor.event(Event::Estimating);
        let others = Others::new(options, scratch)?;
        if let Some(time) = try_cases(options, &others, services) {
            services.monitor.event(Event::Estimated(time));
        }
        Ok(())
    })
}

fn in_session<T: Send>(
    options: &BenchOptions,
    services: &mut Services<'_>,
    act: impl FnOnce(&BenchOptions, &mut Services<'_>, &mut Scratch) -> Result<T> + Send,
) -> Result<T> {
    // It needs its own thread, because a mount namespace belongs to a thread.
    let on_thread = || on_thread(options, services, act);
    let joined = std::thread::scope(|scope| scope.spawn(on_thread).join());
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn on_thread<T>(
    options: &BenchOptions,
    services: &mut Services<'_>,
    act: impl FnOnce(&BenchOptions, &mut Services<'_>, &mut Scratch) -> Result<T>,
) -> Result<T> {
    if options.cases.iter().any(|case| matches!(case.ground, GroundSpec::Fresh { .. })) {
        hide_mounts()?;
    }
    let disks = options.cases.iter().flat_map(|case| match &case.ground {
        GroundSpec::Fresh { backing: Backing::Disk(path), to, .. } => {
            [Some(path.as_path()), to.as_deref()]
        }
        GroundSpec::Fresh { to, .. } => [None, to.as_deref()],
        GroundSpec::Folder { .. } => [None, None],
    });
    let disks = disks.flatten();
    let mut bases: Vec<&Path> = [Path::new(RAM), &options.work].into_iter().chain(disks).collect();
    bases.sort_unstable();
    bases.dedup();
    for base in bases {
        tidy(base, services.monitor);
    }
    let mut scratch = Scratch::create(&options.work)?;
    let done = act(options, services, &mut scratch);
    let removed = scratch.remove();
    done.and_then(|done| removed.map(|()| done))
}

/// Removes what killed runs left, and reports it.
fn tidy(base: &Path, monitor: &mut dyn Monitor) {
    for swept in sweep(base) {
        let path = swept.path.display();
        let text = match swept.trouble {
            None => format!("removed what an earlier run left in {path}"),
            Some(trouble) => format!(
                "an earlier run left {path}, which stays there: {trouble}; remove it yourself"
            ),
        };
        monitor.event(Event::Warning(&text));
    }
}

fn with_scratch(
    options: &BenchOptions,
    services: &mut Services<'_>,
    scratch: &mut Scratch,
) -> Result<Results> {
    let mut results = Results {
        format: FORMAT,
        haul_version: env!("CARGO_PKG_VERSION").to_owned(),
        environment: Environment::gather(),
        seed: options.seed,
        rounds: options.rounds,
        ranking: options.ranking,
        overhead: overhead(services.interrupt)?,
        cases: Vec::new(),
        interrupted: false,
    };
    let others = Others::new(options, scratch)?;
    let start = Instant::now();
    let count = options.cases.len();
    for (index, case) in options.cases.iter().enumerate() {
        if services.interrupt.load(Ordering::Relaxed) {
            break;
        }
        let ground = ground_name(&case.ground);
        let (scenario, cache) = (&case.scenario.name, case.cache.name());
        let number = index + 1;
        services.monitor.event(Event::Case { number, count, scenario, ground: &ground, cache });
        let limit = options.limit.of_case(start.elapsed(), count - index);
        if limit == TimeLimit::Strict(Duration::ZERO) {
            break;
        }
        results.cases.push(one_case(options, case, &others, limit, services)?);
    }
    results.interrupted = services.interrupt.load(Ordering::Relaxed);
    Ok(results)
}

fn try_cases(options: &BenchOptions, others: &Others, services: &Services<'_>) -> Option<Duration> {
    let mut all = Duration::ZERO;
    for (index, case) in options.cases.iter().enumerate() {
        let limit = options.limit.of_case(all, options.cases.len() - index);
        let mut runner = live_runner(options, case, others, services.interrupt).ok()?;
        let plan = Plan { tools: &case.tools, rounds: options.rounds, seed: options.seed, limit };
        all = all.saturating_add(estimate_case(plan, &mut runner).ok()?);
    }
    Some(all)
}

/// Files that stand for other processes.
struct Others {
    hot: HotFile,
    bystander: Option<Bystander>,
}

impl Others {
    fn new(options: &BenchOptions, scratch: &mut Scratch) -> Result<Others> {
        let hot = HotFile::new(scratch.nameless_file("hot")?, scratch.path())?;
        let Conditions { bystander_percent, memory_bytes } = options.conditions;
        let memory = || memory_bytes.or_else(haul_sys::memory::total_bytes).unwrap_or(0);
        let bystander = match bystander_percent {
            Some(percent) => {
                let bytes = memory() / 100 * percent;
                let file = scratch.nameless_file("bystander")?;
                Some(Bystander::new(file, bytes, scratch.path())?)
            }
            None => None,
        };
        Ok(Others { hot, bystander })
    }
}

fn live_runner<'a>(
    options: &BenchOptions,
    case: &'a CaseSpec,
    others: &'a Others,
    interrupt: &'a AtomicBool,
) -> Result<LiveRunner<'a>> {
    Ok(LiveRunner {
        ground: make_ground(&case.ground)?,
        case,
        hot: Some(&others.hot),
        bystander: others.bystander.as_ref(),
        limit_bytes: options.conditions.memory_bytes,
        run_limit: options.run_limit,
        memory_bytes: memory_bytes(case),
        interrupt,
        start: Instant::now(),
        warnings: Vec::new(),
    })
}

fn one_case(
    options: &BenchOptions,
    case: &CaseSpec,
    others: &Others,
    limit: TimeLimit,
    services: &mut Services<'_>,
) -> Result<Case> {
    let mut runner = live_runner(options, case, others, services.interrupt)?;
    let plan = Plan { tools: &case.tools, rounds: options.rounds, seed: options.seed, limit };
    // Reborrowed by hand: the object's lifetime cannot be shortened behind `Option<&mut _>`.
    let counter: Option<&mut dyn CallCounter> = match services.counter {
        Some(ref mut counter) => Some(&mut **counter),
        None => None,
    };
    let done = run_case(plan, &mut runner, services.monitor, counter, services.interrupt);
    let facts = runner.facts();
    for warning in &facts.warnings {
        services.monitor.event(Event::Warning(warning));
    }
    let baseline = case.tools.iter().find(|tool| tool.name == case.baseline);
    let baseline = baseline.or(case.tools.first()).map(|tool| tool.name.clone());
    let trouble = done.trouble.map(|trouble| trouble.to_string());
    if let Some(trouble) = &trouble {
        services.monitor.event(Event::Warning(trouble));
    }
    Ok(Case {
        scenario: case.scenario.clone(),
        volume: case.scenario.volume(),
        ground: facts,
        cache: case.cache,
        conditions: options.conditions,
        baseline: baseline.unwrap_or_default(),
        tools: case.tools.clone(),
        runs: done.runs,
        faults: done.faults,
        calls: done.calls,
        trouble,
    })
}

/// Returns how much memory a run takes: the target in the page cache, its image if that is in
/// memory too, the same again because the kernel does not reuse the last freed memory first, and
/// its memory for each entry.
fn memory_bytes(case: &CaseSpec) -> u64 {
    let volume = case.scenario.volume();
    let at_once = u64::from(case.scenario.at_once());
    at_once * (volume.block_bytes * 3 + volume.entries * ENTRY_MEMORY_BYTES) + (64 << 20)
}

fn make_ground(spec: &GroundSpec) -> Result<Box<dyn Workspace>> {
    Ok(match spec {
        GroundSpec::Folder { path, to: None, cold } => {
            Box::new(DirectoryWorkspace::new(Scratch::claim(path)?, None, *cold))
        }
        GroundSpec::Folder { path, to: Some(to), cold } => {
            let mut source = Scratch::claim(path)?;
            let targets = Scratch::claim(to);
            let targets = targets.or_else(|trouble| source.remove().and(Err(trouble)))?;
            Box::new(DirectoryWorkspace::new(targets, Some(source), *cold))
        }
        GroundSpec::Fresh { target: FileSystem::Tmpfs, source: None, .. } => {
            Box::new(TmpfsWorkspace::new(Scratch::create(Path::new(RAM))?))
        }
        GroundSpec::Fresh { target: FileSystem::Tmpfs, .. }
        | GroundSpec::Fresh { source: Some(FileSystem::Tmpfs), .. } => {
            return Err(Error::Unfit("tmpfs cannot be one of a pair of file systems"));
        }
        GroundSpec::Fresh { target, source, backing, to } => {
            let base = match backing {
                Backing::Ram => Path::new(RAM),
                Backing::Disk(path) => path,
            };
            let mut scratch = Scratch::create(base)?;
            let ram = Path::new(RAM);
            let points = Scratch::create(if ram.is_dir() { ram } else { base });
            let mut points = points.or_else(|trouble| scratch.remove().and(Err(trouble)))?;
            let targets = match to {
                None => None,
                Some(to) => {
                    let made = Scratch::create(to);
                    let made = made.or_else(|trouble| {
                        points.remove().and(scratch.remove()).and(Err(trouble))
                    })?;
                    Some((made, Backing::Disk(to.clone())))
                }
            };
            let images = (scratch, backing.clone());
            Box::new(ImageWorkspace::new(images, targets, points, *target, *source))
        }
    })
}

fn ground_name(spec: &GroundSpec) -> String {
    match spec {
        GroundSpec::Folder { path, to: None, .. } => path.display().to_string(),
        GroundSpec::Folder { path, to: Some(to), .. } => {
            format!("{} to {}", path.display(), to.display())
        }
        GroundSpec::Fresh { target, source: Some(source), .. } => format!("{source} to {target}"),
        GroundSpec::Fresh { target, source: None, .. } => format!("fresh {target}"),
    }
}

/// Runs `true`; `None` where there is none.
fn overhead(interrupt: &AtomicBool) -> Result<Option<Overhead>> {
    let Ok(template) = Template::any("true") else { return Ok(None) };
    let nothing = Path::new("");
    let command = template.command(None, nothing, nothing);
    let watch = Watch::new();
    let limits = Limits { time: Duration::from_secs(60) };
    let executions: Vec<_> = std::thread::scope(|scope| {
        watch.start(scope, None, limits, interrupt);
        let executions =
            (0..OVERHEAD_RUNS).filter_map(|_| execute(&command, &watch).ok()).collect();
        watch.stop();
        executions
    });
    if interrupt.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    let walls: Vec<f64> =
        executions.iter().map(|run: &crate::measure::Execution| run.wall.as_secs_f64()).collect();
    Ok(median(&walls).map(|wall_s| Overhead { wall_s }))
}
