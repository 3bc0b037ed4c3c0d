//! Something that is wrong with what haul did, and the limits that every program has to keep.

use crate::trial::{Status, Trial};
use rustix::process::Signal;

/// Memory that no command on the small trees and inputs of these tests needs.
const RSS_BYTES_MAX: u64 = 256 << 20;

/// The class of a program that ran longer than the limit.
pub(crate) const HANG: &str = "hang";

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// A few words, the same for findings of one kind.
    pub(crate) class: String,
    /// What exactly, in lines.
    pub(crate) details: Vec<String>,
}

impl Flaw {
    pub(crate) fn new(class: impl Into<String>, details: Vec<String>) -> Self {
        Self { class: class.into(), details }
    }

    /// Makes a finding from the lines of a text.
    pub(crate) fn of_text(class: impl Into<String>, text: &str) -> Self {
        Self::new(class, text.lines().map(str::to_owned).collect())
    }

    /// Returns what no program may do, whatever it is asked for. A program that SIGPIPE ended says nothing: the next one
    /// has closed the pipe.
    pub(crate) fn unsound(trial: &Trial) -> Vec<Self> {
        let mut flaws = Vec::new();
        let says = &trial.stderr;
        match trial.status {
            Status::TimedOut => flaws.push(Self::of_text(HANG, says)),
            Status::Killed(number) if number != Signal::PIPE.as_raw() => {
                flaws.push(Self::of_text(format!("killed by signal {number}"), says));
            }
            Status::Killed(_) | Status::Exited(_) => {}
        }
        if says.contains("panicked at") {
            flaws.push(Self::of_text("panic", says));
        }
        if trial.max_rss_bytes > RSS_BYTES_MAX {
            flaws.push(Self::of_text("memory", &format!("{} MiB", trial.max_rss_bytes >> 20)));
        }
        if matches!(trial.status, Status::Exited(code) if code != 0) && says.is_empty() {
            flaws.push(Self::new("failure without a message", Vec::new()));
        }
        flaws
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
        assert_eq!(trial(Status::Killed(13), "", 1), []);
    }
}
