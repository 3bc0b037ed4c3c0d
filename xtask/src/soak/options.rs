//! The arguments of `cargo xtask soak` and `cargo xtask fuzz`.

use crate::error::{Error, Result};
use std::path::PathBuf;

const USAGE: &str = "MINUTES [--seed N] [--binary HAUL] [--only NAME]";

/// What to play, and how long.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// 0 for one round.
    pub(crate) minutes: u64,
    /// The seed of the first round; the others follow.
    pub(crate) seed: Option<u64>,
    /// The binary to test instead of a fresh release build.
    pub(crate) binary: Option<PathBuf>,
    /// The case or target to play alone.
    pub(crate) only: Option<String>,
}

impl Options {
    /// Reads the arguments; `cases` are the names that `--only` takes.
    pub(crate) fn parse(arguments: &[String], cases: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut minutes = None;
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| Error::new(format!("{argument} takes a value")));
            match argument.as_str() {
                "--seed" => options.seed = Some(number(value()?)?),
                "--binary" => options.binary = Some(value()?.into()),
                "--only" => options.only = Some(value()?.clone()),
                other if minutes.is_none() && !other.starts_with('-') => {
                    minutes = Some(number(other)?);
                }
                other => return Err(usage(format!("unexpected {other:?}"))),
            }
        }
        if let Some(only) = &options.only
            && !cases.contains(&only.as_str())
        {
            let known = cases.join(" ");
            return Err(
                Error::new(format!("there is no {only:?}")).hint(format!("there are: {known}"))
            );
        }
        options.minutes = minutes.ok_or_else(|| usage("MINUTES is missing"))?;
        Ok(options)
    }
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| usage(format!("{text:?} is not a number")))
}

fn usage(what: impl Into<String>) -> Error {
    Error::new(what).hint(USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words, &["cp", "mv"])
    }

    #[test]
    fn options_in_any_order() {
        let options = parse("--only mv 3 --seed 7 --binary x/haul").unwrap();
        let expected = Options {
            minutes: 3,
            seed: Some(7),
            binary: Some("x/haul".into()),
            only: Some("mv".into()),
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["", "x", "1 2", "1 --only rm", "1 --seed", "1 --seed x", "1 --bogus"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
