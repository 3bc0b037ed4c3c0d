//! `io_uring` with registered buffers and files, with slots to read into and write from:
//! <https://man7.org/linux/man-pages/man7/io_uring.7.html>
//!
//! A ring owns its buffers and divides them into slots of one size. A slot belongs to the kernel
//! from the request until the caller has taken its completion, and is inaccessible in between; so
//! safe code cannot race with the kernel on this memory. `EPERM` and `ENOSYS` if containers or
//! administrators forbid rings (`kernel.io_uring_disabled`).

use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};

use io_uring::{IoUring, opcode, types};

use super::{call_error, make};
use crate::memory::AlignedBuffer;
use crate::{Call, CallError, Errno, Result};

/// Indexes of the two registered files.
const SOURCE: u32 = 0;
const TARGET: u32 = 1;

/// Operation on a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It was filled from the source.
    Read,
    /// It was written to the target.
    Write,
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The slot.
    pub slot: usize,
    /// The operation.
    pub operation: Operation,
    /// How many bytes were moved, or why none were.
    pub result: Result<usize>,
}

/// A ring with slots. Dropping it waits for the requests in flight.
pub struct Ring {
    ring: IoUring,
    buffer: AlignedBuffer,
    slot_bytes: usize,
    /// The operation in flight on each slot, if any.
    flights: Vec<Option<Operation>>,
    in_flight: usize,
    /// The kernel lets only the thread that made the ring use it (`IORING_SETUP_SINGLE_ISSUER`).
    thread: PhantomData<*const ()>,
}

/// Returns whether this process may create and use rings; creates a small one to find out.
#[must_use]
pub fn is_allowed() -> bool {
    make(1).is_ok()
}

impl Ring {
    /// Makes a ring with `slots` slots of `slot_bytes`, which is a multiple of the page.
    ///
    /// The buffers are pinned: `ENOMEM` past RLIMIT_MEMLOCK on kernels that count it.
    pub fn new(slots: usize, slot_bytes: usize) -> Result<Ring> {
        let ring = make(slots)?;
        let buffer = AlignedBuffer::new(slots * slot_bytes)?;
        let register = |error: std::io::Error| call_error(Call::IoUringRegister, &error);
        let parts: Vec<libc::iovec> = buffer
            .chunks(slot_bytes)
            .map(|part| libc::iovec {
                iov_base: part.as_ptr().cast_mut().cast(),
                iov_len: part.len(),
            })
            .collect();
        // SAFETY: the parts lie in a buffer that the ring owns and that is unmapped only after the
        // kernel has no request in flight for it, see `Drop`.
        unsafe { ring.submitter().register_buffers(&parts) }.map_err(register)?;
        ring.submitter().register_files(&[-1, -1]).map_err(register)?;
        Ok(Ring {
            ring,
            buffer,
            slot_bytes,
            flights: vec![None; slots],
            in_flight: 0,
            thread: PhantomData,
        })
    }

