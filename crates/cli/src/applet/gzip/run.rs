//! A run of `gzip`, `gunzip` or `zcat`: all its files, several at once unless the user is asked.

use haul_io::last_check::LastNames;
use haul_sys::sync::Mutex;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_io::stream::{Durable, PIPE_BYTES, Place};
use haul_start::Standard;
use haul_sys::Errno;
use haul_sys::data::widen_pipe;
use haul_sys::fs::{Follow, Kind, duplicate, fdatasync, fstat};
use haul_tree::{Identity, identity};

use super::codes::Code;
use super::conflicts::groups;
use super::file::Files;
use super::input::Named;
use super::list::Totals;
use super::messages::{Counts, PROGRAM, Said};
use super::names::base;
use super::options::{help, licence};
use super::reports::Reports;
use super::settings::{Settings, Switch, Target, Task};
use super::sink::Sink;
use super::stream::Means;
use super::walk::{Item, Walk};
use super::words::{Asked, read};
use crate::ending::{CommandError, point_to_help_or, print_and_end};
use crate::metrics::Figures;
use crate::option::effect::Answer;
use crate::output::Output;
use crate::progress::{Progress, Tally};
use crate::standard::demand;

/// Runs `gzip` with its arguments.
pub(super) fn gzip(arguments: &[OsString]) -> ExitCode {
    run("gzip", Settings::new(Task::Compress, Target::Files), arguments)
}

/// Runs `gunzip` with its arguments.
pub(super) fn gunzip(arguments: &[OsString]) -> ExitCode {
    run("gunzip", Settings::new(Task::Decompress, Target::Files), arguments)
}

/// Runs `zcat` with its arguments.
pub(super) fn zcat(arguments: &[OsString]) -> ExitCode {
    let settings = Settings::new(Task::Decompress, Target::Stdout);
    run("zcat", settings, arguments)
}

fn run(program: &str, settings: Settings, arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let warn = |text: &str| output.error(text);
    match read(settings, std::env::var_os("GZIP"), arguments, &warn) {
        Ok(Asked::Print(Answer::Help)) => print_and_end(&output, &help(program).to_string()),
        Ok(Asked::Print(Answer::Version)) => print_and_end(&output, &licence(program)),
        Ok(Asked::Print(Answer::Text(text))) => print_and_end(&output, &text()),
        Ok(Asked::Files(settings, files)) => do_all(&output, &settings, &files),
        Err(CommandError::Plain(text)) => {
            output.error(&text);
            ExitCode::FAILURE
        }
        Err(CommandError::Usage(usage)) => {
            output.error(&usage.0);
            point_to_help_or(&output, &format!("Try `{PROGRAM} --help' for more information.\n"));
            ExitCode::FAILURE
        }
    }
}

fn do_all(output: &Output, settings: &Settings, files: &[OsString]) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    if let Err(text) = output.measure_in(&settings.metrics) {
        output.error(&text);
        return ExitCode::FAILURE;
    }
    let stdout = match standard_output(settings, files, stop) {
        Ok(stdout) => stdout,
        Err(text) => {
            output.raw_error(&format!("\n{PROGRAM}: stdout: {text}\n"));
            // The exit status says failure in any case.
            let _written = output.measured(Figures::not_begun);
            return ExitCode::FAILURE;
        }
    };
    let tally = Tally::new(None);
    let progress = Progress::new(settings.progress, settings.verbose > 0);
    let is_terminal = settings.presume_terminal.is_on() || std::io::stdin().is_terminal();
    let means = Means { settings, tally: &tally, stop };
    let (totals, large) = (Mutex::new(Totals::default()), Mutex::new(()));
    let may_ask = if is_terminal { Switch::On } else { Switch::Off };
    let worker = |stdout| Files {
        means,
        output,
        progress: &progress,
        stdout: RefCell::new(stdout),
        index: RefCell::default(),
        totals: &totals,
        large: &large,
        may_ask,
        last_names: LastNames::default(),
    };
    let first = worker(stdout);
    let reports = Reports::new(output, &progress);
    std::thread::scope(|scope| {
        progress.start_line(scope, || tally.line(("writing", "reading")));
        do_files(&first, &|| worker(None), &reports, files);
        progress.end();
    });
    let mut counts = reports.counts();
    let finished = finish(&first, output, files.len());
    counts.failures += u64::from(finished == Code::Error);
    let is_measured = output.measured(|| figures(settings.task, counts, &tally));
    let mut code = reports.code().and(finished);
    if !is_measured {
        code = Code::Error;
    }
    if let Some(signal) = haul_sys::process::stop_signal() {
        haul_sys::process::die_by(signal);
    }
    if output.finish() { code.exit() } else { ExitCode::FAILURE }
}

/// Returns the figures of a run that has ended.
fn figures(task: Task, counts: Counts, tally: &Tally) -> Figures {
    let action = match task {
        Task::Compress => "compressed",
        Task::Decompress => "decompressed",
        Task::Test => "tested",
        Task::List => "listed",
    };
    Figures {
        entries: vec![(action, "file", counts.done)],
        failures: counts.failures,
        warnings: counts.warnings,
        stopped: haul_sys::process::stop_signal().is_some(),
        ..tally.figures()
    }
}

