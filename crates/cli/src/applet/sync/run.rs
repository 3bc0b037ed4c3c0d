//! `haul sync`: rsync's command line for local trees, with haul's engine behind it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::SystemTime;

use haul_engine::request::{Reflink, Request};
use haul_io::Sparse;

use super::request::{Command, PROGRAM, read, request};
use super::settings::Settings;
use super::status::{Noting, OUT_OF_TIME, PARTIAL, Status};
use crate::ending::{self, CommandError};
use crate::error_list::Older;
use crate::escape::quote;
use crate::option::list_place;
use crate::output::Output;
use crate::report::item_format::ItemFormat;
use crate::report::item_log::ItemLog;
use crate::report::{self, EntryLines, How, Lists};

/// Runs `sync` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    let begun = read(arguments).and_then(|command| match command {
        Command::Print(text) => Ok(ending::print_and_end(&output, &text)),
        Command::Sync(settings, operands) => begin(&output, (&settings, arguments), &operands),
    });
    begun.unwrap_or_else(|error| ending::refused(&output, &error))
}

/// Synchronises the operands.
fn begin(
    output: &Output,
    (settings, arguments): (&Settings, &[OsString]),
    operands: &[OsString],
) -> Result<ExitCode, CommandError> {
    // First, so that a run that cannot begin is measured as a failure.
    output.measure_in(&settings.metrics).map_err(CommandError::Plain)?;
    let request = request(settings, operands)?;
    for (option, name) in [
        ("--errors", &settings.errors),
        ("--metrics", &settings.metrics.file),
        ("--log-file", &settings.log_file),
    ] {
        if let Some(name) = name {
            list_place::refuse_made((option, name), &request).map_err(CommandError::Plain)?;
        }
    }
    if let Some(file) = &settings.errors {
        let sources = operands.split_last().map_or(&[][..], |(_, sources)| sources);
        output
            .list_in((file, Older::Emptied), (arguments, sources))
            .map_err(CommandError::Plain)?;
    }
    if request.sources.is_empty() {
        return Ok(ExitCode::from(if output.finish() { 0 } else { PARTIAL }));
    }
    let log = open_log(settings).map_err(CommandError::Plain)?;
    let how = how(settings, &request, log.clone());
    let is_late = AtomicBool::new(false);
    let status = Status::new(&request);
    let ended = if settings.dry_run {
        report::rehearse_sync(output, &how, &request, &|failure| status.note(failure))
    } else {
        report::run_to_end(output, &how, &request, |monitor, control| {
            until(settings.stop_at, (control.stop, &is_late), || {
                haul_engine::copy(&request, &Noting { status: &status, monitor }, control)
            })
        })
    };
    if is_late.load(Ordering::Relaxed) && ended.signal.is_none() {
        output.error("the run has ended because its time is over");
        return Ok(ExitCode::from(OUT_OF_TIME));
    }
    if ended.not_deleted > 0 {
        output.error(&format!(
            "deletions stopped due to --max-delete limit ({} skipped)",
            ended.not_deleted
        ));
    }
    if log.is_some_and(|log| log.has_failed()) {
        output.error("cannot write to the log");
        return Ok(ExitCode::from(PARTIAL));
    }
    Ok(ExitCode::from(status.code(&ended)))
}

/// Opens the log, to which runs append.
fn open_log(settings: &Settings) -> Result<Option<ItemLog>, String> {
    let Some(name) = &settings.log_file else { return Ok(None) };
    let file =
        std::fs::OpenOptions::new().append(true).create(true).open(name).map_err(|error| {
            format!("cannot open the log {}: {error}", quote(name.as_encoded_bytes()))
        })?;
    let format = settings.log_format.clone().unwrap_or_else(ItemFormat::itemized);
    Ok(Some(ItemLog::new(file, format)))
}

/// Does work, and stops it at a moment. Then `is_late` is set as well.
fn until<T>(
    moment: Option<SystemTime>,
    (stop, is_late): (&AtomicBool, &AtomicBool),
    work: impl FnOnce() -> T,
) -> T {
    let Some(moment) = moment else { return work() };
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A moment that has passed is none to wait for.
            let left = moment.duration_since(SystemTime::now()).unwrap_or_default();
            if is_done.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                is_late.store(true, Ordering::Relaxed);
                stop.store(true, Ordering::Relaxed);
            }
        });
        let result = work();
        drop(done);
        result
    })
}

/// Returns how much is printed.
fn how(settings: &Settings, request: &Request, log: Option<ItemLog>) -> How {
    let lists = settings.lists().or_else(|| log.is_some().then_some(Lists::Nothing));
    let format = settings.out_format.clone();
    How {
        format: settings.format,
        verbose: lists.is_some(),
        entry_lines: lists.map(|lists| EntryLines {
            format,
            log,
            ..EntryLines::new(lists, request)
        }),
        never_shares: request.policy.data.reflink == Reflink::Never
            || request.policy.data.sparse == Sparse::Never,
        stats: settings.stats,
        progress: settings.progress,
        ..How::QUIET
    }
}
