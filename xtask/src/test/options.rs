//! The arguments of `cargo xtask test`.

use super::load::Load;
use super::suite::Share;
use crate::error::{Error, Result};
use std::num::NonZero;

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) share: Share,
    /// Rounds; the report of more than one names the tests whose results differ.
    pub(super) rounds: usize,
    /// Times that a test which failed is run again, alone.
    pub(super) retries: usize,
    pub(super) loads: Vec<Load>,
    /// Tests to list with their times, the longest first.
    pub(super) slowest: usize,
    /// Tests that run at the same time.
    pub(super) jobs: usize,
    /// Parts of labels; a test runs if its label has one of them, or if there is none.
    pub(super) filters: Vec<String>,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let mut options = Self {
            share: Share::First,
            rounds: 1,
            retries: 0,
            loads: Vec::new(),
            slowest: 0,
            // Many tests wait for a disk or for another process.
            jobs: 2 * processors,
            filters: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || {
                words.next().ok_or_else(|| Error::new(format!("{word} needs a value")).hint(USAGE))
            };
            match word.as_str() {
                "--rest" => options.share = Share::Rest,
                "--repeat" => options.rounds = number(word, value()?)?,
                "--retries" => options.retries = number(word, value()?)?,
                "--beside" => options.loads = Load::parse(value()?)?,
                "--slowest" => options.slowest = number(word, value()?)?,
                "--jobs" => options.jobs = number(word, value()?)?,
                other if other.starts_with('-') => {
                    return Err(Error::new(format!("there is no option {other:?}")).hint(USAGE));
                }
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }

    /// Whether this is all of a share, and not a selection or a search for unsteady tests.
    pub(super) fn is_whole(&self) -> bool {
        self.filters.is_empty() && self.rounds == 1
    }

    pub(super) fn selects(&self, label: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| label.contains(filter))
    }
}

const USAGE: &str = "cargo xtask test [--rest] [--repeat N] [--retries N] [--beside LOAD] \
                     [--slowest N] [--jobs N] [FILTER…], as in `cargo xtask test \"cli all\" mv::`";

fn number(option: &str, value: &str) -> Result<usize> {
    let number = value.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Error::new(format!("{option} {value}: not a number above 0")).hint(USAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_and_filters() {
        let plain = parse("").unwrap();
        assert!(plain.is_whole() && plain.share == Share::First && plain.selects("io lib a"));
        let options = parse("--rest mv:: --repeat 20 --beside cpu=4,disk --slowest 30").unwrap();
        assert_eq!((options.share, options.rounds, options.slowest), (Share::Rest, 20, 30));
        assert_eq!(options.loads, [Load::Processors(4), Load::Disk]);
        assert!(options.selects("cli all mv::a") && !options.selects("cli all rm::a"));
        assert!(!options.is_whole());
    }

    #[test]
    fn mistakes_are_named() {
        for line in ["--quick", "--repeat", "--repeat 0", "--beside net", "--jobs x"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
