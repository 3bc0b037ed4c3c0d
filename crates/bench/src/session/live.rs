//! Runs tools as processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use haul_manifest::{Aspects, CompareOptions, RootAttributes, Verdict, compare};
use haul_sys::fs::syncfs;
use haul_sys::memory::{Bound, OwnCgroup};
use haul_sys::ptrace::Ended;
use haul_sys::sync::Mutex;

use super::calls::{CallCounter, Calls};
use super::options::{CacheState, CaseSpec};
use super::results::{Fault, Measurement, ProcessUse};
use super::runner::{Attempt, Check, Runner};
use crate::error::{Error, Result};
use crate::measure::{
    Bystander, CacheUse, Cut, Execution, HotFile, Limits, Watch, cached_pages, execute, preread,
    pressure, touch_memory,
};
use crate::scenario::Work;
use crate::tool::{Command, Tool};
use crate::workspace::{GroundFacts, Site, Workspace};

/// Runs the tools of one case.
pub(super) struct LiveRunner<'a> {
    pub(super) ground: Box<dyn Workspace>,
    pub(super) case: &'a CaseSpec,
    pub(super) hot: Option<&'a HotFile>,
    pub(super) bystander: Option<&'a Bystander>,
    /// Memory of the cgroup that each run takes place in.
    pub(super) limit_bytes: Option<u64>,
    pub(super) run_limit: Duration,
    /// How much memory a run needs, in the page cache and where images are in memory.
    pub(super) memory_bytes: u64,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) start: Instant,
    /// Further warnings.
    pub(super) warnings: Vec<String>,
}

impl Runner for LiveRunner<'_> {
    fn prepare(&mut self) -> Result<()> {
        let scenario = &self.case.scenario;
        if scenario.together.is_some() && scenario.work == Work::Delete {
            return Err(Error::Unfit("a tree is deleted once, not by several processes at once"));
        }
        self.ground.prepare(scenario, self.interrupt)
    }

    fn run(&mut self, tool: &Tool, check: Check) -> Result<Attempt> {
        self.on_fresh_ground(|runner, site, source_before| {
            runner.measure(tool, site, check, source_before)
        })
    }

    fn count(&mut self, tool: &Tool, counter: &mut dyn CallCounter) -> Result<Option<Calls>> {
        self.on_fresh_ground(|_, site, _| {
            let command =
                tool.template.command(tool.program.as_deref(), &site.source, &site.target);
            // If the calls of a tool cannot be counted, only its cell stays empty.
            Ok(counter.count(&command).ok())
        })
    }

    fn clock(&self) -> Duration {
        self.start.elapsed()
    }

    fn facts(&self) -> GroundFacts {
        let mut facts = self.ground.facts();
        facts.warnings.extend(self.warnings.iter().cloned());
        facts
    }

    fn finish(&mut self) -> Result<()> {
        self.ground.finish()
    }
}

