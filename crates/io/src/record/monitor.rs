//! What a run of records reports: the seam to words, clocks and signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::Errno;

/// What was done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts {
    /// Whole records that were read.
    pub read_full: u64,
    /// Others.
    pub read_partial: u64,
    /// Whole records that were written.
    pub written_full: u64,
    /// Others.
    pub written_partial: u64,
    /// Bytes that were written or sought over.
    pub bytes: u64,
    /// Records that were longer than `cbs`.
    pub truncated: u64,
}

impl Counts {
    /// Counts the records of bytes that went from file to file.
    #[must_use]
    pub(super) fn with(self, moved: u64, ibs: u64, obs: u64) -> Counts {
        Counts {
            read_full: self.read_full + moved / ibs,
            written_full: self.written_full + moved / obs,
            bytes: self.bytes + moved,
            ..self
        }
    }

    /// Returns how many records were read.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read_full + self.read_partial
    }
}

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// What is read.
    Input,
    /// What is written.
    Output,
}

/// What went wrong, or is worth a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// There is no memory for a record of one of the ends.
    Memory {
        /// Which.
        end: End,
        /// As long as this.
        bytes: u64,
    },
    /// The input has no position that `skip` leads to.
    Skip(Errno),
    /// The input ended before what was to be read.
    SkipShort,
    /// The output has no position that `seek` leads to.
    Seek(Errno),
    /// A record could not be read.
    Read(Errno),
    /// A record could not be read, and is passed by.
    Bad(Errno),
    /// There is no position behind a record that could not be read.
    Offset,
    /// That position was refused.
    Pass(Errno),
    /// An end did not move behind the bytes that several workers copied.
    Move(End, Errno),
    /// A read was short, and there was more behind it.
    Partial {
        /// This short.
        bytes: usize,
    },
    /// A record could not be written.
    Write(Option<Errno>),
    /// A block of those that were gathered could not be written.
    WriteBlock(Option<Errno>),
    /// A last block goes through the cache, and that could not be had.
    LeaveDirect(Errno),
    /// The output could not be made as long as what was sought to at its end.
    Extend {
        /// How long it was to be.
        bytes: u64,
        /// Why it is not.
        errno: Errno,
    },
    /// The output's data is not durable.
    DataSync(Errno),
    /// The output is not durable.
    Sync(Errno),
    /// A file did not leave the cache.
    Forget(End, Errno),
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Yes.
    Go,
    /// No.
    End,
}

/// The run is over, and what is to be said about it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quit;

/// Receives what a run reports.
pub trait Monitor {
    /// Something went wrong, or is worth a word.
    fn problem(&mut self, problem: RecordError);

    /// Asked before each call that may wait, and now and then while one does: reports where the user
    /// asked for it, and returns whether to go on.
    fn heed(&mut self, counts: &Counts) -> Flow;

    /// Called when the counts are to be reported.
    fn report(&mut self, counts: &Counts);

    /// Told before each record.
    fn progress(&mut self, counts: &Counts);

    /// All is written, and what comes now may take long.
    fn before_sync(&mut self, counts: &Counts);
}

/// A monitor, and the counts that it receives.
pub(super) struct Told<'l> {
    monitor: &'l mut dyn Monitor,
    pub(super) counts: Counts,
    /// Stops the thread that reads ahead of a run that ends only when all that was read is written, when
    /// the end is asked for.
    pub(super) reader: Option<Arc<AtomicBool>>,
    /// Whether that was asked for.
    pub(super) is_ending: bool,
}

impl<'l> Told<'l> {
    pub(super) fn new(monitor: &'l mut dyn Monitor) -> Told<'l> {
        Told { monitor, counts: Counts::default(), reader: None, is_ending: false }
    }

    pub(super) fn say(&mut self, problem: RecordError) {
        self.monitor.problem(problem);
    }

    pub(super) fn heed(&mut self) -> Result<(), Quit> {
        match (self.monitor.heed(&self.counts), &self.reader) {
            (Flow::Go, _) => Ok(()),
            (Flow::End, Some(stop)) => {
                stop.store(true, Ordering::Relaxed);
                self.is_ending = true;
                Ok(())
            }
            (Flow::End, None) => Err(self.end()),
        }
    }

    /// Ends the run with a report, because it was interrupted.
    pub(super) fn end(&mut self) -> Quit {
        self.report();
        Quit
    }

    /// As [`Told::heed`], for a run whose records are counted elsewhere; the end is not reported.
    pub(super) fn goes_on(&mut self, counts: &Counts) -> bool {
        self.monitor.progress(counts);
        self.monitor.heed(counts) == Flow::Go
    }

    pub(super) fn report(&mut self) {
        self.monitor.report(&self.counts);
    }

    pub(super) fn progress(&mut self) {
        self.monitor.progress(&self.counts);
    }

    pub(super) fn before_sync(&mut self) {
        self.monitor.before_sync(&self.counts);
    }
}
