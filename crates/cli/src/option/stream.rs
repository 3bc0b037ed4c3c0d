//! The options that `read` and `write` share.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use super::config::{config, no_config};
use super::data::{DIGEST_VALUES, bandwidth, cache, io_size, own_cache, queue_depth};
use super::effect::{Answer, Effect, answer, nothing, read, read_optional, set};
use super::gentle::{begins, gentle};
use super::metrics::{job, metrics};
use crate::ending::{print_and_end, refused, usage_error};
use crate::escape::quote_word;
use crate::getopt::Takes::{Nothing, Optional, Required};
use crate::getopt::{Opt, Usage, Word, own, parse_anywhere};
use crate::metrics;
use crate::output::Output;
use crate::page::Page;
use crate::value::{WHEN_VALUES, When, when};
use haul_io::digest::Algorithm;
use haul_io::{Cache, DataPolicy};

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
    /// Returns the values of the shared options.
    fn shared(&mut self) -> &mut Settings;

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
    all: &[Opt<Effect<W>>],
    help: impl Fn(&[Opt<Effect<W>>]) -> Page,
    wanted: &mut W,
) -> Result<Vec<OsString>, ExitCode> {
    let complain = |usage: Usage| usage_error(output, &usage);
    let mut files = Vec::new();
    // Neither is a program of GNU's, whose options POSIXLY_CORRECT puts before the operands.
    for word in parse_anywhere(arguments, all).map_err(complain)? {
        match word {
            Word::Operand(word) => wanted.command().unwrap_or(&mut files).push(word),
            Word::Option { id: effect, value } => match effect.answer() {
                Some(answer) => {
                    let text = answer.text(output.program(), || help(all));
                    return Err(print_and_end(output, &text));
                }
                None => {
                    effect.apply(wanted, value).map_err(|error| refused(output, &error))?;
                }
            },
        }
    }
    if files.is_empty() {
        return Err(complain(Usage("missing operand".to_owned())));
    }
    wanted.settle().map_err(complain)?;
    let metrics = &wanted.shared().metrics;
    metrics.settle().map_err(complain)?;
    output.measure_in(metrics).map_err(|text| {
        output.error(&text);
        ExitCode::FAILURE
    })?;
    Ok(files)
}

/// Returns the options that both have, for the settings of one of them.
pub(crate) fn shared<W: Wanted>() -> Vec<Opt<Effect<W>>> {
    vec![
        own(
            read(|wanted: &mut W, rate| { wanted.shared().bytes_per_second = Some(bandwidth(&rate)?); Ok(()) }),
            "bandwidth",
            Required("RATE"),
            "move at most RATE bytes a second, as in 50M",
        ).or_default(),
        own_cache(read(|wanted: &mut W, policy| {
            wanted.shared().policy.cache = cache(&policy)?;
            Ok(())
        }))
        .or_default(),
        // The words of a configuration are here already.
        config(nothing()),
        gentle(begins()).or_default(),
        own(
            read(|wanted: &mut W, bytes| { wanted.shared().policy.io_bytes = Some(io_size(&bytes)?); Ok(()) }),
            "io-size",
            Required("SIZE"),
            "bytes of one request (default 2M, 1M to servers)",
        ).or_default(),
        job(read_optional(|wanted: &mut W, name| {
                Ok(wanted.shared().metrics.set_job(name.as_deref())?)
            })),
        metrics(read_optional(|wanted: &mut W, file| Ok(wanted.shared().metrics.set_file(file)?))),
        no_config(nothing()),
        own(
            read_optional(|wanted: &mut W, word| {
                wanted.shared().progress = when("--progress", word.as_deref())?;
                Ok(())
            }),
            "progress",
            Optional("WHEN"),
            "show progress on standard error, and which side\nthe run waits for: always, never, auto",
        ).or_default().with(WHEN_VALUES),
        own(
            read(|wanted: &mut W, count| { wanted.shared().policy.queue_depth = Some(queue_depth(&count)?); Ok(()) }),
            "queue-depth",
            Required("N"),
            "requests in flight (default 8, 32 to servers)",
        ).or_default(),
        own(
            set(|wanted: &mut W| wanted.shared().stats = true),
            "stats",
            Nothing,
            "print a summary on standard error: bytes, time,\nrate, how long each side was waited for",
        ).or_default(),
        own(
            read(|wanted: &mut W, name| { wanted.shared().sum = Some(sum_algorithm(&name)?); Ok(()) }),
            "sum",
            Required("ALGORITHM"),
            "compute a digest of the data: blake3, xxh3-64,\nsha256, md5, ...",
        ).or_default().with(DIGEST_VALUES),
        own(answer(Answer::Help), "help", Nothing, "show this text and exit"),
        own(answer(Answer::Version), "version", Nothing, "show the version and exit"),
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
