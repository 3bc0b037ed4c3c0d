//! `--checkpoint`: what is done each time that a number of records was read or written.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haul_sys::process::{Awaited, Zone, local_time};

use super::checkpoint_options::{Action, Checkpoints, RECORDS};
use super::session::Session;
use super::settings::Settings;
use super::totals;

/// Columns of a terminal that does not say how many it has.
const COLUMNS: usize = 80;

/// Whether the archive is read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Counts records and acts.
#[derive(Clone)]
pub(super) struct Counter {
    session: Arc<Session>,
    checkpoints: Checkpoints,
    direction: Direction,
    awaited: Awaited,
    archive: std::ffi::OsString,
    record_bytes: u64,
    count: Arc<AtomicU64>,
}

impl Counter {
    /// Begins to count, or returns `None` if nothing is to be done. To be called before threads are
    /// started.
    pub(super) fn new(
        session: &Arc<Session>,
        settings: &Settings,
        direction: Direction,
    ) -> Option<Counter> {
        let mut checkpoints = settings.checkpoints.clone();
        if !checkpoints.are_on() {
            return None;
        }
        if checkpoints.actions.is_empty() {
            checkpoints.actions.push(Action::Echo(None));
        }
        let signals = checkpoints.actions.iter().filter_map(|action| match action {
            Action::Wait(number) => Some(*number),
            _ => None,
        });
        let awaited = Awaited::block(&signals.collect::<Vec<_>>());
        Some(Counter {
            session: Arc::clone(session),
            checkpoints,
            direction,
            awaited,
            archive: settings.file.clone(),
            record_bytes: settings.creation.blocking * 512,
            count: Arc::default(),
        })
    }

    /// Returns the bytes of a record.
    pub(super) const fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Counts a record, and acts if it is the last one before a checkpoint. May block.
    pub(super) fn record(&self) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(self.checkpoints.every.unwrap_or(RECORDS)) {
            for action in &self.checkpoints.actions {
                self.act(action, count);
            }
        }
    }

    fn act(&self, action: &Action, count: u64) {
        match action {
            Action::Dot => self.session.show_part("."),
            Action::Bell => terminal("\x07"),
            Action::Echo(format) => {
                let default = match self.direction {
                    Direction::Read => "Read checkpoint %u",
                    Direction::Write => "Write checkpoint %u",
                };
                let format = format.as_deref().unwrap_or(default);
                let text = self.text(format, count, "tar: ".len());
                self.session.aside(|| self.session.output.error(&text));
            }
            Action::TtyOut(format) => terminal(&self.text(format, count, 0)),
            Action::Totals => {
                let bytes = count * self.record_bytes;
                totals::print(&self.session, self.word(), bytes, self.session.begin);
            }
            Action::Sleep(time) => std::thread::sleep(*time),
            Action::Exec(command) => self.execute(command, count),
            Action::Wait(_) => self.awaited.wait(),
        }
    }

    const fn word(&self) -> &'static str {
        match self.direction {
            Direction::Read => "read",
            Direction::Write => "written",
        }
    }

    fn execute(&self, command: &str, count: u64) {
        self.session.output.flush();
        let status = Command::new("/bin/sh")
            .args(["-c", command])
            .env("TAR_VERSION", env!("CARGO_PKG_VERSION"))
            .env("TAR_ARCHIVE", &self.archive)
            .env("TAR_CHECKPOINT", count.to_string())
            .env("TAR_BLOCKING_FACTOR", (self.record_bytes / 512).to_string())
            .env("TAR_SUBCOMMAND", if self.direction == Direction::Read { "-x" } else { "-c" })
            .status();
        if let Err(error) = status {
            self.session
                .fail(&format!("/bin/sh: Cannot exec: {}", crate::file_error::describe(&error)));
        }
    }

    /// Replaces what stands for numbers and times in a text that begins in this column.
    fn text(&self, format: &str, count: u64, column: usize) -> String {
        let mut text = String::new();
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            let (before, behind) = rest.split_at(at);
            text.push_str(before);
            let behind = behind.get(1..).unwrap_or_default();
            let (argument, behind) = match behind.strip_prefix('{').and_then(|b| b.split_once('}'))
            {
                Some((argument, behind)) => (Some(argument), behind),
                None => (None, behind),
            };
            let mut letters = behind.chars();
            let letter = letters.next();
            rest = letters.as_str();
            match letter {
                Some('u') => text.push_str(&count.to_string()),
                Some('s') if self.direction == Direction::Read => text.push_str("read"),
                Some('s') => text.push_str("write"),
                Some('d') => text.push_str(&self.session.begin.elapsed().as_secs().to_string()),
                Some('T') => text.push_str(&self.amount(argument, count)),
                Some('t') => text.push_str(&now(argument.unwrap_or("%Y-%m-%d %H:%M:%S"))),
                Some('c') => {
                    let long = "%{%Y-%m-%d %H:%M:%S}t: %ds, %{read,wrote}T%*\r";
                    text.push_str(&self.text(long, count, 0));
                }
                Some('*') => {
                    let width = argument.and_then(|text| text.parse().ok()).or_else(columns);
                    let line = text.rsplit('\r').next().unwrap_or_default();
                    let used = line.chars().count() + column;
                    text.push_str(&" ".repeat(width.unwrap_or(COLUMNS).saturating_sub(used)));
                }
                Some(other) => text.extend(['%', other]),
                None => text.push('%'),
            }
        }
        text.push_str(rest);
        text
    }

    /// Returns the bytes so far behind the word for reading or writing.
    fn amount(&self, words: Option<&str>, count: u64) -> String {
        let mut words = words.unwrap_or("R,W").split(',');
        let (read, written) = (words.next().unwrap_or("R"), words.next().unwrap_or("W"));
        let word = if self.direction == Direction::Read { read } else { written };
        let bytes = count * self.record_bytes;
        format!("{word}: {}", totals::amount(bytes, self.session.begin))
    }
}

fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|columns| *columns > 0)
}

/// Formats the local time by some of the letters of strftime(3).
fn now(format: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0));
    let Some(date) = local_time(seconds, Zone::Local) else { return seconds.to_string() };
    let two = |number: u32| format!("{number:02}");
    let day = format!("{:04}-{:02}-{:02}", date.year, date.month, date.day);
    let clock = format!("{:02}:{:02}:{:02}", date.hour, date.minute, date.second);
    let parts = [
        ("%Y", date.year.to_string()),
        ("%m", two(date.month)),
        ("%d", two(date.day)),
        ("%H", two(date.hour)),
        ("%M", two(date.minute)),
        ("%S", two(date.second)),
        ("%s", seconds.to_string()),
        ("%F", day),
        ("%T", clock),
    ];
    parts.iter().fold(format.to_owned(), |text, (letter, value)| text.replace(letter, value))
}

/// Writes to the terminal of this process, if it has one.
fn terminal(text: &str) {
    if let Ok(mut terminal) = File::options().write(true).open("/dev/tty") {
        let _nowhere_to_tell = terminal.write_all(text.as_bytes());
    }
}