/// Makes the sink for standard output, where outputs go there.
fn standard_output(
    settings: &Settings,
    files: &[OsString],
    stop: &'static AtomicBool,
) -> Result<Option<Sink>, String> {
    let has_stdin = files.is_empty() || files.iter().any(|file| file == "-");
    let is_used = settings.target == Target::Stdout || has_stdin;
    if !is_used || matches!(settings.task, Task::Test | Task::List) {
        return Ok(None);
    }
    let text = |error: haul_sys::CallError| error.text();
    demand(Standard::Output).map_err(text)?;
    let stdout = duplicate(std::io::stdout()).map_err(text)?;
    let stat = fstat(&stdout).map_err(text)?;
    if stat.kind() == Kind::Regular {
        return Sink::file(&Arc::new(stdout), Place::Position, &settings.policy, stop)
            .map(Some)
            .map_err(text);
    }
    widen_pipe(&stdout, PIPE_BYTES);
    Ok(Some(Sink::Stream { fd: stdout, stop }))
}

fn do_files<'a>(
    first: &Files<'a>,
    further: &(impl Fn() -> Files<'a> + Sync),
    reports: &Reports<'_>,
    files: &[OsString],
) {
    let settings = first.means.settings;
    if files.is_empty() {
        reports.put(0, first.stdin());
        return;
    }
    let follows = settings.target == Target::Stdout || settings.force > 0;
    let follow = if follows { Follow::Yes } else { Follow::No };
    let walk = Mutex::new((0_u64, Walk::new(files, settings, follow)));
    let work = |all: &Files<'_>| {
        while !reports.is_over() && !all.means.stop.load(Ordering::Relaxed) {
            let (number, item) = {
                let mut walk = walk.lock();
                let Some(item) = walk.1.next() else { return };
                walk.0 += 1;
                (walk.0 - 1, item)
            };
            reports.put(number, one(all, item));
        }
    };
    // Questions, and what goes to standard output, come one after the other.
    let is_ordered = settings.target == Target::Stdout && settings.task != Task::Test
        || first.may_ask.is_on() && settings.force == 0
        || files.iter().any(|file| file == "-")
        || has_conflicts(settings, files);
    let workers = if is_ordered || (files.len() == 1 && !settings.recursive.is_on()) {
        1
    } else {
        settings.workers()
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| work(&further()));
        }
        work(first);
    });
}

/// Returns whether one operand's output may be another operand, or another's output, or below it.
/// Names in several directories are compared without those, which may be spelled in several ways.
fn has_conflicts(settings: &Settings, files: &[OsString]) -> bool {
    if settings.recursive.is_on() && settings.force > 0 && files.len() > 1 {
        return true;
    }
    let is_equal = |group: &[usize]| {
        let mut directories: Vec<Option<Identity>> = group
            .iter()
            .map(|place| {
                let named = Named::operand(files.get(*place)?).ok()?;
                fstat(&*named.directory).ok().map(|stat| identity(&stat))
            })
            .collect();
        let all = directories.len();
        directories.sort_unstable();
        directories.dedup();
        directories.len() < all
    };
    let names: Vec<&[u8]> = files.iter().map(|file| base(file.as_bytes())).collect();
    groups(settings, &names).iter().any(|group| group.len() > 1 && is_equal(group))
}

fn one(all: &Files<'_>, item: Item) -> Said {
    match item {
        Item::Stdin => all.stdin(),
        Item::Named(named) => all.named(named),
        Item::Chain(chain) => {
            let mut said = Said::default();
            for named in chain {
                if said.is_end || all.means.stop.load(Ordering::Relaxed) {
                    break;
                }
                said.add(all.named(named));
            }
            said
        }
        Item::Failed(shown, text) => {
            let mut said = Said::default();
            said.error(&shown, &format!(": {text}"));
            said
        }
    }
}

/// Writes what is left to standard output.
fn finish(all: &Files<'_>, output: &Output, files: usize) -> Code {
    let settings = all.means.settings;
    if settings.task == Task::List && files > 1 {
        let totals = all.totals.lock();
        if let Some(line) = totals.sum(settings) {
            output.line(&line);
        }
    }
    let sink = all.stdout.borrow_mut().take();
    let Some(sink) = sink else { return Code::Success };
    let is_synced = settings.synchronous.is_on();
    let finished =
        sink.finish(Durable::No).map_err(|error| error.to_string()).and_then(|()| match is_synced
            .then(|| fdatasync(std::io::stdout()))
        {
            Some(Err(error)) if error.errno != Errno::INVAL => Err(error.text()),
            _ => Ok(()),
        });
    match finished {
        Ok(()) => Code::Success,
        // What stopped it was said, or is a signal.
        Err(_) if all.means.stop.load(Ordering::Relaxed) => Code::Error,
        Err(text) => {
            output.raw_error(&format!("\n{PROGRAM}: stdout: {text}\n"));
            Code::Error
        }
    }
}
