//! Memory between the archive and the rest of the run (`--buffer`, `--watermarks`), with a thread of its own
//! on the archive's side: a tape keeps streaming while files are waited for.

use std::io::{Error, Read, Result, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use haul_io::stream::{Block, Marks, Pool, StreamError, WatermarkQueue};
use haul_sys::fs::{Kind, fstat};
use haul_sys::{Call, CallError, Errno};

/// Bytes of a block of the buffer, if a record is not larger.
const BLOCK_BYTES: usize = 1 << 20;

/// Blocks of the smallest buffer: one is filled while the other is emptied.
const BLOCKS_MIN: usize = 2;

/// How large the buffer is, and when it is filled and emptied.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) bytes: u64,
    /// Percentages of [`Marks`].
    pub(super) low: usize,
    pub(super) high: usize,
}

/// What both threads share.
struct Shared {
    queue: WatermarkQueue,
    pool: Arc<Pool>,
    stop: AtomicBool,
}

impl Shared {
    fn new(buffer: Buffer, record_bytes: usize) -> Shared {
        let records = (BLOCK_BYTES / record_bytes.max(1)).max(1);
        let block_bytes = records * record_bytes.max(1);
        let bytes = usize::try_from(buffer.bytes).unwrap_or(usize::MAX);
        let blocks = (bytes / block_bytes).max(BLOCKS_MIN);
        let queue = WatermarkQueue::new(Marks {
            low: blocks.saturating_mul(buffer.low) / 100,
            high: blocks.saturating_mul(buffer.high) / 100,
            full: blocks,
        });
        // One is filled and one emptied besides those that wait.
        let pool = Pool::new(block_bytes, blocks.saturating_add(2));
        Shared { queue, pool, stop: AtomicBool::new(false) }
    }

    fn block(&self) -> Result<Block> {
        match self.pool.take(&self.stop) {
            Ok(Some(block)) => Ok(block),
            Ok(None) => Err(Error::other("stopped")),
            Err(error) => Err(error.errno.into()),
        }
    }
}

/// Ends the queue when it is dropped.
struct Ender(Arc<Shared>);

impl Drop for Ender {
    fn drop(&mut self) {
        self.0.queue.end(Ok(()));
    }
}

fn no_thread(error: &Error) -> Error {
    Error::other(format!("cannot start a thread: {error}"))
}

fn of_stream(error: StreamError) -> Error {
    match error {
        StreamError::Call(error) => error.errno.into(),
        other => Error::other(other.to_string()),
    }
}

/// A target behind a buffer. Errors of the target come with a later write, or with the last flush.
pub(super) struct BufferedTarget {
    shared: Arc<Shared>,
    /// What is being filled, and how far it is.
    block: Option<(Block, usize)>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl BufferedTarget {
    /// Writes to a target by a thread, which calls `end` when all was written. Blocks of the buffer are whole
    /// records.
    pub(super) fn new<W: Write + Send + 'static>(
        mut target: W,
        (buffer, record_bytes): (Buffer, usize),
        end: impl FnOnce(W) -> Result<()> + Send + 'static,
    ) -> Result<BufferedTarget> {
        let shared = Arc::new(Shared::new(buffer, record_bytes));
        let theirs = Arc::clone(&shared);
        let work = move || {
            // Nothing more is wanted, also after a panic.
            let _ender = Ender(Arc::clone(&theirs));
            loop {
                match theirs.queue.take(&theirs.stop) {
                    Ok(Some(block)) => {
                        if let Err(error) = target.write_all(&block) {
                            break Err(error);
                        }
                    }
                    Ok(None) => break end(target),
                    Err(error) => break Err(of_stream(error)),
                }
            }
        };
        let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(work);
        let thread = Some(thread.map_err(|error| no_thread(&error))?);
        Ok(BufferedTarget { shared, block: None, thread })
    }

    fn put(&mut self) -> Result<()> {
        let Some((mut block, filled)) = self.block.take() else { return Ok(()) };
        block.set_filled(0..filled);
        if self.shared.queue.put(block, &self.shared.stop) { Ok(()) } else { self.join() }
    }

    /// Waits for the thread, and returns its error.
    fn join(&mut self) -> Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(answer)) => answer,
            Some(Err(_panicked)) => Err(Error::other("the thread of the archive failed")),
            None => Err(Error::other("the archive has ended")),
        }
    }
}

impl Write for BufferedTarget {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let (mut block, filled) = match self.block.take() {
            Some(block) => block,
            None => (self.shared.block()?, 0),
        };
        let room = &mut block.own_room().map_err(|error| Error::from(error.errno))?[filled..];
        let count = room.len().min(bytes.len());
        for (to, from) in room.iter_mut().zip(bytes) {
            *to = *from;
        }
        let is_full = count == room.len();
        self.block = Some((block, filled + count));
        if is_full {
            self.put()?;
        }
        Ok(count)
    }

    /// Ends the archive. To be called once, when all was written.
    fn flush(&mut self) -> Result<()> {
        self.put()?;
        self.shared.queue.end(Ok(()));
        self.join()
    }
}

/// An archive that is given up: what waits is not written.
impl Drop for BufferedTarget {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.shared.stop.store(true, Ordering::Relaxed);
            self.shared.queue.end(Err(StreamError::Stopped));
            // Its error was not asked for.
            let _given_up = thread.join();
        }
    }
}

/// A source before a buffer.
pub(super) struct BufferedSource {
    shared: Arc<Shared>,
    /// What is being emptied, and how far.
    block: Option<(Block, usize)>,
}

