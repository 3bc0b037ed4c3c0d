//! A finding of a fuzzer, and the limits that every program has to keep.

use super::accepted;
use crate::trial::{Status, Trial};

/// Memory that no input of some dozens of kilobytes needs.
const RSS_BYTES_MAX: u64 = 256 << 20;

/// Something that is wrong with what haul did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// A few words, the same for findings of one kind.
    pub(crate) class: String,
    pub(crate) details: Vec<String>,
}

impl Flaw {
    pub(crate) fn new(class: &str, details: &str) -> Self {
        Self { class: class.to_owned(), details: details.lines().map(str::to_owned).collect() }
    }

    /// Makes a finding whose class has the reason that the first refusal, or message, ends with.
    pub(crate) fn with_reason(class: &str, says: &str) -> Self {
        let refusal = says.lines().find(|line| line.contains("refused: "));
        let first = refusal.or(accepted::failures(says).next()).unwrap_or_default();
        let reason = first.rsplit(": ").next().unwrap_or_default();
        // Numbers and names would make a class of each input.
        let words: Vec<&str> = reason
            .split_whitespace()
            .filter(|word| word.chars().all(|letter| letter.is_ascii_alphabetic()))
            .collect();
        Self::new(&format!("{class}: {}", words.join(" ")), says)
    }

    /// Returns what no input may lead to.
    pub(crate) fn unsound(trial: &Trial) -> Vec<Self> {
        let mut flaws = Vec::new();
        let says = &trial.stderr;
        match trial.status {
            Status::TimedOut => flaws.push(Self::new("hang", says)),
            Status::Killed(number) => {
                flaws.push(Self::new(&format!("killed by signal {number}"), says));
            }
            Status::Exited(_) => {}
        }
        if says.contains("panicked at") {
            flaws.push(Self::new("panic", says));
        }
        if trial.max_rss_bytes > RSS_BYTES_MAX {
            flaws.push(Self::new("memory", &format!("{} MiB", trial.max_rss_bytes >> 20)));
        }
        if matches!(trial.status, Status::Exited(code) if code != 0) && says.is_empty() {
            flaws.push(Self::new("failure without a message", ""));
        }
        flaws
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_class_has_the_reason_without_names_and_numbers() {
        let class = |says| Flaw::with_reason("refuses", says).class;
        assert_eq!(
            class("tar: ./a: refused: the size 12 is wrong\nmore"),
            "refuses: the size is wrong"
        );
        assert_eq!(class("tar: a warning\ntar: ./a: refused: why"), "refuses: why");
        assert_eq!(class(""), "refuses: ");
    }

    #[test]
    fn a_panic_a_hang_a_signal_memory_and_silence_are_found() {
        let trial = |status, stderr: &str, max_rss_bytes| {
            Flaw::unsound(&Trial {
                status,
                stderr: stderr.to_owned(),
                max_rss_bytes,
                cpu: Duration::ZERO,
            })
        };
        for (flaws, class) in [
            (trial(Status::Exited(101), "thread 'main' panicked at x", 1), "panic"),
            (trial(Status::TimedOut, "", 1), "hang"),
            (trial(Status::Killed(6), "", 1), "killed by signal 6"),
            (trial(Status::Exited(0), "", RSS_BYTES_MAX + 1), "memory"),
            (trial(Status::Exited(1), "", 1), "failure without a message"),
        ] {
            assert!(flaws.len() == 1 && flaws[0].class == class, "{flaws:?}");
        }
        assert_eq!(trial(Status::Exited(2), "tar: x", 1), []);
    }
}
