//! Load beside the tests: what `--beside` asks for, until the value is dropped.
//!
//! A test that waits for time, or that counts what the kernel may do later, gives other results beside it.

use crate::error::{Context, Error, Result};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// What is kept busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Load {
    /// Threads that compute.
    Processors(usize),
    /// All memory but [`LEFT_BYTES`].
    Memory,
    /// Files written and flushed below the test file systems.
    Disk,
}

/// Memory that a short machine still has.
const LEFT_BYTES: u64 = 1 << 30;

/// A file that the busy disk gets again and again.
const FILE_BYTES: usize = 64 << 20;

const PAGE_BYTES: usize = 4096;

/// Processors that are kept busy if no number is given.
const PROCESSORS: usize = 4;

impl Load {
    /// Reads `cpu`, `cpu=N`, `memory`, `disk`, or some of them with commas between.
    pub(super) fn parse(words: &str) -> Result<Vec<Self>> {
        words.split(',').map(Self::parse_one).collect()
    }

    fn parse_one(word: &str) -> Result<Self> {
        let number = word.strip_prefix("cpu=").and_then(|number| number.parse().ok());
        match (word, number) {
            ("cpu", _) => Ok(Self::Processors(PROCESSORS)),
            (_, Some(number)) if number > 0 => Ok(Self::Processors(number)),
            ("memory", _) => Ok(Self::Memory),
            ("disk", _) => Ok(Self::Disk),
            _ => Err(Error::new(format!("there is no load {word:?}"))
                .hint("--beside cpu, cpu=N, memory, disk, or several with commas between")),
        }
    }
}

/// Threads that keep this machine busy for the lifetime of this value.
pub(super) struct Busy {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Busy {
    /// Starts the loads. `dir` is where the busy disk gets its file.
    pub(super) fn start(loads: &[Load], dir: &Path) -> Result<Self> {
        let mut busy = Self { stop: Arc::default(), threads: Vec::new() };
        for load in loads {
            match *load {
                Load::Processors(number) => {
                    for _ in 0..number {
                        busy.spawn(compute)?;
                    }
                }
                Load::Memory => {
                    let bytes = available_bytes()?.saturating_sub(LEFT_BYTES);
                    busy.spawn(move |stop| hold(bytes as usize, stop))?;
                }
                Load::Disk => {
                    let file = dir.join("load");
                    busy.spawn(move |stop| write_again(&file, stop))?;
                }
            }
        }
        Ok(busy)
    }

    fn spawn(&mut self, work: impl FnOnce(&AtomicBool) + Send + 'static) -> Result<()> {
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new().spawn(move || work(&stop));
        self.threads.push(thread.context("start", "a thread of load")?);
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
    }
}

fn compute(stop: &AtomicBool) {
    let mut number = 1_u64;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..100_000 {
            number = black_box(number.wrapping_mul(31).rotate_left(7));
        }
    }
}

fn available_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("read", "/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| Error::new("/proc/meminfo has no MemAvailable"))
}

/// Touches each page of `bytes` of memory again and again, so that it stays in use.
fn hold(bytes: usize, stop: &AtomicBool) {
    let mut memory = vec![0_u8; bytes];
    while !stop.load(Ordering::Relaxed) {
        for page in memory.chunks_mut(PAGE_BYTES) {
            page[0] = page[0].wrapping_add(1);
        }
        black_box(&mut memory);
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

fn write_again(name: &PathBuf, stop: &AtomicBool) {
    let bytes = vec![b'x'; FILE_BYTES];
    while !stop.load(Ordering::Relaxed) {
        // A full disk is load enough.
        if let Ok(mut file) = File::create(name) {
            file.write_all(&bytes).and_then(|()| file.sync_data()).ok();
        }
    }
    fs::remove_file(name).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_load() {
        let all = [Load::Processors(7), Load::Memory, Load::Disk];
        assert_eq!(Load::parse("cpu=7,memory,disk").unwrap(), all);
        assert_eq!(Load::parse("cpu").unwrap(), [Load::Processors(PROCESSORS)]);
        for wrong in ["cpu=0", "cpu=x", "net", ""] {
            assert!(Load::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_load_ends_with_its_value() {
        let dir = std::env::temp_dir();
        drop(Busy::start(&[Load::Processors(1), Load::Disk], &dir).unwrap());
        assert!(!dir.join("load").exists());
    }
}
