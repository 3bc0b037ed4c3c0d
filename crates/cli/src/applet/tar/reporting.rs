//! What a run has done, counted for `--stats`, `--json`, `--progress` and `--metrics`, and told as those
//! want it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haul_archive::format::{Member, MemberKind};
use haul_sys::Errno;
use serde_json::{Value, json};

use super::own::Own;
use super::task::Mode;
use crate::json_line;
use crate::lossless::name;
use crate::metrics::Figures;
use crate::progress::{Progress, Tally};
use crate::sizes;
use crate::value::When;

/// The kinds of members in JSON and metrics, in the order in which they are counted.
const KINDS: [&str; 5] = ["file", "directory", "symlink", "hard-link", "special"];

/// What went wrong with something, for programs.
#[derive(Clone, Copy)]
pub(super) enum Severity {
    Failure,
    Warning,
    Difference,
}

/// The figures of a run.
pub(super) struct Reporting {
    mode: Mode,
    pub(super) is_json: bool,
    shows_stats: bool,
    members: [AtomicU64; KINDS.len()],
    /// Of files, without holes.
    bytes: AtomicU64,
    /// Files of an earlier run.
    kept: AtomicU64,
    failures: AtomicU64,
    warnings: AtomicU64,
    /// Bytes of the archive, and how long it was waited for and the files were.
    pub(super) tally: Tally,
    pub(super) progress: Progress<'static>,
}

impl Reporting {
    /// Counts from 0. `is_quiet` is whether no bar is shown unless it is asked for.
    pub(super) fn new(mode: Mode, own: &Own, is_quiet: bool) -> Reporting {
        let is_long = matches!(mode, Mode::Create | Mode::Extract);
        let when = match own.progress {
            When::Auto if is_quiet || !is_long => When::Never,
            when => when,
        };
        Reporting {
            mode,
            is_json: own.is_json,
            shows_stats: own.shows_stats,
            members: Default::default(),
            bytes: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            warnings: AtomicU64::new(0),
            tally: Tally::new(None),
            progress: Progress::new(when, false),
        }
    }

