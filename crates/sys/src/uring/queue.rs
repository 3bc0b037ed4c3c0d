//! `io_uring` as a queue of requests that own their memory and keep their file open:
//! <https://man7.org/linux/man-pages/man7/io_uring.7.html>
//!
//! Where [`Ring`](super::Ring) moves bytes between two files through memory of its own, this queue
//! leaves the bytes in memory of the caller: the caller passes the memory with the request and gets
//! it back with the completion. In between it belongs to the kernel. `EPERM` and `ENOSYS` if
//! containers or administrators forbid rings.

use std::marker::PhantomData;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use io_uring::{IoUring, opcode, squeue, types};

use super::{Operation, call_error, make};
use crate::memory::AlignedBuffer;
use crate::{Call, CallError, Errno, Result};

/// `RWF_DONTCACHE` of `include/uapi/linux/fs.h`.
const DONT_CACHE: i32 = 0x80;

/// A request to the kernel.
pub struct Asked {
    /// Whether to read from the file or to write to it.
    pub operation: Operation,
    /// The file; it stays open until the request completes.
    pub file: Arc<OwnedFd>,
    /// Offset in the file.
    pub offset: u64,
    /// The memory. For a read it must have no other owner.
    pub memory: Arc<AlignedBuffer>,
    /// Range of the memory.
    pub range: Range<usize>,
    /// Whether to leave no pages in the cache (`RWF_DONTCACHE`).
    pub uncached: bool,
}

/// A completed request.
pub struct Finished {
    /// The number that the caller gave it.
    pub tag: u64,
    /// The request, with its memory.
    pub asked: Asked,
    /// How many bytes were moved, or why none were.
    pub result: Result<usize>,
}

struct Flight {
    tag: u64,
    asked: Asked,
}

/// A ring and its requests in flight. Dropping it waits for them.
pub struct Queue {
    ring: IoUring,
    flights: Vec<Option<Flight>>,
    in_flight: usize,
    /// The kernel lets only the thread that made the ring use it (`IORING_SETUP_SINGLE_ISSUER`).
    thread: PhantomData<*const ()>,
}

