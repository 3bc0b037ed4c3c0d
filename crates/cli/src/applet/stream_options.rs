//! What `read` and `write` share: options about bytes, warnings, the line of progress.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use haul_io::digest::Algorithm;
use haul_io::stream::Side;
use haul_io::{Cache, DataPolicy};
use haul_sys::data::{seek_end, seek_tell};
use haul_sys::fs::{Kind, Stat, appends, fstat};

use super::common::{ProgressWhen, print_and_end, usage_error};
use super::cp_help::version;
use super::data_options::{cache, io_size, queue_depth, size};
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Usage, Word, own, parse};
use crate::output::Output;
use crate::sizes;

/// An option that both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamId {
    Bandwidth,
    Cache,
    Help,
    IoSize,
    Progress,
    QueueDepth,
    Sum,
    Version,
}

/// What these options say.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) policy: DataPolicy,
    pub(super) bytes_per_second: Option<u64>,
    pub(super) progress: ProgressWhen,
    pub(super) sum: Option<&'static Algorithm>,
}

impl Settings {
    pub(super) const fn new() -> Settings {
        Settings {
            policy: DataPolicy::PLAIN,
            bytes_per_second: None,
            progress: ProgressWhen::Auto,
            sum: None,
        }
    }

    /// Sets what an option says.
    pub(super) fn set(&mut self, id: StreamId, value: Option<&OsStr>) -> Result<(), Usage> {
        let word = value.unwrap_or_default();
        match id {
            StreamId::Bandwidth => self.bytes_per_second = Some(size("--bandwidth", word)?),
            StreamId::Cache => self.policy.cache = cache(word)?,
            StreamId::IoSize => self.policy.io_bytes = Some(io_size(word)?),
            StreamId::Progress => self.progress = super::common::progress_when(value)?,
            StreamId::QueueDepth => self.policy.queue_depth = Some(queue_depth(word)?),
            StreamId::Sum => self.sum = Some(algorithm(word)?),
            StreamId::Help | StreamId::Version => {}
        }
        Ok(())
    }
}

fn algorithm(word: &OsStr) -> Result<&'static Algorithm, Usage> {
    word.to_str().and_then(Algorithm::find).ok_or_else(|| {
        let names: Vec<&str> =
            haul_io::digest::TABLE.iter().map(|algorithm| algorithm.name).collect();
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("there is no sum {word}: give one of {}", names.join(", ")))
    })
}

/// What an applet's words set.
pub(super) trait Wanted {
    /// Its options.
    type Id: Copy;

    /// Returns the shared option that one of them is.
    fn shared(id: Self::Id) -> Option<StreamId>;

    /// Sets what an option says.
    fn set(&mut self, id: Self::Id, value: Option<&OsStr>) -> Result<(), Usage>;
}

/// Reads an applet's words and returns the files, of which there is one at least; or how it ended
/// already, with a text or a complaint.
pub(super) fn files<W: Wanted>(
    output: &Output,
    arguments: &[OsString],
    all: &[Opt<W::Id>],
    help: impl Fn(&[Opt<W::Id>]) -> String,
    wanted: &mut W,
) -> Result<Vec<OsString>, ExitCode> {
    let complain = |usage: Usage| usage_error(output, &usage);
    let mut files = Vec::new();
    for word in parse(arguments, all).map_err(complain)? {
        match word {
            Word::Operand(file) => files.push(file),
            Word::Option { id, value } => match W::shared(id) {
                Some(StreamId::Help) => return Err(print_and_end(output, &help(all))),
                Some(StreamId::Version) => {
                    return Err(print_and_end(output, &version(output.program())));
                }
                _ => wanted.set(id, value.as_deref()).map_err(complain)?,
            },
        }
    }
    if files.is_empty() {
        return Err(complain(Usage("missing operand".to_owned())));
    }
    Ok(files)
}

/// The options that both have, in terms of an applet's own.
pub(super) fn shared<I>(of: fn(StreamId) -> I) -> Vec<Opt<I>> {
    vec![
        own(
            of(StreamId::Bandwidth),
            "bandwidth",
            Required("RATE"),
            "move at most RATE bytes a second, as in 50M",
        ),
        own(
            of(StreamId::Cache),
            "cache",
            Required("POLICY"),
            "what becomes of the page cache: auto (default),\nkeep, drop, direct, restore",
        ),
        own(
            of(StreamId::IoSize),
            "io-size",
            Required("SIZE"),
            "bytes of one request (default 2M, 1M to servers)",
        ),
        own(
            of(StreamId::Progress),
            "progress",
            Optional("WHEN"),
            "show on standard error how far it is, and which\nside is waited for: always, never, auto",
        ),
        own(
            of(StreamId::QueueDepth),
            "queue-depth",
            Required("N"),
            "requests in flight (default 8, 32 to servers)",
        ),
        own(
            of(StreamId::Sum),
            "sum",
            Required("ALGORITHM"),
            "take a digest in passing: blake3, xxh3-64,\nsha256, md5, ...",
        ),
        own(of(StreamId::Help), "help", Nothing, "show this text and exit"),
        own(of(StreamId::Version), "version", Nothing, "show the version and exit"),
    ]
}

/// Tells whether a policy is one that people want to be told of when it cannot be had.
pub(super) fn must_be_direct(policy: &DataPolicy) -> bool {
    policy.cache == Cache::Direct
}