impl LiveRunner<'_> {
    /// Runs a function on a fresh site with a warm or cold cache, and removes the site.
    fn on_fresh_ground<T>(
        &mut self,
        act: impl FnOnce(&mut Self, &Site, Option<u64>) -> Result<T>,
    ) -> Result<T> {
        let done = self.ground.fresh(self.interrupt).and_then(|site| {
            let source_before = self.set_cache(&site)?;
            act(self, &site, source_before)
        });
        let cleared = self.ground.clear();
        done.and_then(|value| cleared.map(|()| value))
    }

    /// Warms or cools the source and returns how many of its pages are cached.
    fn set_cache(&mut self, site: &Site) -> Result<Option<u64>> {
        let cached = match (self.case.cache, self.case.scenario.work) {
            (CacheState::Warm, Work::CopyTree | Work::CopyFile) => {
                preread(&site.source, self.interrupt)?
            }
            // A deletion reads no data; its names and inodes are warm once they were visited.
            (CacheState::Warm, Work::Delete) => cached_pages(&site.target, self.interrupt)?,
            (CacheState::Cold, _) => {
                let cached = self.ground.cool(site, self.interrupt)?;
                if cached.is_some_and(|pages| pages > 0) {
                    self.warn("Some pages of the source could not be dropped: \"cold\" runs were partly warm.");
                }
                cached
            }
        };
        sync(parent(&site.target))?;
        Ok(cached)
    }

    fn warn(&mut self, warning: &str) {
        if !self.warnings.iter().any(|known| known == warning) {
            self.warnings.push(warning.to_owned());
        }
    }

    /// Calls a function beside the bystander, and in a cgroup if memory is limited.
    fn in_conditions(
        &self,
        measured: &mut Measurement,
        run: impl FnOnce(&mut Measurement) -> Option<Fault>,
    ) -> Result<Option<Fault>> {
        let beside = || match self.bystander {
            Some(bystander) => {
                let (fault, used) = bystander.beside(|| run(measured));
                measured.bystander = Some(used);
                fault
            }
            None => run(measured),
        };
        let Some(bytes) = self.limit_bytes else { return Ok(beside()) };
        let refused = Error::file("make a memory cgroup for", Path::new("the tools"));
        let group = OwnCgroup::make("bench", Bound::Memory(bytes)).map_err(refused)?;
        let path = group.path().to_owned();
        let done = group.inside(beside);
        // Processes that a tool has left behind keep the group.
        let _stays = group.end();
        done.map_err(Error::file("enter", &path))
    }

    fn measure(
        &mut self,
        tool: &Tool,
        site: &Site,
        check: Check,
        source_before: Option<u64>,
    ) -> Result<Attempt> {
        let scenario = &self.case.scenario;
        let (repeats, together) = (scenario.repeats.max(1), scenario.together);
        let targets: Vec<PathBuf> =
            (0..scenario.targets()).map(|number| numbered(&site.target, number)).collect();
        let commands = targets
            .iter()
            .map(|target| tool.template.command(tool.program.as_deref(), &site.source, target));
        let commands: Vec<_> = commands.collect();
        let hot_before = self.hot.and_then(HotFile::use_it);
        let limits = Limits { time: self.run_limit };
        let watch = if together.is_some() { Watch::with_memory() } else { Watch::new() };
        let device = site.device.as_ref();
        let mut measured = Measurement::default();
        let mut touched = true;
        let fault = std::thread::scope(|scope| {
            // This is the last step, because the host may take back memory that was freed earlier.
            touched = touch_memory(self.memory_bytes);
            watch.start(scope, device, limits, self.interrupt);
            let mut fault = self.in_conditions(&mut measured, |measured| {
                let before = pressure();
                let fault = match together {
                    None => execute_all(&commands, &watch, measured),
                    Some(_) => execute_together(&commands, scenario.at_once(), &watch, measured),
                };
                measured.dirty_bytes = haul_sys::memory::unwritten_bytes();
                measured.pressure =
                    before.zip(pressure()).map(|(before, after)| after.since(&before));
                fault
            });
            if matches!(fault, Ok(None)) {
                let start = Instant::now();
                fault = sync(parent(&site.target)).map(|()| None);
                measured.sync_s = start.elapsed().as_secs_f64();
            }
            let (used, samples) = watch.stop().finish(device);
            (measured.device, measured.samples) = (used, samples);
            fault
        })?;
        if !touched {
            self.warn(
                "There was too little memory to use all that a run takes beforehand; runs may have \
                 waited for the machine's host.",
            );
        }
        match watch.cut() {
            Some(Cut::Interrupted) => return Err(Error::Interrupted),
            Some(Cut::TimedOut) => return Ok(Attempt::Failed(Fault::TimedOut)),
            None => {}
        }
        if let Some(fault) = fault {
            return Ok(Attempt::Failed(fault));
        }
        average(&mut measured, repeats);
        let hot_after = self.hot.and_then(HotFile::cached);
        measured.cache = CacheUse {
            source_before,
            hot_evicted: hot_before
                .zip(hot_after)
                .map(|(before, after)| before.saturating_sub(after)),
            ..CacheUse::default()
        };
        if self.case.scenario.work != Work::Delete {
            measured.cache.source_after = pages_after(&site.source, self.interrupt)?;
            measured.cache.target_after = pages_after(&site.target, self.interrupt)?;
        }
        // Of several starts one after the other the last one stands for all; of processes at once each is looked at.
        let at_once = self.case.scenario.at_once() as usize;
        let last = &targets[targets.len() - at_once..];
        let work = self.case.scenario.work;
        let difference = last.iter().find_map(|target| wrong(work, check, &site.source, target));
        Ok(match (check, difference) {
            (Check::Compare, Some(difference)) => Attempt::Failed(Fault::Wrong(difference)),
            _ => Attempt::Measured(Box::new(measured)),
        })
    }
}

/// Runs commands one after the other, up to one that fails.
fn execute_all(commands: &[Command], watch: &Watch, measured: &mut Measurement) -> Option<Fault> {
    for command in commands {
        let fault = match execute(command, watch) {
            Ok(execution) => {
                add(measured, &execution);
                fault_of(&execution)
            }
            Err(error) => Some(Fault::NotStarted(error.to_string())),
        };
        if fault.is_some() || watch.cut().is_some() {
            return fault;
        }
    }
    None
}

/// Runs commands, so many at a time, up to one that fails. The time of a group is that until its last process ends.
fn execute_together(
    commands: &[Command],
    at_once: u32,
    watch: &Watch,
    measured: &mut Measurement,
) -> Option<Fault> {
    for group in commands.chunks(at_once as usize) {
        let wall_s = measured.wall_s;
        let ended = match start_together(group, watch) {
            Ok(ended) => ended,
            Err(error) => return Some(Fault::NotStarted(error.to_string())),
        };
        let time = span(&ended);
        let fault = add_processes(measured, ended);
        if fault.is_some() {
            return fault;
        }
        measured.wall_s = wall_s + time.as_secs_f64();
        if watch.cut().is_some() {
            return None;
        }
    }
    None
}

/// A process that has ended, or could not be started.
struct Ending {
    begun: Instant,
    ended: Instant,
    execution: std::io::Result<Execution>,
}

