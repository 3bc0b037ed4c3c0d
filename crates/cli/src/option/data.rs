//! The options about the bytes of files: methods, sizes, the page cache, rates.

use std::ffi::OsStr;

use haul_engine::request::{Resources, Striping, WAITING_JOBS};
use haul_io::{Cache, Choice, DataPolicy, MethodId, Reflink, Tell};

use crate::escape::quote_word;
use crate::getopt::{Opt, Takes, Usage, Values, choose, own, words_of};

/// The values of options about bytes that are not in the policy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Further {
    /// Whether each file's copy is explained.
    pub(crate) explain: bool,
    /// Bytes for the buffers of all workers.
    pub(crate) memory: Option<usize>,
}

impl Further {
    /// Returns what has to be found out for the reports that are wanted.
    pub(crate) fn tell(self, stats: bool) -> Tell {
        match (self.explain, stats) {
            (true, _) => Tell::Everything,
            (false, true) => Tell::Residency,
            (false, false) => Tell::Nothing,
        }
    }

    /// Returns the workers of a copy, and divides the memory among them. `asked` is the number on the command line,
    /// `usual` the number without one.
    pub(crate) fn resources(
        self,
        data: &mut DataPolicy,
        asked: Option<usize>,
        usual: impl FnOnce() -> usize,
    ) -> Resources {
        let descriptors = haul_sys::process::raise_nofile_limit();
        let jobs = asked.unwrap_or_else(usual);
        // A number of jobs, or a memory limit, on the command line is final.
        let is_bounded = asked.is_some() || self.memory.is_some();
        let waiting_jobs = if is_bounded { jobs } else { jobs.max(WAITING_JOBS) };
        data.worker_bytes = self.memory.map(|bytes| bytes / jobs);
        Resources::with_jobs(jobs).waiting_jobs(waiting_jobs).descriptors(descriptors)
    }
}

/// Returns the text of `--list-methods`: a line for each, best first.
pub(crate) fn list_methods() -> String {
    MethodId::ALL
        .iter()
        .map(|method| format!("{:12}{}\n", method.name(), method.info().summary))
        .collect()
}

/// Reads the value of `--cache`.
pub(crate) fn cache(word: &OsStr) -> Result<Cache, Usage> {
    choose("--cache", word, CACHES)
}

const CACHES: &[(&str, Cache)] = &[
    ("auto", Cache::Auto),
    ("keep", Cache::Keep),
    ("drop", Cache::Drop),
    ("direct", Cache::Direct),
    ("restore", Cache::Restore),
];

/// The values of `--cache`.
pub(crate) const CACHE_VALUES: Values = Values::Words(|| words_of(CACHES));

/// Makes the row of `--cache` for a command whose other options are those of GNU's program.
pub(crate) const fn own_cache<I: Copy>(id: I) -> Opt<I> {
    let help = "how to use the page cache: auto (default), keep,\ndrop, direct, restore";
    own(id, "cache", Takes::Required("POLICY"), help).with(CACHE_VALUES)
}

/// Reads the value of `--striping`.
pub(crate) fn striping(word: &OsStr) -> Result<Striping, Usage> {
    choose("--striping", word, STRIPINGS)
}

const STRIPINGS: &[(&str, Striping)] =
    &[("inherit", Striping::Inherit), ("keep", Striping::Keep), ("size", Striping::BySize)];

/// The values of `--striping`.
pub(crate) const STRIPING_VALUES: Values = Values::Words(|| words_of(STRIPINGS));

/// Reads the value of `--reflink`.
pub(crate) fn reflink(value: Option<&OsStr>) -> Result<Reflink, Usage> {
    value.map_or(Ok(Reflink::Always), |word| choose("--reflink", word, REFLINKS))
}

const REFLINKS: &[(&str, Reflink)] =
    &[("auto", Reflink::Auto), ("always", Reflink::Always), ("never", Reflink::Never)];

/// The values of `--reflink`.
pub(crate) const REFLINK_VALUES: Values = Values::Words(|| words_of(REFLINKS));

/// Reads the value of `--method`.
pub(crate) fn method(word: &OsStr) -> Result<Choice, Usage> {
    choose("--method", word, &methods())
}

fn methods() -> Vec<(&'static str, Choice)> {
    let mut names = vec![("auto", Choice::Auto)];
    names.extend(MethodId::ALL.map(|method| (method.name(), Choice::Only(method))));
    names
}

/// The values of `--method`.
pub(crate) const METHOD_VALUES: Values = Values::Words(|| words_of(&methods()));

