//! `haul cache`: reads the command line, lets an action run, and prints its sums.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_sys::memory::room_bytes;
use serde_json::{Value, json};

use super::drop::{Changed, Dropped, drop, left};
use super::files::{Run, Sum, joined};
use super::options::{OPTIONS, Settings, help};
use super::saved::{restore, save};
use super::show::show;
use super::warm::{Warmed, warm};
use crate::ending::{self, CommandError, usage};
use crate::escape::quote;
use crate::getopt::{Usage, parse};
use crate::option::effect::{Asked, read_words};
use crate::option::gentle;
use crate::output::Output;
use crate::progress::Progress;
use crate::sizes;
use crate::value::{WAITING_JOBS, When, default_jobs};

const PROGRAM: &str = "haul cache";

/// What the command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Show,
    Drop,
    Warm,
    Save,
    Restore,
}

const ACTIONS: &[(&str, Action)] = &[
    ("drop", Action::Drop),
    ("warm", Action::Warm),
    ("save", Action::Save),
    ("restore", Action::Restore),
];

impl Action {
    fn name(self) -> &'static str {
        let found = ACTIONS.iter().find(|(_, action)| *action == self);
        found.map_or("show", |(name, _)| *name)
    }

    fn reads(self) -> bool {
        matches!(self, Action::Warm | Action::Restore)
    }
}

/// What the command line asks for.
enum Wanted {
    Print(String),
    Do(Action, Settings, Vec<OsString>),
}

/// Runs `cache` with its arguments.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let output = Output::new(PROGRAM);
    match read(arguments) {
        Ok(Wanted::Print(text)) => ending::print_and_end(&output, &text),
        Ok(Wanted::Do(action, settings, operands)) => act(&output, action, &settings, &operands),
        Err(error) => ending::refused(&output, &error),
    }
}

fn read(arguments: &[OsString]) -> Result<Wanted, CommandError> {
    let mut settings = Settings::new();
    let words = parse(arguments, OPTIONS);
    let mut operands = match read_words(words, &mut settings, PROGRAM, help)? {
        Asked::Print(text) => return Ok(Wanted::Print(text)),
        Asked::Work(operands) => operands,
    };
    let named = operands
        .first()
        .and_then(|word| ACTIONS.iter().find(|(name, _)| word == *name).map(|(_, action)| *action));
    if named.is_some() {
        operands.remove(0);
    }
    let action = named.unwrap_or(Action::Show);
    settle(&settings, action)?;
    let count = operands.len();
    match action {
        Action::Save | Action::Restore if count != 2 => {
            usage(format!("{} needs a FILE and a TREE", action.name()))
        }
        // The summary is on standard output.
        Action::Save | Action::Restore if operands[0] == "-" => {
            usage(format!("{} needs the name of a file, not '-'", action.name()))
        }
        _ if count == 0 => usage("missing operand".to_owned()),
        _ => Ok(Wanted::Do(action, settings, operands)),
    }
}

/// Refuses options of other actions.
fn settle(settings: &Settings, action: Action) -> Result<(), Usage> {
    let is_show = action == Action::Show;
    let given = [
        ("--all", settings.shown.all, is_show),
        ("--max-depth", settings.shown.depth_max < usize::MAX, is_show),
        ("--sync", settings.changed == Changed::Written, action == Action::Drop),
        ("--limit", settings.limit.is_some(), action.reads()),
        ("--gentle", settings.gentle, action.reads()),
        ("--progress", settings.progress.is_some(), action.reads()),
    ];
    match given.iter().find(|(_, is_given, is_meant)| *is_given && !is_meant) {
        Some((option, ..)) if is_show => {
            Err(Usage(format!("{option} needs an action (see --help)")))
        }
        Some((option, ..)) => {
            Err(Usage(format!("{option} cannot be combined with {}", action.name())))
        }
        None if settings.gentle => gentle::begin(),
        None => Ok(()),
    }
}

