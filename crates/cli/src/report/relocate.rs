//! What a move tells and asks, in GNU mv's words.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use haul_engine::error::Severity;
use haul_engine::monitor::{MovedFile, Question};
use haul_engine::relocate::{
    Control, Counts, Event, Failure, Monitor, MoveFailure, Outcome, Request, What,
};
use haul_engine::request::{Dereference, Recursion};
use haul_sys::fs::Kind;
use serde_json::{Value, json};

use super::json::kind;
use super::{Format, json as copy_json, remove, text};
use crate::escape::quote;
use crate::lossless::name;
use crate::option::value::ProgressWhen;
use crate::output::Output;
use crate::progress::{Progress, WaitsFor};
use crate::sizes::{self, plural};

/// How much is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    pub(crate) verbose: bool,
    pub(crate) debug: bool,
    pub(crate) stats: bool,
    pub(crate) progress: ProgressWhen,
}

impl How {
    /// The same as a copy has it.
    fn of_copy(&self) -> super::How {
        super::How {
            format: self.format,
            verbose: self.verbose,
            debug: self.debug,
            overrides: true,
            never_shares: false,
            stats: self.stats,
            explain: false,
            progress: self.progress,
        }
    }
}

struct Reporter<'a> {
    output: &'a Output,
    how: &'a How,
    progress: &'a Progress<'a>,
}

impl Monitor for Reporter<'_> {
    fn failed(&self, failure: &Failure) {
        self.progress.aside(|| {
            if self.how.format == Format::Json {
                self.output.line(&failure_json(failure));
            }
            for line in message(failure) {
                self.output.error(&line);
            }
        });
    }

    fn wants_entries(&self) -> bool {
        self.how.verbose || self.how.format == Format::Json
    }

    fn entry(&self, event: &Event) {
        let line = match self.how.format {
            Format::Json => Some(event_json(event)),
            Format::Text => event_text(event, self.how),
        };
        if let Some(line) = line {
            self.progress.aside(|| self.output.line(&line));
        }
    }

    fn wants_moves(&self) -> bool {
        self.how.debug || self.how.format == Format::Json
    }

    fn moved(&self, moved: &MovedFile) {
        let line = match self.how.format {
            Format::Json => copy_json::moved(moved),
            Format::Text => text::moved(moved, &self.how.of_copy()),
        };
        self.progress.aside(|| self.output.line(&line));
    }

    fn ask(&self, question: &Question) -> bool {
        self.progress.aside(|| text::ask(self.output, question, &self.how.of_copy()))
    }
}

/// Returns the line that `-v` prints, if it prints one.
fn event_text(event: &Event, how: &How) -> Option<String> {
    let (source, target) = (quote(&event.source), quote(&event.target));
    let line = match (event.outcome, event.kind) {
        (Outcome::Renamed, _) => format!("renamed {source} -> {target}"),
        (Outcome::Exchanged, _) => format!("exchanged {source} <-> {target}"),
        (Outcome::Copied, Some(Kind::Directory)) => {
            return Some(format!("created directory {target}"));
        }
        (Outcome::Copied, _) => format!("copied {source} -> {target}"),
        (Outcome::Removed, Some(Kind::Directory)) => format!("removed directory {source}"),
        (Outcome::Removed, _) => format!("removed {source}"),
        (Outcome::Skipped, _) => return how.debug.then(|| format!("skipped {target}")),
        // GNU mv is silent about further names.
        (Outcome::Linked, _) => return None,
    };
    Some(match &event.backup {
        Some(backup) => format!("{line} (backup: {})", quote(backup)),
        None => line,
    })
}