    /// Returns what is done to members, as a participle.
    const fn deed(&self) -> &'static str {
        match self.mode {
            Mode::List => "listed",
            Mode::Extract => "extracted",
            Mode::Create | Mode::Append => "archived",
            Mode::Compare => "compared",
        }
    }

    /// Returns the line of progress.
    pub(super) fn line(&self) -> String {
        self.tally.line(match self.mode {
            Mode::Create | Mode::Append => ("waiting for the archive", "waiting for the files"),
            Mode::List | Mode::Extract | Mode::Compare => {
                ("waiting for the files", "waiting for the archive")
            }
        })
    }

    /// Counts a member; returns its line, if lines are wanted.
    pub(super) fn member(&self, member: &Member) -> Option<String> {
        let at = kind_number(member.kind);
        if let Some(count) = self.members.get(at) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        if member.is_file() {
            self.bytes.fetch_add(member.stored_bytes, Ordering::Relaxed);
        }
        self.is_json.then(|| member_line(member))
    }

    /// Counts a file that was there already.
    pub(super) fn kept(&self) {
        self.kept.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts what went wrong; returns its line.
    pub(super) fn trouble(
        &self,
        severity: Severity,
        path: Option<&[u8]>,
        (message, errno): (&str, Option<Errno>),
    ) -> String {
        let event = match severity {
            Severity::Failure => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                "failure"
            }
            Severity::Warning => {
                self.warnings.fetch_add(1, Ordering::Relaxed);
                "warning"
            }
            Severity::Difference => "difference",
        };
        let mut line = json!({
            "event": event,
            "what": self.deed(),
            "errno": errno.map(Errno::raw_os_error),
            "error": errno.map(haul_sys::errno_text),
            "message": message,
        });
        if let Some(path) = path {
            line["path"] = name(path);
        }
        json_line::line(line)
    }

    /// Returns the line about what would be done with a name, if lines are wanted.
    pub(super) fn would(&self, action: &str, path: &[u8]) -> Option<String> {
        self.is_json.then(|| {
            json_line::line(json!({
                "event": "would",
                "action": action.replace(' ', "-"),
                "path": name(path),
            }))
        })
    }

    fn count(&self, kind: usize) -> u64 {
        self.members.get(kind).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Returns the number of members so far.
    pub(super) fn members(&self) -> u64 {
        (0..KINDS.len()).map(|kind| self.count(kind)).sum()
    }

    /// Returns whether there were hard links.
    pub(super) fn has_hard_links(&self) -> bool {
        self.count(kind_number(MemberKind::HardLink)) > 0
    }

    /// Returns the figures of a run that has ended.
    pub(super) fn figures(&self) -> Figures {
        let made = KINDS.iter().enumerate().map(|(at, kind)| (self.deed(), *kind, self.count(at)));
        Figures {
            entries: made.collect(),
            bytes: self.bytes.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            warnings: self.warnings.load(Ordering::Relaxed),
            ..self.tally.figures()
        }
    }

    /// Returns the last line for programs, if lines are wanted.
    pub(super) fn summary(&self) -> Option<String> {
        let figures = self.figures();
        let (source, target) = self.tally.waits();
        let (archive, files) = match self.mode {
            Mode::Create | Mode::Append => (target, source),
            Mode::List | Mode::Extract | Mode::Compare => (source, target),
        };
        self.is_json.then(|| {
            json_line::line(json!({
                "event": "summary",
                "what": self.deed(),
                "files": self.count(0),
                "directories": self.count(1),
                "symlinks": self.count(2),
                "hard_links": self.count(3),
                "specials": self.count(4),
                "kept": self.kept.load(Ordering::Relaxed),
                "bytes": figures.bytes,
                "archive_bytes": self.tally.bytes(),
                "failures": figures.failures,
                "warnings": figures.warnings,
                "seconds": figures.time.as_secs_f64(),
                "waited_for_archive_seconds": Duration::from_nanos(archive).as_secs_f64(),
                "waited_for_files_seconds": Duration::from_nanos(files).as_secs_f64(),
            }))
        })
    }

    /// Returns the text of `--stats`, if it is wanted.
    pub(super) fn stats(&self) -> Option<String> {
        let of = |at, one: &str, many: &str| sizes::plural(self.count(at), one, many);
        let sides = match self.mode {
            Mode::Create | Mode::Append => ("the files", "the archive"),
            Mode::List | Mode::Extract | Mode::Compare => ("the archive", "the files"),
        };
        let kept = match self.kept.load(Ordering::Relaxed) {
            0 => String::new(),
            kept => format!(", {} there already", sizes::plural(kept, "file was", "files were")),
        };
        self.shows_stats.then(|| {
            format!(
                "members: {}, {}, {}, {}, {} {}\nfiles:   {}{kept}\n{}",
                of(0, "file", "files"),
                of(1, "directory", "directories"),
                of(2, "symbolic link", "symbolic links"),
                of(3, "hard link", "hard links"),
                of(4, "special file", "special files"),
                self.deed(),
                sizes::bytes(self.bytes.load(Ordering::Relaxed)),
                self.tally.stats(sides).replacen("bytes:  ", "archive:", 1),
            )
        })
    }
}

const fn kind_number(kind: MemberKind) -> usize {
    match kind {
        MemberKind::Regular | MemberKind::Contiguous | MemberKind::Unknown(_) => 0,
        MemberKind::Directory | MemberKind::DumpDirectory => 1,
        MemberKind::Symlink => 2,
        MemberKind::HardLink => 3,
        MemberKind::CharDevice
        | MemberKind::BlockDevice
        | MemberKind::Fifo
        | MemberKind::VolumeLabel
        | MemberKind::Continued => 4,
    }
}

const fn kind_word(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::Regular | MemberKind::Contiguous => "file",
        MemberKind::Directory | MemberKind::DumpDirectory => "directory",
        MemberKind::Symlink => "symlink",
        MemberKind::HardLink => "hard-link",
        MemberKind::CharDevice => "char-device",
        MemberKind::BlockDevice => "block-device",
        MemberKind::Fifo => "fifo",
        MemberKind::VolumeLabel => "label",
        MemberKind::Continued => "continued",
        MemberKind::Unknown(_) => "unknown",
    }
}

fn member_line(member: &Member) -> String {
    let has_target = matches!(member.kind, MemberKind::Symlink | MemberKind::HardLink);
    let is_device = matches!(member.kind, MemberKind::CharDevice | MemberKind::BlockDevice);
    let device = is_device.then(|| Value::from(vec![member.device.0, member.device.1]));
    json_line::line(json!({
        "event": "member",
        "name": name(&member.name),
        "kind": kind_word(member.kind),
        "bytes": if member.is_file() { member.size } else { 0 },
        "stored_bytes": member.stored_bytes,
        "mode": format!("{:04o}", member.mode),
        "uid": member.uid,
        "gid": member.gid,
        "user": name(&member.user),
        "group": name(&member.group),
        "mtime": { "seconds": member.mtime.seconds, "nanoseconds": member.mtime.nanoseconds },
        "link": has_target.then(|| name(&member.link)),
        "device": device,
        "header_offset": member.header_offset,
    }))
}
