//! Reading files into the page cache.
//!
//! Storage is fastest with many requests at a time. Small files are read by the workers that find them; large ones
//! are cut into pieces, which all workers share when the trees have been read. The kernel is told that there is no
//! order, so that it reads what is asked for and nothing beside it: what was saved is restored page for page, but
//! for holes, whose pages of zeros would take memory and save no read of storage.

use haul_sys::sync::Mutex;
use std::cell::RefCell;
use std::ffi::OsString;
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use haul_io::residency::present;
use haul_io::retry::again;
use haul_io::{data_ranges, gentle};
use haul_sys::data::{Advice, fadvise, pread};
use haul_sys::errno_text;

use super::files::{Opened, Reached, Run, Sum, each_file};
use crate::sizes;

/// Bytes that a worker reads before it takes the next piece.
const PIECE_BYTES: u64 = 16 << 20;

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// Parts of a file that one worker reads without the others' help.
const PARTS_MAX: usize = 64;

/// Files that are kept open for the others.
const OPEN_FILES_MAX: usize = 128;

/// A part of a file that one worker reads.
struct Piece {
    file: Arc<Opened>,
    range: Range<u64>,
}

/// The files that are being read into the page cache.
pub(super) struct Reading<'a> {
    run: &'a Run<'a>,
    begun: Instant,
    /// Bytes that may still be read.
    left: AtomicU64,
    read: AtomicU64,
    left_out: AtomicU64,
    sum: Mutex<Sum>,
    pieces: Mutex<Vec<Piece>>,
    open_files: AtomicUsize,
}

/// What was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Warmed {
    /// The files before.
    pub(super) before: Sum,
    pub(super) read_bytes: u64,
    /// Bytes that were not read because of the limit.
    pub(super) left_out_bytes: u64,
}

/// Reads what is not cached yet of all files, but no more than `limit` bytes. Blocks.
pub(super) fn warm(run: &Run<'_>, trees: &[OsString], limit: u64) -> Warmed {
    let reading = Reading::new(run, limit);
    reading.shown(|| {
        each_file(run, (trees, Reached::Once), &|_| true, &|file| {
            let all = 0..file.stat.size;
            reading.take(file, &[all]);
        });
    })
}

