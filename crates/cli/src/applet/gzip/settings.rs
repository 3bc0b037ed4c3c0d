//! The settings of a run, and how options change them.

use std::ffi::OsString;

use haul_codec::Cut;
use haul_io::digest::Algorithm;
use haul_io::{Cache, DataPolicy};

use super::names::SUFFIX_BYTES_MAX;
use crate::ending::{CommandError, usage};
use crate::metrics;
use crate::value::{When, processors};

/// An input of so few bytes has one worker.
const SMALL_BYTES: u64 = 16 << 10;

/// What is done with each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Compress,
    Decompress,
    /// Decompress, and write nothing.
    Test,
    List,
}

/// Where outputs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Files,
    Stdout,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    Off,
    On,
}

impl Switch {
    pub(super) fn is_on(self) -> bool {
        self == Switch::On
    }
}

/// The options of a run.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) task: Task,
    pub(super) target: Target,
    /// How often `-f` was given.
    pub(super) force: u32,
    pub(super) keep: Switch,
    pub(super) level: u8,
    /// Whether the name is stored or restored; by default only stored.
    pub(super) name: Option<Switch>,
    pub(super) time: Option<Switch>,
    pub(super) presume_terminal: Switch,
    pub(super) quiet: Switch,
    pub(super) verbose: u32,
    pub(super) recursive: Switch,
    pub(super) cut: Cut,
    pub(super) suffix: Vec<u8>,
    pub(super) synchronous: Switch,
    pub(super) ascii: Switch,
    pub(super) atomic: Switch,
    pub(super) policy: DataPolicy,
    /// How many workers there may be, if the user says that.
    pub(super) jobs: Option<usize>,
    /// The file that has the index, or gets it.
    pub(super) index: Option<OsString>,
    pub(super) metrics: metrics::Wanted,
    pub(super) progress: When,
    pub(super) sum: Option<&'static Algorithm>,
}

impl Settings {
    pub(super) fn new(task: Task, target: Target) -> Settings {
        Settings {
            task,
            target,
            force: 0,
            keep: Switch::Off,
            level: 6,
            name: None,
            time: None,
            presume_terminal: Switch::Off,
            quiet: Switch::Off,
            verbose: 0,
            recursive: Switch::Off,
            cut: Cut::Even,
            suffix: b".gz".to_vec(),
            synchronous: Switch::Off,
            ascii: Switch::Off,
            atomic: Switch::Off,
            policy: DataPolicy::of_run(),
            jobs: None,
            index: None,
            metrics: metrics::Wanted::default(),
            progress: When::Auto,
            sum: None,
        }
    }

    /// Returns the number of workers that there may be.
    pub(super) fn workers(&self) -> usize {
        self.jobs.unwrap_or_else(processors)
    }

    /// Returns the number of workers for an input of so many bytes. To count processors takes more calls than a small
    /// input.
    pub(super) fn workers_for(&self, bytes: Option<u64>) -> usize {
        if bytes.is_some_and(|bytes| bytes <= SMALL_BYTES) { 1 } else { self.workers() }
    }

    pub(super) fn decompresses(&self) -> bool {
        self.task != Task::Compress
    }

    /// Returns whether names are stored, or restored.
    pub(super) fn keeps_name(&self) -> bool {
        self.name.map_or(!self.decompresses(), Switch::is_on)
    }

    /// Returns whether times are stored, or restored.
    pub(super) fn keeps_time(&self) -> bool {
        self.time.map_or(!self.decompresses(), Switch::is_on)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet.is_on()
    }

    /// Returns whether what is in no known format is passed on.
    pub(super) fn passes_unknown(&self) -> bool {
        self.force > 0 && self.target == Target::Stdout && self.task == Task::Decompress
    }

    /// `-d`, which changes neither a test nor a list.
    pub(super) fn decompress(&mut self) {
        if self.task == Task::Compress {
            self.task = Task::Decompress;
        }
    }

    /// `-t`, which changes no list.
    pub(super) fn test(&mut self) {
        if self.task != Task::List {
            (self.task, self.target) = (Task::Test, Target::Stdout);
        }
    }

    /// `-1` to `-9`. Several digits are several levels, of which the last counts.
    pub(super) fn set_level(&mut self, digits: &[u8]) -> Result<(), CommandError> {
        if digits.contains(&b'0') {
            return usage("invalid option -- '0'".to_owned());
        }
        self.level = digits.last().copied().unwrap_or(b'6') - b'0';
        Ok(())
    }

    /// Refuses what contradicts itself. Returns the warning that is due.
    pub(super) fn settle(&self) -> Result<Option<&'static str>, CommandError> {
        // With a slash it would name a file in another directory.
        let leads_elsewhere = self.suffix.contains(&b'/');
        if self.suffix.is_empty() || self.suffix.len() > SUFFIX_BYTES_MAX || leads_elsewhere {
            let suffix = String::from_utf8_lossy(&self.suffix);
            return Err(CommandError::Plain(format!("invalid suffix '{suffix}'")));
        }
        if self.atomic.is_on() && self.target == Target::Stdout {
            let text = "--atomic is about names of outputs, and here no output gets a name";
            return Err(CommandError::Plain(text.to_owned()));
        }
        if self.sum.is_some() && self.task == Task::List {
            return Err(CommandError::Plain("--sum and --list exclude each other".to_owned()));
        }
        if self.index.is_some() && (self.recursive.is_on() || self.passes_unknown()) {
            let other = if self.recursive.is_on() { "-r" } else { "-cdf" };
            return Err(CommandError::Plain(format!("--index and {other} exclude each other")));
        }
        if matches!(self.policy.cache, Cache::Restore) && self.target == Target::Files {
            let text = "--cache=restore is for outputs that exist; use drop or direct";
            return Err(CommandError::Plain(text.to_owned()));
        }
        self.metrics.settle()?;
        let is_due = self.ascii.is_on() && !self.is_quiet();
        Ok(is_due.then_some("option --ascii ignored on this system"))
    }
}

/// Refuses `-b`, as far as GNU's words go.
pub(super) fn refuse_bits(bits: &[u8]) -> Result<(), CommandError> {
    if bits.iter().all(u8::is_ascii_digit) {
        return Err(CommandError::Plain("-b is for -Z, which is not supported".to_owned()));
    }
    usage("-b operand is not an integer".to_owned())
}
