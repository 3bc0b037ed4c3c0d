//! The options that `read` and `write` share.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use super::config::{CONFIG, NO_CONFIG};
use super::data::{CACHE_VALUES, DIGEST_VALUES, bandwidth, cache, io_size, queue_depth};
use super::gentle;
use super::help::version;
use super::metrics::{JOB, METRICS};
use crate::ending::{print_and_end, usage_error};
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Usage, Word, own, parse_anywhere};
use crate::metrics;
use crate::output::Output;
use crate::page::Page;
use crate::value::{WHEN_VALUES, When, when};
use haul_io::digest::Algorithm;
use haul_io::{Cache, DataPolicy};

/// An option that both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamId {
    Bandwidth,
    Cache,
    Config,
    Gentle,
    Help,
    IoSize,
    Job,
    Metrics,
    NoConfig,
    Progress,
    QueueDepth,
    Stats,
    Sum,
    Version,
}

/// The values of these options.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) policy: DataPolicy,
    pub(crate) bytes_per_second: Option<u64>,
    pub(crate) progress: When,
    pub(crate) sum: Option<&'static Algorithm>,
    pub(crate) stats: bool,
    pub(crate) metrics: metrics::Wanted,
}

impl Settings {
    pub(crate) fn new() -> Settings {
        Settings {
            policy: DataPolicy::of_run(),
            bytes_per_second: None,
            progress: When::Auto,
            sum: None,
            stats: false,
            metrics: metrics::Wanted::default(),
        }
    }

    /// Applies an option.
    pub(crate) fn set(&mut self, id: StreamId, value: Option<&OsStr>) -> Result<(), Usage> {
        let word = value.unwrap_or_default();
        match id {
            StreamId::Bandwidth => self.bytes_per_second = Some(bandwidth(word)?),
            StreamId::Cache => self.policy.cache = cache(word)?,
            StreamId::Gentle => gentle::begin()?,
            StreamId::IoSize => self.policy.io_bytes = Some(io_size(word)?),
            StreamId::Job => self.metrics.set_job(value)?,
            StreamId::Metrics => self.metrics.set_file(value.map(OsStr::to_owned))?,
            StreamId::Stats => self.stats = true,
            StreamId::Progress => self.progress = when("--progress", value)?,
            StreamId::QueueDepth => self.policy.queue_depth = Some(queue_depth(word)?),
            StreamId::Sum => self.sum = Some(sum_algorithm(word)?),
            // The words of a configuration are here already.
            StreamId::Config | StreamId::NoConfig => {}
            StreamId::Help | StreamId::Version => {}
        }
        Ok(())
    }
}

/// Reads the value of `--sum`.
pub(crate) fn sum_algorithm(word: &OsStr) -> Result<&'static Algorithm, Usage> {
    word.to_str().and_then(Algorithm::find).ok_or_else(|| {
        let names: Vec<&str> =
            haul_io::digest::TABLE.iter().map(|algorithm| algorithm.name).collect();
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("there is no sum {word}: give one of {}", names.join(", ")))
    })
}

/// The settings that an applet's arguments change.
pub(crate) trait Wanted {
    /// Its options.
    type Id: Copy;

    /// Returns the shared option that one of them is.
    fn shared(id: Self::Id) -> Option<StreamId>;

    /// Returns the values of the shared options.
    fn settings(&self) -> &Settings;

    /// Applies an option.
    fn set(&mut self, id: Self::Id, value: Option<&OsStr>) -> Result<(), Usage>;

    /// Returns the words of the command that the operands belong to from here on, if an option began one.
    fn command(&mut self) -> Option<&mut Vec<OsString>> {
        None
    }

    /// Refuses options that do not fit together.
    fn settle(&self) -> Result<(), Usage> {
        Ok(())
    }
}

/// Reads an applet's words and returns the files, of which there is one at least; or the exit
/// status after a text or an error message.
pub(crate) fn files<W: Wanted>(
    output: &Output,
    arguments: &[OsString],
    all: &[Opt<W::Id>],
    help: impl Fn(&[Opt<W::Id>]) -> Page,
    wanted: &mut W,
) -> Result<Vec<OsString>, ExitCode> {
    let complain = |usage: Usage| usage_error(output, &usage);
    let mut files = Vec::new();
    // Neither is a program of GNU's, whose options POSIXLY_CORRECT puts before the operands.
    for word in parse_anywhere(arguments, all).map_err(complain)? {
        match word {
            Word::Operand(word) => wanted.command().unwrap_or(&mut files).push(word),
            Word::Option { id, value } => match W::shared(id) {
                Some(StreamId::Help) => return Err(print_and_end(output, &help(all).to_string())),
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
    wanted.settle().map_err(complain)?;
    let metrics = &wanted.settings().metrics;
    metrics.settle().map_err(complain)?;
    output.measure_in(metrics).map_err(|text| {
        output.error(&text);
        ExitCode::FAILURE
    })?;
    Ok(files)
}

/// The options that both have, in terms of an applet's own.
pub(crate) fn shared<I: Copy>(of: fn(StreamId) -> I) -> Vec<Opt<I>> {
    vec![
        own(
            of(StreamId::Bandwidth),
            "bandwidth",
            Required("RATE"),
            "move at most RATE bytes a second, as in 50M",
        ).or_default(),
        own(
            of(StreamId::Cache),
            "cache",
            Required("POLICY"),
            "how to use the page cache: auto (default), keep,\ndrop, direct, restore",
        ).or_default().with(CACHE_VALUES),
        own(of(StreamId::Config), "config", Nothing, CONFIG),
        gentle::gentle(of(StreamId::Gentle)).or_default(),
        own(
            of(StreamId::IoSize),
            "io-size",
            Required("SIZE"),
            "bytes of one request (default 2M, 1M to servers)",
        ).or_default(),
        own(of(StreamId::Job), "job", Required("NAME"), JOB),
        own(of(StreamId::Metrics), "metrics", Required("FILE"), METRICS),
        own(of(StreamId::NoConfig), "no-config", Nothing, NO_CONFIG),
        own(
            of(StreamId::Progress),
            "progress",
            Optional("WHEN"),
            "show progress on standard error, and which side\nthe run waits for: always, never, auto",
        ).or_default().with(WHEN_VALUES),
        own(
            of(StreamId::QueueDepth),
            "queue-depth",
            Required("N"),
            "requests in flight (default 8, 32 to servers)",
        ).or_default(),
        own(
            of(StreamId::Stats),
            "stats",
            Nothing,
            "print a summary on standard error: bytes, time,\nrate, how long each side was waited for",
        ).or_default(),
        own(
            of(StreamId::Sum),
            "sum",
            Required("ALGORITHM"),
            "compute a digest of the data: blake3, xxh3-64,\nsha256, md5, ...",
        ).or_default().with(DIGEST_VALUES),
        own(of(StreamId::Help), "help", Nothing, "show this text and exit"),
        own(of(StreamId::Version), "version", Nothing, "show the version and exit"),
    ]
}

/// Returns whether a warning is due where the policy is not possible.
pub(crate) fn must_be_direct(policy: &DataPolicy) -> bool {
    policy.cache == Cache::Direct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_found_by_name() {
        assert!(sum_algorithm(OsStr::new("sha256")).is_ok());
        assert!(sum_algorithm(OsStr::new("crc0")).is_err());
    }
}