fn event_json(event: &Event) -> String {
    let outcome = match event.outcome {
        Outcome::Renamed => "renamed",
        Outcome::Exchanged => "exchanged",
        Outcome::Copied => "copied",
        Outcome::Linked => "linked",
        Outcome::Skipped => "skipped",
        Outcome::Removed => "removed",
    };
    let target = (event.outcome != Outcome::Removed).then(|| name(&event.target));
    json!({
        "event": "entry",
        "outcome": outcome,
        "kind": event.kind.filter(|kind| *kind != Kind::Unknown).map(kind),
        "source": name(&event.source),
        "target": target,
        "backup": event.backup.as_deref().map(name),
    })
    .to_string()
}

/// Returns the lines for a failure, without the program's name.
fn message(failure: &Failure) -> Vec<String> {
    match failure {
        Failure::Move(failure) => vec![move_message(failure)],
        Failure::Copy(failure) => vec![crate::message::of_copy(failure)],
        Failure::Remove(failure) => remove::message(failure),
    }
}

fn move_message(failure: &MoveFailure) -> String {
    let (source, target) = (quote(&failure.source), quote(&failure.target));
    let action = match failure.what {
        What::Stat => format!("cannot stat {source}"),
        What::StatTarget => format!("cannot stat {target}"),
        What::TargetDirectory => format!("target directory {target}"),
        What::TargetOperand => format!("target {target}"),
        What::SameFile => format!("{source} and {target} are the same file"),
        What::OverDirectory => {
            format!("cannot overwrite directory {target} with non-directory {source}")
        }
        What::OverNonDirectory => {
            format!("cannot overwrite non-directory {target} with directory {source}")
        }
        What::JustCreated => format!("will not overwrite just-created {target} with {source}"),
        What::NotReplacing => format!("not replacing {target}"),
        What::Backup => format!("cannot backup {target}"),
        What::BackupDestroysSource => {
            format!("backing up {target} might destroy source;  {source} not moved")
        }
        What::IntoItself => {
            format!("cannot move {source} to a subdirectory of itself, {target}")
        }
        What::GivenTwice => format!("warning: source directory {source} specified more than once"),
        What::Exchange => format!("cannot exchange {source} and {target}"),
        What::Overwrite => format!("cannot overwrite {target}"),
        What::RemoveTarget => {
            format!("inter-device move failed: {source} to {target}; unable to remove target")
        }
        What::CreateFile => format!("cannot create regular file {target}"),
        What::Sync => format!("error syncing {target}; {source} stays where it is"),
        What::Changed => {
            format!("{source} changed while it was moved; it stays, beside its copy {target}")
        }
        What::InUse => {
            format!("cannot move {source} to {target}: another command is doing that right now")
        }
        What::Leftover => {
            format!("cannot remove {target}, an unfinished copy of {source}")
        }
        What::Note => format!("cannot write the note {target} on the move of {source}"),
        What::Interrupted => format!(
            "interrupted: the same command goes on with what was copied of {source}, which is in \
             {target}"
        ),
        _ => format!("cannot move {source} to {target}"),
    };
    match failure.errno {
        Some(errno) => format!("{action}: {}", haul_sys::errno_text(errno)),
        None => action,
    }
}

fn failure_json(failure: &Failure) -> String {
    let (what, errno, source, target, severity) = match failure {
        Failure::Move(failure) => (
            format!("{:?}", failure.what),
            failure.errno,
            &failure.source,
            Some(&failure.target),
            failure.severity,
        ),
        Failure::Copy(failure) => (
            format!("{:?}", failure.what),
            failure.errno,
            &failure.source,
            Some(&failure.target),
            failure.severity,
        ),
        Failure::Remove(failure) => {
            let what = format!("{:?}", failure.what);
            (what, failure.errno, &failure.path, None, Severity::Failure)
        }
    };
    json!({
        "event": if severity == Severity::Failure { "failure" } else { "warning" },
        "what": what,
        "errno": errno.map(haul_sys::Errno::raw_os_error),
        "error": errno.map(haul_sys::errno_text),
        "source": name(source),
        "target": target.map(|target| name(target)),
        "message": message(failure).join("; "),
    })
    .to_string()
}