/// Runs commands at once, and waits for all of them. Fails, without a process, if there cannot be a thread for each.
fn start_together(commands: &[Command], watch: &Watch) -> std::io::Result<Vec<Ending>> {
    // The threads wait for the lock until all of them are there, or one of them cannot be.
    let is_complete = Mutex::new(false);
    std::thread::scope(|scope| {
        let mut gate = is_complete.lock();
        let start = |command| {
            let is_complete = &is_complete;
            std::thread::Builder::new().spawn_scoped(scope, move || {
                let is_wanted = *is_complete.lock();
                is_wanted.then(|| {
                    let begun = Instant::now();
                    let execution = execute(command, watch);
                    Ending { begun, ended: Instant::now(), execution }
                })
            })
        };
        let threads: std::io::Result<Vec<_>> = commands.iter().map(start).collect();
        *gate = threads.is_ok();
        drop(gate);
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(threads?.into_iter().filter_map(join).collect())
    })
}

/// Returns the time from the first start to the last end.
fn span(endings: &[Ending]) -> Duration {
    let first = endings.iter().map(|ending| ending.begun).min();
    let last = endings.iter().map(|ending| ending.ended).max();
    first.zip(last).map_or(Duration::ZERO, |(first, last)| last - first)
}

/// Adds what processes have used, up to one that failed.
fn add_processes(measured: &mut Measurement, endings: Vec<Ending>) -> Option<Fault> {
    for ending in endings {
        let execution = match ending.execution {
            Ok(execution) => execution,
            Err(error) => return Some(Fault::NotStarted(error.to_string())),
        };
        add(measured, &execution);
        measured.processes.push(ProcessUse {
            wall_s: execution.wall.as_secs_f64(),
            cpu_s: (execution.usage.user_us + execution.usage.system_us) as f64 / 1e6,
            pss_bytes: execution.pss_bytes,
        });
        let fault = fault_of(&execution);
        if fault.is_some() {
            return fault;
        }
    }
    None
}

/// Returns the target of one of several starts within a run.
fn numbered(target: &Path, number: u32) -> PathBuf {
    if number == 0 {
        return target.to_owned();
    }
    let mut name = target.as_os_str().to_owned();
    name.push(format!("-{number}"));
    PathBuf::from(name)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Syncs the file system that holds a directory.
fn sync(folder: &Path) -> Result<()> {
    let opened = File::open(folder).map_err(Error::file("open", folder))?;
    syncfs(&opened).map_err(Error::call("sync", folder))
}

fn add(measured: &mut Measurement, execution: &Execution) {
    let usage = &execution.usage;
    measured.wall_s += execution.wall.as_secs_f64();
    measured.user_s += usage.user_us as f64 / 1e6;
    measured.system_s += usage.system_us as f64 / 1e6;
    measured.max_rss_bytes = measured.max_rss_bytes.max(usage.max_rss_bytes);
    measured.floor_rss_bytes = measured.floor_rss_bytes.max(execution.floor_bytes);
    measured.minor_faults += usage.minor_faults;
    measured.major_faults += usage.major_faults;
}

fn average(measured: &mut Measurement, repeats: u32) {
    for value in
        [&mut measured.wall_s, &mut measured.sync_s, &mut measured.user_s, &mut measured.system_s]
    {
        *value /= f64::from(repeats);
    }
    measured.minor_faults /= u64::from(repeats);
    measured.major_faults /= u64::from(repeats);
}

fn fault_of(execution: &Execution) -> Option<Fault> {
    let stderr = execution.stderr.clone();
    match execution.usage.ended {
        Ended::Exited(0) => None,
        Ended::Exited(status) => Some(Fault::Exit { status, stderr }),
        Ended::Signaled(signal) => Some(Fault::Signal { signal, stderr }),
    }
}

/// Counts the cached pages of the files that a tool left. Missing files are not an error here: the
/// comparison detects a tool that removed the source.
fn pages_after(root: &Path, interrupt: &AtomicBool) -> Result<Option<u64>> {
    match cached_pages(root, interrupt) {
        Err(Error::Interrupted) => Err(Error::Interrupted),
        counted => Ok(counted.ok().flatten()),
    }
}

/// Returns the first error in the result of a tool, if any.
fn wrong(work: Work, check: Check, source: &Path, target: &Path) -> Option<String> {
    if work == Work::Delete {
        let there = target.symlink_metadata().is_ok();
        return there.then(|| "the target still exists".to_owned());
    }
    if check == Check::Status {
        return None;
    }
    let options = CompareOptions {
        root_attributes: RootAttributes::Ignore,
        ..CompareOptions::new(Aspects::contents_only())
    };
    let comparison = compare(source, target, &options);
    if comparison.summary.verdict() == Verdict::Equal {
        return None;
    }
    let shown = comparison.findings.first().map(ToString::to_string);
    let count = comparison.summary.total_differences() + comparison.summary.failures;
    let word = if count == 1 { "difference" } else { "differences" };
    Some(format!("{count} {word}, the first: {}", shown.unwrap_or_default()))
}