fn act(output: &Output, action: Action, settings: &Settings, operands: &[OsString]) -> ExitCode {
    let usual = if action.reads() { WAITING_JOBS } else { default_jobs() };
    let when = if action.reads() { settings.progress.unwrap_or(When::Auto) } else { When::Never };
    let run = Run {
        output,
        progress: Progress::new(when, false),
        json: settings.json,
        jobs: settings.jobs.unwrap_or(usual),
        failures: AtomicU64::new(0),
    };
    let limit = || settings.limit.unwrap_or_else(room_bytes);
    let told = match (action, operands) {
        (Action::Save, [file, tree]) => save(&run, file, tree).map(|sum| {
            let name = quote(file.as_bytes());
            (json!({}), sum, format!("{}: saved in {name}", of_files(&sum)))
        }),
        (Action::Restore, [file, tree]) => {
            restore(&run, file, tree, limit()).map(|(warmed, skipped)| {
                let (json, sum, text) = of_warmed(&warmed);
                let json = joined(json, json!({ "skipped_files": skipped }));
                let files = sizes::counted(skipped, "file", "files");
                (json, sum, format!("{text}; {files} skipped"))
            })
        }
        (Action::Drop, trees) => Ok(of_dropped(&drop(&run, trees, settings.changed))),
        (Action::Warm, trees) => Ok(of_warmed(&warm(&run, trees, limit()))),
        (_, trees) => {
            let sum = show(&run, trees, settings.shown);
            Ok((json!({}), sum, of_files(&sum)))
        }
    };
    match told {
        Ok((more, sum, text)) => summarise(&run, action, &sum, (more, text)),
        Err(text) => {
            output.error(&text);
            run.failures.fetch_add(1, Ordering::Relaxed);
        }
    }
    let written = output.finish();
    let is_complete = run.failures.load(Ordering::Relaxed) == 0;
    if written && is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn summarise(run: &Run<'_>, action: Action, sum: &Sum, (more, text): (Value, String)) {
    let failures = run.failures.load(Ordering::Relaxed);
    let own = json!({ "event": "summary", "action": action.name(), "failures": failures });
    if run.json {
        run.output.line(&crate::json_line::line(joined(joined(own, sum.json()), more)));
        return;
    }
    run.output.line(&text);
    for (files, what) in [
        (sum.unknown_files, "what is cached"),
        (sum.unknown_dirty_files, "what is changed and not on storage yet"),
    ] {
        if files > 0 {
            let files = sizes::counted(files, "file", "files");
            run.output.error(&format!("the kernel does not tell of {files} {what}"));
        }
    }
}

/// Says what is cached of files.
fn of_files(sum: &Sum) -> String {
    let files = sizes::counted(sum.files, "file", "files");
    let cached = sizes::bytes_of(sum.cached_bytes, sum.size_bytes);
    let dirty = match sum.dirty_bytes {
        0 => String::new(),
        bytes => format!(", {} not on storage yet", sizes::bytes(bytes)),
    };
    let memory = match sum.memory_bytes {
        0 => String::new(),
        bytes => format!(", {} in memory only, as on tmpfs", sizes::bytes(bytes)),
    };
    format!("{files}, {cached} cached{dirty}{memory}")
}

fn of_dropped(dropped: &Dropped) -> (Value, Sum, String) {
    let stays = &dropped.stays;
    let json = json!({
        "dropped_bytes": dropped.dropped_bytes,
        "stays_bytes": stays.cached_bytes,
        "stays_dirty_bytes": stays.dirty_bytes,
    });
    let files = sizes::counted(dropped.before.files, "file", "files");
    let mut text = format!("{files}, {} dropped", sizes::bytes(dropped.dropped_bytes));
    if stays.cached_bytes > 0 {
        text.push_str(&format!(
            "; of {} stays {}",
            sizes::counted(stays.files, "file", "files"),
            left(*stays)
        ));
    }
    if stays.dirty_bytes > 0 {
        text.push_str(" (--sync writes it first)");
    }
    (json, dropped.before, text)
}

fn of_warmed(warmed: &Warmed) -> (Value, Sum, String) {
    let Warmed { before, read_bytes, left_out_bytes } = *warmed;
    let json = json!({ "read_bytes": read_bytes, "left_out_bytes": left_out_bytes });
    let files = sizes::counted(before.files, "file", "files");
    let (read, cached) = (sizes::bytes(read_bytes), sizes::bytes(before.cached_bytes));
    let mut text = format!("{files}, {read} read, {cached} cached before");
    if left_out_bytes > 0 {
        text.push_str(&format!(", {} left out beyond the limit", sizes::bytes(left_out_bytes)));
    }
    (json, before, text)
}
