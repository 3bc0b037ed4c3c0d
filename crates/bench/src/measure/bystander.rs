//! A bystander: a process that reads a file of its own at random while a tool runs.
//!
//! The file is its working set. What a tool takes from it is counted in pages, and felt as the times of its reads:
//! one from memory takes microseconds, one that was pushed out waits for the disk behind the tool's requests. The
//! reads are those of a thread of this process, because a memory cgroup takes whole processes, and this one is in
//! that of the tool meanwhile.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haul_manifest::{Numbers, noise};
use haul_sys::data::{Advice, fadvise};
use haul_sys::fs::fsync;
use haul_sys::memory::cachestat;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of one read.
const READ_BYTES: usize = 4096;

/// Time between two reads: few enough to leave the processors to the tool, and not to bring back what it took.
const EVERY: Duration = Duration::from_millis(1);

/// Time for which it reads alone.
const ALONE: Duration = Duration::from_secs(1);

/// Times that the file is read before, so that the kernel takes its pages for used.
const USES: u32 = 3;

/// Seconds of reads, by how many of them were faster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadTimes {
    /// Number of reads.
    pub reads: u64,
    /// Half of them were faster.
    pub p50_s: f64,
    /// 99 of 100 were.
    pub p99_s: f64,
    /// 999 of 1000 were.
    pub p999_s: f64,
}

impl ReadTimes {
    fn of(mut times: Vec<f64>) -> ReadTimes {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (times.len() as f64 * share) as usize;
            times.get(index.min(times.len().saturating_sub(1))).copied().unwrap_or(0.0)
        };
        ReadTimes { reads: times.len() as u64, p50_s: at(0.5), p99_s: at(0.99), p999_s: at(0.999) }
    }
}

/// What a run did to the bystander.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BystanderUse {
    /// Pages of its file that were cached before the run; `None` if the kernel does not report it.
    pub pages_before: Option<u64>,
    /// Pages that were when the command ended.
    pub pages_after: Option<u64>,
    /// Its reads before the run.
    pub alone: ReadTimes,
    /// Its reads during the run.
    pub beside: ReadTimes,
}

/// A file that is read at random.
#[derive(Debug)]
pub(crate) struct Bystander {
    file: File,
    chunks: u64,
}

impl Bystander {
    /// Fills an empty file; `path` is for messages.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn new(mut file: File, bytes: u64, path: &Path) -> Result<Bystander> {
        let chunk = noise(bytes, CHUNK_BYTES);
        let chunks = (bytes / CHUNK_BYTES as u64).max(1);
        for _ in 0..chunks {
            file.write_all(&chunk).map_err(Error::file("write", path))?;
        }
        // A dirty page cannot be evicted, and the pages are to be those of the group that reads them.
        fsync(&file).map_err(Error::call("sync", path))?;
        fadvise(&file, 0, 0, Advice::DontNeed).map_err(Error::call("drop from the cache", path))?;
        fadvise(&file, 0, 0, Advice::Random).map_err(Error::call("advise about", path))?;
        Ok(Bystander { file, chunks })
    }

    fn cached(&self) -> Option<u64> {
        cachestat(&self.file, 0, 0).ok().map(|pages| pages.cached)
    }

    /// Reads alone, and then beside a function until that ends.
    pub(crate) fn beside<T>(&self, run: impl FnOnce() -> T) -> (T, BystanderUse) {
        let mut buffer = vec![0; CHUNK_BYTES];
        for chunk in (0..USES).flat_map(|_| 0..self.chunks) {
            // What cannot be read is not cached, and the count shows it.
            let _read = self.file.read_exact_at(&mut buffer, chunk * CHUNK_BYTES as u64);
        }
        let begun = Instant::now();
        let alone = self.read(|| begun.elapsed() >= ALONE);
        let pages_before = self.cached();
        let is_over = AtomicBool::new(false);
        let (done, pages_after, beside) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.read(|| is_over.load(Ordering::Relaxed)));
            let done = run();
            let pages_after = self.cached();
            is_over.store(true, Ordering::Relaxed);
            let beside = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (done, pages_after, beside)
        });
        (done, BystanderUse { pages_before, pages_after, alone, beside })
    }

    /// Reads pages at random until a function says that it is time to end. A read that is late because the one before
    /// took long counts from when it was due.
    fn read(&self, is_over: impl Fn() -> bool) -> ReadTimes {
        let mut numbers = Numbers::new(self.chunks);
        let pages = self.chunks * (CHUNK_BYTES / READ_BYTES) as u64;
        let (mut times, mut buffer) = (Vec::new(), vec![0; READ_BYTES]);
        let mut due = Instant::now();
        while !is_over() {
            let page = numbers.below(pages);
            let _read = self.file.read_exact_at(&mut buffer, page * READ_BYTES as u64);
            let now = Instant::now();
            times.push((now - due).as_secs_f64());
            due += EVERY;
            if due > now {
                haul_sys::process::doze(due - now);
                // Waking late is not the fault of storage.
                due = due.max(Instant::now());
            }
        }
        ReadTimes::of(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let times = ReadTimes::of((0..1000).rev().map(f64::from).collect());
        assert_eq!(times, ReadTimes { reads: 1000, p50_s: 500.0, p99_s: 990.0, p999_s: 999.0 });
        assert_eq!(ReadTimes::of(Vec::new()), ReadTimes::default());
        assert_eq!(ReadTimes::of(vec![2.0]).p999_s, 2.0);
    }

    #[test]
    fn what_a_run_drops_is_counted() {
        let path = std::env::temp_dir().join(format!("haul-bystander-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let bystander = Bystander::new(file, 2 << 20, &path).unwrap();
        let (answer, used) = bystander.beside(|| 7);
        assert_eq!((answer, used.pages_after), (7, used.pages_before));
        assert!(used.alone.reads > 0, "{used:?}");
    }
}