    /// Returns the number of slots.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.flights.len()
    }

    /// Returns the size of a slot in bytes.
    #[must_use]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Sets the files to read and write from now on. No request may be in flight (`EBUSY`).
    pub fn attach(&mut self, source: impl AsFd, target: impl AsFd) -> Result<()> {
        self.set_files([source.as_fd().as_raw_fd(), target.as_fd().as_raw_fd()])
    }

    /// Releases the files, which otherwise stay open as long as the ring.
    pub fn detach(&mut self) -> Result<()> {
        self.set_files([-1, -1])
    }

    fn set_files(&mut self, files: [i32; 2]) -> Result<()> {
        if self.in_flight > 0 {
            return Err(CallError::new(Call::IoUringRegister, Errno::BUSY));
        }
        self.ring
            .submitter()
            .register_files_update(0, &files)
            .map(drop)
            .map_err(|error| call_error(Call::IoUringRegister, &error))
    }

    /// Returns a slot's bytes, `None` while it is in flight.
    #[must_use]
    pub fn bytes(&mut self, slot: usize) -> Option<&mut [u8]> {
        if self.flights.get(slot)?.is_some() {
            return None;
        }
        self.buffer.chunks_mut(self.slot_bytes).nth(slot)
    }

    /// Queues a read of up to `bytes` of the source at `offset` into the slot, from its `skip`-th
    /// byte on.
    pub fn read(&mut self, slot: usize, skip: usize, bytes: usize, offset: u64) -> Result<()> {
        self.push(Operation::Read, slot, skip..skip + bytes, offset)
    }

    /// Queues a write of the slot's bytes, from the `skip`-th on, to the target at `offset`.
    pub fn write(&mut self, slot: usize, skip: usize, bytes: usize, offset: u64) -> Result<()> {
        self.push(Operation::Write, slot, skip..skip + bytes, offset)
    }

    fn push(
        &mut self,
        operation: Operation,
        slot: usize,
        range: std::ops::Range<usize>,
        offset: u64,
    ) -> Result<()> {
        let invalid = CallError::new(Call::IoUringEnter, Errno::INVAL);
        let index = u16::try_from(slot).map_err(|_| invalid)?;
        let length = u32::try_from(range.len()).map_err(|_| invalid)?;
        let part = self.bytes(slot).and_then(|slot| slot.get_mut(range)).ok_or(invalid)?;
        let address = part.as_mut_ptr();
        let data = (slot as u64) << 1 | u64::from(operation == Operation::Write);
        let entry = match operation {
            Operation::Read => opcode::ReadFixed::new(types::Fixed(SOURCE), address, length, index)
                .offset(offset)
                .build(),
            Operation::Write => {
                opcode::WriteFixed::new(types::Fixed(TARGET), address, length, index)
                    .offset(offset)
                    .build()
            }
        }
        .user_data(data);
        // SAFETY: the addresses lie in a registered buffer of this ring, in a slot that is
        // inaccessible to safe code from now on until its completion was taken.
        unsafe { self.ring.submission().push(&entry) }.map_err(|_| invalid)?;
        if let Some(flight) = self.flights.get_mut(slot) {
            *flight = Some(operation);
        }
        self.in_flight += 1;
        Ok(())
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
    pub fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let slot = usize::try_from(entry.user_data() >> 1).ok()?;
        let operation = if entry.user_data() & 1 == 1 { Operation::Write } else { Operation::Read };
        if let Some(flight) = self.flights.get_mut(slot) {
            *flight = None;
        }
        self.in_flight -= 1;
        let call = match operation {
            Operation::Read => Call::RingRead,
            Operation::Write => Call::RingWrite,
        };
        let result = usize::try_from(entry.result())
            .map_err(|_| CallError::new(call, Errno::from_raw_os_error(-entry.result())));
        Some(Completion { slot, operation, result })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The buffer must outlive the requests that use it. An interrupted wait is repeated; any
        // other result means that no request is in flight any more.
        while self.in_flight > 0 {
            match self.submit_and_wait() {
                Ok(()) => while self.completion().is_some() {},
                Err(error) if error.errno == Errno::INTR => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};

    use super::*;

    fn file(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("haul-sys-{name}-{}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }

    #[test]
    fn a_slot_is_filled_and_written() {
        if !is_allowed() {
            eprintln!("ignored: io_uring is not allowed here");
            return;
        }
        let (mut source, mut target) = (file("ring-source"), file("ring-target"));
        source.write_all(b"some bytes").unwrap();
        let mut ring = Ring::new(2, 4096).unwrap();
        ring.attach(&source, &target).unwrap();
        ring.read(1, 0, 4096, 0).unwrap();
        assert!(ring.bytes(1).is_none());
        let mut done = None;
        while done.is_none() {
            ring.submit_and_wait().unwrap();
            done = ring.completion();
        }
        assert_eq!(done.unwrap().result.unwrap(), 10);
        assert_eq!(&ring.bytes(1).unwrap()[..10], b"some bytes");
        ring.write(1, 5, 5, 0).unwrap();
        drop(ring);
        let mut text = String::new();
        target.read_to_string(&mut text).unwrap();
        assert_eq!(text, "bytes");
    }
}
