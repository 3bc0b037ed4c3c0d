//! Messages of several files at once, printed in the order of the files.

use haul_sys::sync::{Condvar, Mutex};
use std::collections::BTreeMap;

use super::codes::Code;
use super::messages::{Counts, Said};
use crate::output::Output;
use crate::progress::Progress;

/// Files that may be done before one that comes earlier: what is kept of each is its messages.
const AHEAD_MAX: u64 = 4096;

/// What was said so far.
pub(super) struct Reports<'a> {
    output: &'a Output,
    progress: &'a Progress<'a>,
    inner: Mutex<Inner>,
    printed: Condvar,
}

#[derive(Default)]
struct Inner {
    /// The number of the file whose messages come next.
    next: u64,
    waiting: BTreeMap<u64, Said>,
    /// Workers that wait until an earlier file is done: waking none is a call, too.
    sleepers: usize,
    code: Code,
    counts: Counts,
    is_over: bool,
}

impl<'a> Reports<'a> {
    pub(super) fn new(output: &'a Output, progress: &'a Progress<'a>) -> Reports<'a> {
        Reports { output, progress, inner: Mutex::default(), printed: Condvar::new() }
    }

    /// Takes what was said about the file of this number. Blocks while too many wait for an earlier
    /// one.
    pub(super) fn put(&self, number: u64, said: Said) {
        let mut inner = self.inner.lock();
        while number >= inner.next + AHEAD_MAX {
            inner.sleepers += 1;
            inner = self.printed.wait(inner);
            inner.sleepers -= 1;
        }
        inner.is_over |= said.is_end;
        inner.waiting.insert(number, said);
        loop {
            let number = inner.next;
            let Some(said) = inner.waiting.remove(&number) else { break };
            inner.next += 1;
            inner.code = inner.code.and(said.code);
            inner.counts.add(said.counts);
            if !said.lines.is_empty() {
                self.output.bytes(&said.lines);
            }
            if !said.text.is_empty() {
                self.progress.aside(|| self.output.raw_error_bytes(&said.text));
            }
        }
        if inner.sleepers > 0 {
            self.printed.notify_all();
        }
    }

    /// Tells whether nothing more can be done.
    pub(super) fn is_over(&self) -> bool {
        self.inner.lock().is_over
    }

    /// Returns how many files were done, and how many failed.
    pub(super) fn counts(&self) -> Counts {
        self.inner.lock().counts
    }

    /// Returns what became of all files.
    pub(super) fn code(&self) -> Code {
        self.inner.lock().code
    }
}