/// The names of all digests.
pub(crate) const DIGEST_VALUES: Values =
    Values::Words(|| haul_io::digest::TABLE.iter().map(|algorithm| algorithm.name).collect());

pub(crate) fn io_size(word: &OsStr) -> Result<usize, Usage> {
    let bytes = size("--io-size", word)?;
    let (least, most) = (DataPolicy::IO_UNIT, DataPolicy::IO_BYTES_MAX);
    usize::try_from(bytes).ok().filter(|bytes| (least..=most).contains(bytes)).ok_or_else(|| {
        Usage(format!("invalid --io-size {}: give 4K to 256M", quote_word(word.as_encoded_bytes())))
    })
}

pub(crate) fn queue_depth(word: &OsStr) -> Result<usize, Usage> {
    let most = DataPolicy::QUEUE_DEPTH_MAX;
    match word.to_str().and_then(|text| text.parse().ok()) {
        Some(depth) if (1..=most).contains(&depth) => Ok(depth),
        _ => Err(Usage(format!(
            "invalid --queue-depth {}: give a number from 1 to {most}",
            quote_word(word.as_encoded_bytes())
        ))),
    }
}

/// Reads the value of `--watermarks`: two percentages.
pub(crate) fn marks(word: &OsStr) -> Result<(usize, usize), Usage> {
    let parsed = word.to_str().and_then(|text| {
        let (low, high) = text.split_once(',')?;
        let (low, high): (usize, usize) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low <= 100 && (1..=100).contains(&high)).then_some((low, high))
    });
    parsed.ok_or_else(|| {
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("invalid --watermarks {word}: give two percentages, as in 50,75"))
    })
}

/// Reads an amount of bytes: a number with an optional suffix, as GNU's tools have them.
pub(crate) fn size(option: &str, word: &OsStr) -> Result<u64, Usage> {
    word.to_str().and_then(parse).filter(|bytes| *bytes > 0).ok_or_else(|| {
        let word = quote_word(word.as_encoded_bytes());
        Usage(format!("invalid {option} {word}: give a number of bytes, as in 8M, 512K or 100MB"))
    })
}

/// Reads the value of `--limit-memory`.
pub(crate) fn memory(word: &OsStr) -> Result<usize, Usage> {
    let bytes = size("--limit-memory", word)?;
    Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Reads the value of `--bandwidth` in bytes per second. A number alone is refused: rsync takes it for KiB,
/// other tools for bytes or bits.
pub(crate) fn bandwidth(word: &OsStr) -> Result<u64, Usage> {
    if word.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
        let word = quote_word(word.as_encoded_bytes());
        return Err(Usage(format!(
            "invalid --bandwidth {word}: give a unit, as in 50M for 50 MiB a second or 500K"
        )));
    }
    size("--bandwidth", word)
}

/// The same, where nothing at all may be meant.
pub(crate) fn size_or_zero(option: &str, word: &OsStr) -> Result<u64, Usage> {
    if word == "0" { Ok(0) } else { size(option, word) }
}

fn parse(text: &str) -> Option<u64> {
    const LETTERS: &str = "KMGTPE";
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at_checked(digits)?;
    let number: u64 = number.parse().ok()?;
    let mut letters = suffix.chars();
    let Some(letter) = letters.next() else { return Some(number) };
    let power = LETTERS.find(letter.to_ascii_uppercase())? + 1;
    let base: u64 = match letters.as_str() {
        "" | "iB" => 1024,
        "B" => 1000,
        _ => return None,
    };
    number.checked_mul(base.checked_pow(u32::try_from(power).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_suffixes_of_gnus_tools() {
        assert_eq!(parse("41"), Some(41));
        assert_eq!(parse("8M"), Some(8 << 20));
        assert_eq!(parse("8MiB"), Some(8 << 20));
        assert_eq!(parse("8MB"), Some(8_000_000));
        assert_eq!(parse("1k"), Some(1024));
        assert_eq!(parse("M"), None);
        assert_eq!(parse("8X"), None);
        assert_eq!(parse("20E"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_bandwidth_has_a_unit() {
        assert_eq!(bandwidth(OsStr::new("50M")).ok(), Some(50 << 20));
        for word in ["50", "0", "", "M", "0K"] {
            assert!(bandwidth(OsStr::new(word)).is_err(), "{word}");
        }
    }

    #[test]
    fn methods_are_chosen_by_name() {
        assert_eq!(method(OsStr::new("auto")).ok(), Some(Choice::Auto));
        let last = Choice::Only(MethodId::ReadWrite);
        assert_eq!(method(OsStr::new("read-write")).ok(), Some(last));
        assert!(method(OsStr::new("telepathy")).is_err());
    }
}