/// Runs a move, tells what happens, and returns the exit code, or dies by the signal that ended it.
pub(crate) fn run(output: &Output, how: &How, request: &Request) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    let jobs = request.resources.waiting_jobs.max(request.removing.waiting_jobs);
    let control = Control::new(jobs, stop);
    let mut progress = Progress::new(how.progress, how.verbose);
    if how.format == Format::Json {
        progress = progress.telling(output, how.progress);
    }
    let counted = counted(request);
    let started = Instant::now();
    let counts = std::thread::scope(|scope| {
        let renamed = || {
            let counts = control.counts();
            counts.renamed + counts.exchanged
        };
        progress.start(scope, control.copying(), &counted, WaitsFor::Storage, renamed);
        let reporter = Reporter { output, how, progress: &progress };
        let counts = haul_engine::relocate::relocate(request, &reporter, &control);
        progress.end();
        counts
    });
    let time = started.elapsed();
    let signal = haul_sys::process::stop_signal();
    if how.format == Format::Json {
        output.line(&summary_json(&counts, time, signal.is_some()));
    }
    if how.stats {
        output.raw_error(&summary(&counts, time));
    }
    let told = output.finish();
    if let Some(signal) = signal {
        haul_sys::process::die_by(signal);
    }
    if counts.failures > 0 || !told { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What a bar counts: what is still there of the sources when the work turns out to be long, which
/// then is what has to be copied.
fn counted(request: &Request) -> haul_engine::request::Request {
    let policy = &request.policy;
    haul_engine::request::Request {
        sources: request.sources.clone(),
        target: request.target.clone(),
        form: request.form,
        policy: haul_engine::request::Policy {
            recursion: Recursion::Yes,
            dereference: Dereference::Never,
            ..haul_engine::request::Policy::plain(policy.umask)
        },
        resources: request.resources,
        resume: None,
    }
}

fn summary(counts: &Counts, time: Duration) -> String {
    let copied = &counts.copied;
    let mut parts = Vec::new();
    for (count, one, many) in [
        (counts.renamed, "renamed", "renamed"),
        (counts.exchanged, "exchanged", "exchanged"),
        (copied.entries(), "entry copied", "entries copied"),
        (counts.removed.entries(), "entry removed", "entries removed"),
        (counts.skipped, "skipped", "skipped"),
        (counts.failures, "failure", "failures"),
        (counts.warnings, "warning", "warnings"),
    ] {
        if count > 0 {
            parts.push(plural(count, one, many));
        }
    }
    if parts.is_empty() {
        parts.push("nothing".to_owned());
    }
    let mut text = format!("moved:   {} in {}\n", parts.join(", "), sizes::duration(time));
    if copied.entries() > 0 {
        text.push_str(&format!(
            "bytes:   {}, {}; the target's file system was waited for {}\n",
            sizes::bytes(copied.bytes),
            sizes::rate(copied.bytes, time),
            plural(counts.batches, "time", "times")
        ));
        text.push_str(&format!("workers: {}\n", copied.workers));
    }
    text
}

fn summary_json(counts: &Counts, time: Duration, stopped: bool) -> String {
    let tally = |counts: &haul_engine::monitor::Counts| -> Value {
        json!({
            "files": counts.files,
            "directories": counts.directories,
            "symlinks": counts.symlinks,
            "hard_links": counts.hard_links,
            "specials": counts.specials,
            "bytes": counts.bytes,
        })
    };
    json!({
        "event": "summary",
        "renamed": counts.renamed,
        "exchanged": counts.exchanged,
        "skipped": counts.skipped,
        "copied": tally(&counts.copied),
        "removed": tally(&counts.removed),
        "syncs": counts.batches,
        "failures": counts.failures,
        "warnings": counts.warnings,
        "seconds": time.as_secs_f64(),
        "workers": counts.copied.workers,
        "stopped": stopped,
    })
    .to_string()
}