/// What a stream has done so far; shared with who shows it.
#[derive(Debug)]
pub(super) struct Tally {
    begun: Instant,
    bytes: AtomicU64,
    /// 0 is unknown.
    total: AtomicU64,
    waited_in: AtomicU64,
    waited_out: AtomicU64,
    shown_in: AtomicU64,
    shown_out: AtomicU64,
    /// When the wait that is going on began, in nanoseconds from the beginning on; 0 is none. Who
    /// waits for long is to be told while it waits.
    since_in: AtomicU64,
    since_out: AtomicU64,
}

impl Tally {
    pub(super) fn new(total: Option<u64>) -> Tally {
        Tally {
            begun: Instant::now(),
            bytes: AtomicU64::new(0),
            total: AtomicU64::new(total.unwrap_or(0)),
            waited_in: AtomicU64::new(0),
            waited_out: AtomicU64::new(0),
            shown_in: AtomicU64::new(0),
            shown_out: AtomicU64::new(0),
            since_in: AtomicU64::new(0),
            since_out: AtomicU64::new(0),
        }
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1)
    }

    pub(super) fn moved(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn expect(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts the time that a call took as waiting for a side.
    pub(super) fn waiting<T>(&self, side: Side, call: impl FnOnce() -> T) -> T {
        let (waited, since) = match side {
            Side::Source => (&self.waited_in, &self.since_in),
            Side::Target => (&self.waited_out, &self.since_out),
        };
        let begun = self.now_ns();
        since.store(begun, Ordering::Relaxed);
        let answer = call();
        since.store(0, Ordering::Relaxed);
        waited.fetch_add(self.now_ns() - begun, Ordering::Relaxed);
        answer
    }

    /// Returns how many bytes were moved so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns how long input and output were waited for, in nanoseconds.
    pub(super) fn waits(&self) -> (u64, u64) {
        (self.waited_in.load(Ordering::Relaxed), self.waited_out.load(Ordering::Relaxed))
    }

    /// Returns the line of progress. `(full, empty)` says what it means when the output, and the
    /// input, is waited for.
    pub(super) fn line(&self, (full, empty): (&str, &str)) -> String {
        let bytes = self.bytes.load(Ordering::Relaxed);
        let total = self.total.load(Ordering::Relaxed);
        let time = self.begun.elapsed();
        let mut text = sizes::bytes(bytes);
        if let Some(percent) = (bytes.min(total) * 100).checked_div(total) {
            text.push_str(&format!(" of {} ({percent} %)", sizes::bytes(total)));
        }
        text.push_str(&format!("  {}", sizes::rate(bytes, time)));
        if total > bytes && bytes > 0 {
            let left = time.as_secs_f64() * (total - bytes) as f64 / bytes as f64;
            let left = Duration::try_from_secs_f64(left.ceil()).unwrap_or_default();
            text.push_str(&format!("  {} left", sizes::duration(left)));
        }
        let waited = |waited: &AtomicU64, since: &AtomicU64, shown: &AtomicU64| {
            let going_on = match since.load(Ordering::Relaxed) {
                0 => 0,
                since => self.now_ns().saturating_sub(since),
            };
            let all = waited.load(Ordering::Relaxed) + going_on;
            // Between the two loads a wait may have ended, and then it counts the next time.
            all.saturating_sub(shown.swap(all, Ordering::Relaxed))
        };
        let inward = waited(&self.waited_in, &self.since_in, &self.shown_in);
        let outward = waited(&self.waited_out, &self.since_out, &self.shown_out);
        match outward.cmp(&inward) {
            std::cmp::Ordering::Greater => text.push_str(&format!("  {full}")),
            std::cmp::Ordering::Less => text.push_str(&format!("  {empty}")),
            std::cmp::Ordering::Equal => {}
        }
        text
    }
}

/// Fails where what is written to standard output would be read again, without end.
pub(super) fn refuse_own_output(source: BorrowedFd<'_>) -> Result<(), String> {
    let stdout = std::io::stdout();
    // What cannot be described is no file that grows.
    let (Ok(from), Ok(to)) = (fstat(source), fstat(&stdout)) else { return Ok(()) };
    if feeds_on_itself((source, &from), (stdout.as_fd(), &to)) {
        return Err("input file is output file".to_owned());
    }
    Ok(())
}

/// Tells whether what is written would be read again, without end.
pub(super) fn feeds_on_itself(
    (source, from): (BorrowedFd<'_>, &Stat),
    (target, to): (BorrowedFd<'_>, &Stat),
) -> bool {
    if matches!(from.kind(), Kind::Fifo | Kind::Socket) || !from.same_file(to) {
        return false;
    }
    let Ok(at) = seek_tell(source) else { return false };
    let end =
        if appends(target).unwrap_or(false) { seek_end(target, 0) } else { seek_tell(target) };
    end.is_ok_and(|end| at < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_who_waits() {
        let tally = Tally::new(Some(4096));
        tally.moved(1024);
        tally.waiting(Side::Target, || std::thread::sleep(Duration::from_millis(2)));
        let line = tally.line(("full", "empty"));
        assert!(line.starts_with("1.0 KiB of 4.0 KiB (25 %)"), "{line}");
        assert!(line.ends_with("  full"), "{line}");
        tally.waiting(Side::Source, || std::thread::sleep(Duration::from_millis(2)));
        assert!(tally.line(("full", "empty")).ends_with("  empty"));
    }

    #[test]
    fn who_waits_is_told_while_it_waits() {
        let tally = Tally::new(None);
        tally.waiting(Side::Source, || {
            let line = tally.line(("full", "empty"));
            assert!(line.ends_with("  empty"), "{line}");
        });
    }

    #[test]
    fn sums_are_found_by_name() {
        assert!(algorithm(OsStr::new("sha256")).is_ok());
        assert!(algorithm(OsStr::new("crc0")).is_err());
    }
}
