//! `haul sync`: rsync's command line for local trees, with haul's engine behind it.

use std::ffi::OsString;
use std::process::ExitCode;

use haul_engine::request::{Reflink, Request};
use haul_io::Sparse;

use super::request::{Command, PROGRAM, read, request};
use super::settings::Settings;
use super::status::{Noting, Status};
use crate::ending::{self, CommandError};
use crate::error_list::Older;
use crate::option::list_place;
use crate::output::Output;
use crate::report::{self, EntryLines, How};

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
    for (option, name) in [("--errors", &settings.errors), ("--metrics", &settings.metrics.file)] {
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
    let how = how(settings, &request);
    let status = Status::new(&request);
    let ended = if settings.dry_run {
        report::rehearse_sync(output, &how, &request, &|failure| status.note(failure))
    } else {
        report::run_to_end(output, &how, &request, |monitor, control| {
            haul_engine::copy(&request, &Noting { status: &status, monitor }, control)
        })
    };
    if ended.not_deleted > 0 {
        output.error(&format!(
            "deletions stopped due to --max-delete limit ({} skipped)",
            ended.not_deleted
        ));
    }
    Ok(ExitCode::from(status.code(&ended)))
}

/// Returns how much is printed.
fn how(settings: &Settings, request: &Request) -> How {
    let lists = settings.lists();
    How {
        format: settings.format,
        verbose: lists.is_some(),
        entry_lines: lists.map(|lists| EntryLines::new(lists, request)),
        never_shares: request.policy.data.reflink == Reflink::Never
            || request.policy.data.sparse == Sparse::Never,
        stats: settings.stats,
        progress: settings.progress,
        ..How::QUIET
    }
}
