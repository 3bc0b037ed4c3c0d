//! `--log-file`: the lines of a synchronisation in a file, each with its time and the number of the process.

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haul_sys::sync::Mutex;

use super::item_format::{ItemFormat, now};

/// A log, which several workers may write to.
#[derive(Clone, Debug)]
pub(crate) struct ItemLog {
    pub(crate) format: ItemFormat,
    file: Arc<Mutex<File>>,
    has_failed: Arc<AtomicBool>,
}

impl ItemLog {
    /// Creates a log in an open file.
    pub(crate) fn new(file: File, format: ItemFormat) -> ItemLog {
        ItemLog { format, file: Arc::new(Mutex::new(file)), has_failed: Arc::default() }
    }

    /// Adds a line.
    pub(super) fn add(&self, line: &str) {
        let line = format!("{} [{}] {line}\n", now(), std::process::id());
        if self.file.lock().write_all(line.as_bytes()).is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether a line was lost.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