impl Queue {
    /// Creates a queue for up to `depth` requests at a time.
    pub fn new(depth: usize) -> Result<Queue> {
        let ring = make(depth)?;
        let flights = std::iter::repeat_with(|| None).take(depth.max(1)).collect();
        Ok(Queue { ring, flights, in_flight: 0, thread: PhantomData })
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Queues a request under a number of the caller's choice.
    ///
    /// Fails with `EBUSY` if the queue is full, and with `EINVAL` if the range exceeds the memory,
    /// or the memory of a read is shared.
    pub fn ask(&mut self, tag: u64, mut asked: Asked) -> Result<()> {
        let error = |errno| CallError::new(Call::IoUringEnter, errno);
        let place =
            self.flights.iter().position(Option::is_none).ok_or_else(|| error(Errno::BUSY))?;
        let entry = entry(&mut asked).ok_or_else(|| error(Errno::INVAL))?.user_data(place as u64);
        // SAFETY: the address and length lie in memory that the flight owns until its completion
        // was taken or the ring is gone, see `Drop`. Memory to be filled has no other owner
        // (`entry`), and memory that is written to a file can only be read in the meantime, because
        // it is behind an `Arc` with another owner. The flight also holds the file.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| error(Errno::BUSY))?;
        if let Some(flight) = self.flights.get_mut(place) {
            *flight = Some(Flight { tag, asked });
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Submits the queued requests without waiting for them. Fails with `EINTR` on a signal.
    pub fn submit(&mut self) -> Result<()> {
        self.ring.submit().map(drop).map_err(|error| call_error(Call::IoUringEnter, &error))
    }

    /// Submits the queued requests and waits until at least one completes, unless none is in
    /// flight. Fails with `EINTR` on a signal: submitted requests continue.
    pub fn submit_and_wait(&mut self) -> Result<()> {
        let least = usize::from(self.in_flight > 0 && self.ring.completion().is_empty());
        self.ring
            .submit_and_wait(least)
            .map(drop)
            .map_err(|error| call_error(Call::IoUringEnter, &error))
    }

    /// Takes a completed request, if there is one.
    pub fn take(&mut self) -> Option<Finished> {
        let entry = self.ring.completion().next()?;
        let place = usize::try_from(entry.user_data()).ok()?;
        let Flight { tag, asked } = self.flights.get_mut(place)?.take()?;
        self.in_flight -= 1;
        let call = match asked.operation {
            Operation::Read => Call::RingRead,
            Operation::Write => Call::RingWrite,
        };
        let result = usize::try_from(entry.result())
            .map_err(|_| CallError::new(call, Errno::from_raw_os_error(-entry.result())));
        Some(Finished { tag, asked, result })
    }
}

/// Builds the submission entry; `None` if the memory does not allow it.
fn entry(asked: &mut Asked) -> Option<squeue::Entry> {
    let fd = types::Fd(asked.file.as_raw_fd());
    let length = u32::try_from(asked.range.len()).ok()?;
    let flags = if asked.uncached { DONT_CACHE } else { 0 };
    let range = asked.range.clone();
    Some(match asked.operation {
        Operation::Read => {
            let address = Arc::get_mut(&mut asked.memory)?.get_mut(range)?.as_mut_ptr();
            opcode::Read::new(fd, address, length).offset(asked.offset).rw_flags(flags).build()
        }
        Operation::Write => {
            let address = asked.memory.get(range)?.as_ptr();
            opcode::Write::new(fd, address, length).offset(asked.offset).rw_flags(flags).build()
        }
    })
}

impl Drop for Queue {
    fn drop(&mut self) {
        // The memory must outlive the requests that use it. An interrupted wait is repeated.
        while self.in_flight > 0 {
            match self.submit_and_wait() {
                Ok(()) => while self.take().is_some() {},
                Err(error) if error.errno == Errno::INTR => {}
                Err(_) => {
                    // No completion can arrive any more: leaking the memory is better than letting
                    // the allocator reuse it.
                    self.flights.drain(..).for_each(std::mem::forget);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _, Write as _};

    use super::*;

    fn file(name: &str) -> std::fs::File {
        let path = std::env::temp_dir().join(format!("haul-sys-{name}-{}", std::process::id()));
        let file =
            std::fs::File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    fn wait(queue: &mut Queue) -> Finished {
        loop {
            queue.submit_and_wait().unwrap();
            if let Some(finished) = queue.take() {
                return finished;
            }
        }
    }

    #[test]
    fn memory_goes_and_comes_back() {
        if !super::super::is_allowed() {
            eprintln!("ignored: io_uring is not allowed here");
            return;
        }
        let mut file = file("queue");
        file.write_all(b"some bytes").unwrap();
        let fd = Arc::new(OwnedFd::from(file.try_clone().unwrap()));
        let mut queue = Queue::new(2).unwrap();
        let memory = Arc::new(AlignedBuffer::new(4096).unwrap());
        let asked = |operation, memory, range| Asked {
            operation,
            file: Arc::clone(&fd),
            offset: 0,
            memory,
            range,
            uncached: false,
        };
        queue.ask(7, asked(Operation::Read, memory, 0..4096)).unwrap();
        let done = wait(&mut queue);
        assert_eq!((done.tag, done.result), (7, Ok(10)));
        let memory = done.asked.memory;
        assert_eq!(&memory[..10], b"some bytes");
        queue.ask(8, asked(Operation::Write, Arc::clone(&memory), 5..10)).unwrap();
        // Shared memory cannot be read into.
        let refused = queue.ask(9, asked(Operation::Read, Arc::clone(&memory), 0..10));
        assert_eq!(refused.unwrap_err().errno, Errno::INVAL);
        assert_eq!(wait(&mut queue).result, Ok(5));
        let mut text = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "bytesbytes");
    }

    #[test]
    fn a_full_queue_says_so_and_is_waited_for() {
        if !super::super::is_allowed() {
            eprintln!("ignored: io_uring is not allowed here");
            return;
        }
        let fd = Arc::new(OwnedFd::from(file("queue-full")));
        let mut queue = Queue::new(1).unwrap();
        let ask = |queue: &mut Queue| {
            let memory = Arc::new(AlignedBuffer::new(4096).unwrap());
            queue.ask(
                1,
                Asked {
                    operation: Operation::Write,
                    file: Arc::clone(&fd),
                    offset: 0,
                    memory,
                    range: 0..4096,
                    uncached: false,
                },
            )
        };
        ask(&mut queue).unwrap();
        assert_eq!(ask(&mut queue).unwrap_err().errno, Errno::BUSY);
        drop(queue);
        assert_eq!(crate::fs::fstat(&fd).unwrap().size, 4096);
    }
}