impl<'a> Reading<'a> {
    pub(super) fn new(run: &'a Run<'a>, limit: u64) -> Reading<'a> {
        Reading {
            run,
            begun: Instant::now(),
            left: AtomicU64::new(limit),
            read: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            sum: Mutex::default(),
            pieces: Mutex::default(),
            open_files: AtomicUsize::new(0),
        }
    }

    /// Shows progress while `find` passes files to [`Reading::take`] and the rest of them is read.
    pub(super) fn shown(&self, find: impl FnOnce()) -> Warmed {
        std::thread::scope(|scope| {
            self.run.progress.start_line(scope, || {
                let read = self.read.load(Ordering::Relaxed);
                format!("{} read, {}", sizes::bytes(read), sizes::rate(read, self.begun.elapsed()))
            });
            find();
            self.read_pieces();
            self.run.progress.end();
        });
        Warmed {
            before: *self.sum.lock(),
            read_bytes: self.read.load(Ordering::Relaxed),
            left_out_bytes: self.left_out.load(Ordering::Relaxed),
        }
    }

    /// Reads those of the ranges of a file, in rising order, that are not cached, or puts them aside.
    pub(super) fn take(&self, file: Opened, wanted: &[Range<u64>]) {
        self.sum.lock().add(Sum::of(&file));
        // Where the kernel does not tell, everything is read: what is cached costs no storage.
        let there = present(file.asked(), 0..file.stat.size).unwrap_or_default();
        // Where the map of holes is not known, or not trusted, all is data.
        let data = data_ranges(file.fd.as_fd(), &file.stat).ok().flatten();
        let whole = 0..file.stat.size;
        let holes = data.map_or(Vec::new(), |data| without(&[whole], &data));
        let absent: Vec<Range<u64>> = without(&without(wanted, &holes), &there)
            .into_iter()
            .map(|range| self.admitted(range))
            .filter(|range| !range.is_empty())
            .collect();
        let bytes: u64 = absent.iter().map(|range| range.end - range.start).sum();
        if bytes == 0 {
            return;
        }
        // Advice that is refused costs reads of what is beside the ranges.
        let _advised = fadvise(&file.fd, 0, 0, Advice::Random);
        let is_small = bytes <= PIECE_BYTES && absent.len() <= PARTS_MAX;
        if is_small || self.open_files.fetch_add(1, Ordering::Relaxed) >= OPEN_FILES_MAX {
            for range in absent {
                self.read(&file, range);
            }
            return;
        }
        let file = Arc::new(file);
        let mut pieces = self.pieces.lock();
        for range in absent {
            for start in (range.start..range.end).step_by(PIECE_BYTES as usize) {
                let range = start..range.end.min(start + PIECE_BYTES);
                pieces.push(Piece { file: Arc::clone(&file), range });
            }
        }
    }

    /// Returns the beginning of a range that the limit admits.
    fn admitted(&self, range: Range<u64>) -> Range<u64> {
        let bytes = range.end - range.start;
        let less = |left: u64| Some(left.saturating_sub(bytes));
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let admitted = bytes.min(left.unwrap_or_else(|left| left));
        self.left_out.fetch_add(bytes - admitted, Ordering::Relaxed);
        range.start..range.start + admitted
    }

    fn read_pieces(&self) {
        let pieces = std::mem::take(&mut *self.pieces.lock());
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.read(&piece.file, piece.range.clone());
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.run.jobs.min(pieces.len()) {
                // Without a thread the others do its work.
                let _spawned = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    fn read(&self, file: &Opened, range: Range<u64>) {
        thread_local! {
            static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        BUFFER.with_borrow_mut(|buffer| {
            buffer.resize(READ_BYTES, 0);
            let mut at = range.start;
            while at < range.end {
                let most = gentle::request_bytes(READ_BYTES);
                let step = usize::try_from(range.end - at).unwrap_or(most).min(most);
                let request = || again(|| pread(&file.fd, &mut buffer[..step], at));
                match gentle::request(request) {
                    // The file has become shorter.
                    Ok(0) => return,
                    Ok(bytes) => {
                        at += bytes as u64;
                        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
                        gentle::rest();
                    }
                    Err(error) => {
                        return self.run.fail("read", &file.path, &errno_text(error.errno));
                    }
                }
            }
        });
    }
}

/// Returns the parts of ranges that are in none of others; both are in rising order.
fn without(ranges: &[Range<u64>], others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    for range in ranges {
        let mut start = range.start;
        let first = others.partition_point(|other| other.end <= range.start);
        for other in others[first..].iter().take_while(|other| other.start < range.end) {
            if start < other.start {
                left.push(start..other.start);
            }
            start = start.max(other.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::without;

    /// The same with pairs of a beginning and an end.
    fn left(ranges: &[(u64, u64)], others: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let [ranges, others] =
            [ranges, others].map(|all| all.iter().map(|it| it.0..it.1).collect::<Vec<_>>());
        without(&ranges, &others).into_iter().map(|range| (range.start, range.end)).collect()
    }

    #[test]
    fn what_is_cached_is_left_out() {
        assert_eq!(left(&[(0, 10)], &[]), [(0, 10)]);
        assert_eq!(left(&[(0, 10)], &[(0, 10)]), []);
        assert_eq!(left(&[(0, 10)], &[(0, 2), (4, 5), (9, 20)]), [(2, 4), (5, 9)]);
        assert_eq!(left(&[(0, 4), (6, 9)], &[(3, 7)]), [(0, 3), (7, 9)]);
        assert_eq!(left(&[(5, 6)], &[(0, 5), (6, 7)]), [(5, 6)]);
    }
}