impl BufferedSource {
    /// Reads a source by a thread. Of a device each request gives a record.
    pub(super) fn new<R: Read + AsFd + Send + 'static>(
        source: R,
        (buffer, record_bytes): (Buffer, usize),
    ) -> Result<BufferedSource> {
        let is_device = fstat(&source).is_ok_and(|stat| stat.kind() == Kind::CharDevice);
        let most = if is_device { record_bytes.max(1) } else { 0 };
        let mut reading = Reading { source, most, ended: None };
        let shared = Arc::new(Shared::new(buffer, record_bytes));
        let theirs = Arc::clone(&shared);
        let work = move || {
            let ended = loop {
                match reading.block(&theirs) {
                    Ok(Some(block)) => {
                        if !theirs.queue.put(block, &theirs.stop) {
                            break Ok(());
                        }
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => {
                        let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                        break Err(CallError::new(Call::Read, errno).into());
                    }
                }
            };
            theirs.queue.end(ended);
        };
        // It ends when its source ends, or when nothing more is wanted and its request is answered: a
        // request to a pipe may never be.
        let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(work);
        let _detached = thread.map_err(|error| no_thread(&error))?;
        Ok(BufferedSource { shared, block: None })
    }
}

/// What is read for the buffer.
struct Reading<R> {
    source: R,
    /// The most that a request may give, for which there has to be room: a tape refuses less than a record.
    /// 0 if requests of any size are answered.
    most: usize,
    /// What ended it, to be told after the bytes before it.
    ended: Option<Result<()>>,
}

impl<R: Read> Reading<R> {
    /// Returns a block as full as it can be, or `None` at the end.
    fn block(&mut self, shared: &Shared) -> Result<Option<Block>> {
        if let Some(ended) = self.ended.take() {
            return ended.map(|()| None);
        }
        let mut block = shared.block()?;
        let mut filled = 0;
        while let Some(room) = block.room().and_then(|room| room.get_mut(filled..)) {
            if room.is_empty() || (filled > 0 && room.len() < self.most) {
                break;
            }
            match self.source.read(room) {
                Ok(0) => {
                    self.ended = Some(Ok(()));
                    break;
                }
                Ok(count) => {
                    filled += count;
                    self.most = if self.most > 0 { self.most.max(count) } else { 0 };
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.ended = Some(Err(error));
                    break;
                }
            }
        }
        if filled == 0 {
            return self.ended.take().unwrap_or(Ok(())).map(|()| None);
        }
        block.set_filled(0..filled);
        Ok(Some(block))
    }
}

impl Read for BufferedSource {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let (block, done) = match self.block.take() {
            Some(block) => block,
            None => match self.shared.queue.take(&self.shared.stop).map_err(of_stream)? {
                Some(block) => (block, 0),
                None => return Ok(0),
            },
        };
        let left = &block[done..];
        let count = left.len().min(buffer.len());
        for (to, from) in buffer.iter_mut().zip(left) {
            *to = *from;
        }
        if count < left.len() {
            self.block = Some((block, done + count));
        }
        Ok(count)
    }
}

impl Drop for BufferedSource {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.queue.end(Err(StreamError::Stopped));
    }
}

#[cfg(test)]
mod tests {
    use haul_sys::sync::Mutex;

    use super::*;

    const SMALL: Buffer = Buffer { bytes: 3 << 20, low: 30, high: 60 };

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn what_is_written_arrives_in_order() {
        for count in [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 9 * BLOCK_BYTES + 77] {
            let kept = Kept::default();
            let mut target =
                BufferedTarget::new(kept.clone(), (SMALL, 10_240), |_| Ok(())).unwrap();
            for piece in bytes(count).chunks(77_777) {
                target.write_all(piece).unwrap();
            }
            target.flush().unwrap();
            assert!(*kept.0.lock() == bytes(count), "{count}");
        }
    }

    #[test]
    fn an_error_of_the_target_is_told() {
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> Result<usize> {
                let count = self.0.min(bytes.len());
                self.0 -= count;
                if count == 0 { Err(Errno::NOSPC.into()) } else { Ok(count) }
            }

            fn flush(&mut self) -> Result<()> {
                Ok(())
            }
        }
        for room in [0, 5, 2 * BLOCK_BYTES, 6 * BLOCK_BYTES] {
            let mut target = BufferedTarget::new(Full(room), (SMALL, 512), |_| Ok(())).unwrap();
            let written = target.write_all(&bytes(7 * BLOCK_BYTES));
            let error = written.and_then(|()| target.flush()).unwrap_err();
            assert_eq!(Errno::from_io_error(&error), Some(Errno::NOSPC), "{room}");
        }
        // At the end, too.
        let mut target =
            BufferedTarget::new(Kept::default(), (SMALL, 512), |_| Err(Errno::IO.into())).unwrap();
        target.write_all(b"x").unwrap();
        assert_eq!(Errno::from_io_error(&target.flush().unwrap_err()), Some(Errno::IO));
    }

    #[test]
    fn what_is_read_arrives_in_order() {
        use std::os::fd::OwnedFd;
        let all = bytes(7 * BLOCK_BYTES + 33);
        let (from, mut to) = std::io::pipe().unwrap();
        let mut source =
            BufferedSource::new(std::fs::File::from(OwnedFd::from(from)), (SMALL, 512)).unwrap();
        let mut found = Vec::new();
        std::thread::scope(|scope| {
            let pieces = &all;
            scope.spawn(move || pieces.chunks(99_999).try_for_each(|piece| to.write_all(piece)));
            source.read_to_end(&mut found).unwrap();
        });
        assert!(found == all);
    }
}
