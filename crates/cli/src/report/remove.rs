//! What a removal tells and asks, in GNU rm's words.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use haul_engine::monitor::{Control, Counts};
use haul_engine::remove::{
    Failure, Mode, Monitor, PromptReason, Protection, Question, Removed, Request, What,
};
use haul_sys::fs::Kind;
use serde_json::json;

use super::Format;
use super::json::kind;
use crate::escape::{quote, quote_if_needed};
use crate::lossless::name;
use crate::option::value::ProgressWhen;
use crate::output::Output;
use crate::progress::Progress;
use crate::sizes::plural;

/// How much is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    pub(crate) format: Format,
    pub(crate) verbose: bool,
    pub(crate) stats: bool,
    pub(crate) progress: ProgressWhen,
}

struct Reporter<'a> {
    output: &'a Output,
    how: &'a How,
    mode: Mode,
    progress: &'a Progress<'a>,
}

impl Monitor for Reporter<'_> {
    fn failed(&self, failure: &Failure) {
        self.output.list(|| failure_json(failure));
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
        self.how.verbose || self.how.format == Format::Json || self.mode == Mode::Pretend
    }

    fn removed(&self, removed: &Removed) {
        let line = match self.how.format {
            Format::Json => removed_json(removed, self.mode),
            Format::Text => {
                let verb = if self.mode == Mode::Pretend { "would remove" } else { "removed" };
                let noun = if removed.kind == Kind::Directory { "directory " } else { "" };
                format!("{verb} {noun}{}", quote(&removed.path))
            }
        };
        self.progress.aside(|| self.output.line(&line));
    }

    fn ask(&self, question: &Question) -> bool {
        self.progress.aside(|| ask(self.output, &question_text(question)))
    }
}

/// Asks a person something; no answer is no.
pub(crate) fn ask(output: &Output, text: &str) -> bool {
    output.flush();
    output.raw_error(&format!("{}: {text}", output.program()));
    crate::answer::is_yes()
}

fn question_text(question: &Question) -> String {
    let path = quote(&question.path);
    let protected = match question.protection {
        Protection::None => "",
        Protection::Protected => "write-protected ",
    };
    match question.reason {
        PromptReason::Descend => format!("descend into {protected}directory {path}? "),
        PromptReason::TryInaccessible => {
            format!("attempt removal of inaccessible directory {path}? ")
        }
        PromptReason::Remove { kind, size } => {
            format!("remove {protected}{} {path}? ", kind_words(kind, size))
        }
    }
}

/// Names a kind of file as GNU's tools do.
fn kind_words(kind: Kind, size: u64) -> &'static str {
    match kind {
        Kind::Regular if size == 0 => "regular empty file",
        Kind::Regular => "regular file",
        Kind::Directory => "directory",
        Kind::Symlink => "symbolic link",
        Kind::Fifo => "fifo",
        Kind::Socket => "socket",
        Kind::BlockDevice => "block special file",
        Kind::CharDevice => "character special file",
        Kind::Unknown => "weird file",
    }
}

/// Returns the lines for a failure, without the program's name.
pub(super) fn message(failure: &Failure) -> Vec<String> {
    let path = quote(&failure.path);
    let reason = failure.errno.map(haul_sys::errno_text);
    let with_reason = |text: String| match &reason {
        Some(reason) => format!("{text}: {reason}"),
        None => text,
    };
    match failure.what {
        What::ReadDirectory => {
            vec![with_reason(format!("traversal failed: {}", quote_if_needed(&failure.path)))]
        }
        What::Dots => {
            vec![format!("refusing to remove '.' or '..' directory: skipping {path}")]
        }
        What::Root => {
            let same = if failure.path == b"/" { "" } else { " (same as '/')" };
            vec![
                format!("it is dangerous to operate recursively on {path}{same}"),
                "use --no-preserve-root to override this failsafe".to_owned(),
            ]
        }
        What::OtherDevice => vec![format!("skipping {path}, since it's on a different device")],
        What::MountPoint => vec![
            format!("skipping {path}, since it's on a different device"),
            "and --preserve-root=all is in effect".to_owned(),
        ],
        What::StatParent => {
            let mut parent = failure.path.clone();
            parent.extend_from_slice(b"/..");
            vec![format!("failed to stat {}: skipping {path}", quote(&parent))]
        }
        What::Changed => vec![format!("{path} changed while it was moved; it stays")],
        _ => vec![with_reason(format!("cannot remove {path}"))],
    }
}

fn removed_json(removed: &Removed, mode: Mode) -> String {
    json!({
        "event": "entry",
        "outcome": if mode == Mode::Pretend { "would-remove" } else { "removed" },
        "kind": if removed.kind == Kind::Unknown { None } else { Some(kind(removed.kind)) },
        "path": name(&removed.path),
    })
    .to_string()
}

fn failure_json(failure: &Failure) -> String {
    json!({
        "event": "failure",
        "what": format!("{:?}", failure.what),
        "errno": failure.errno.map(haul_sys::Errno::raw_os_error),
        "error": failure.errno.map(haul_sys::errno_text),
        "path": name(&failure.path),
        "message": message(failure).join("; "),
    })
    .to_string()
}

/// Runs a removal, tells what happens, and returns the exit code, or dies by the signal that ended
/// it.
pub(crate) fn run(output: &Output, how: &How, request: &Request) -> ExitCode {
    let stop = haul_sys::process::hear_stop();
    let jobs = request.resources.jobs.max(request.resources.waiting_jobs);
    let control = Control::new(jobs, stop);
    let progress = Progress::new(how.progress, how.verbose);
    let started = Instant::now();
    let counts = std::thread::scope(|scope| {
        progress.start_line(scope, || line(&control.counts(), started.elapsed()));
        let mode = request.policy.mode;
        let reporter = Reporter { output, how, mode, progress: &progress };
        let counts = haul_engine::remove::remove(request, &reporter, &control);
        progress.end();
        counts
    });
    let time = started.elapsed();
    let signal = haul_sys::process::stop_signal();
    if how.format == Format::Json {
        output.line(&summary_json(&counts, time, signal));
    }
    if how.stats {
        output.raw_error(&summary(&counts, time, request.policy.mode));
    }
    let told = output.finish();
    if let Some(signal) = signal {
        haul_sys::process::die_by(signal);
    }
    if counts.failures > 0 || !told { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The line that shows progress.
fn line(counts: &Counts, time: Duration) -> String {
    format!(
        "{} removed, {} of them directories, {} a second",
        counts.entries(),
        counts.directories,
        per_second(counts, time)
    )
}

fn per_second(counts: &Counts, time: Duration) -> u128 {
    u128::from(counts.entries()) * 1_000_000 / time.as_micros().max(1)
}

fn summary(counts: &Counts, time: Duration, mode: Mode) -> String {
    let mut parts = vec![plural(counts.files, "file", "files")];
    for (count, one, many) in [
        (counts.directories, "directory", "directories"),
        (counts.symlinks, "symbolic link", "symbolic links"),
        (counts.specials, "special file", "special files"),
        (counts.skipped, "skipped", "skipped"),
        (counts.failures, "failure", "failures"),
    ] {
        if count > 0 {
            parts.push(plural(count, one, many));
        }
    }
    let verb = if mode == Mode::Pretend { "would remove" } else { "removed" };
    format!(
        "{verb}: {} in {}, {} a second\nworkers: {}\n",
        parts.join(", "),
        crate::sizes::duration(time),
        per_second(counts, time),
        counts.workers
    )
}

fn summary_json(counts: &Counts, time: Duration, signal: Option<i32>) -> String {
    json!({
        "event": "summary",
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "specials": counts.specials,
        "skipped": counts.skipped,
        "failures": counts.failures,
        "seconds": time.as_secs_f64(),
        "workers": counts.workers,
        "stopped": signal.is_some(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_gnus() {
        let text = |reason, protection| {
            question_text(&Question { path: b"x".to_vec(), reason, protection })
        };
        let remove = |kind, size| PromptReason::Remove { kind, size };
        assert_eq!(
            text(remove(Kind::Regular, 0), Protection::Protected),
            "remove write-protected regular empty file 'x'? "
        );
        assert_eq!(text(remove(Kind::Directory, 9), Protection::None), "remove directory 'x'? ");
        assert_eq!(
            text(PromptReason::Descend, Protection::Protected),
            "descend into write-protected directory 'x'? "
        );
    }
}
