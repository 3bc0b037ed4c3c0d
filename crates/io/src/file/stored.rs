//! Stored files: the evidence, for each single file, that its bytes are on stable storage.
//!
//! A flush of a whole file system tells whether any write of it failed, if the kernel noted the failure.
//! ext4 does not note that it found no blocks for a delayed allocation: it drops the pages, logs "Data will
//! be lost", and every later flush succeeds, also one of the file itself (`mpage_map_and_submit_extent` in
//! the kernel's `fs/ext4/inode.c`). A file system that an error has made read-only writes nothing and
//! reports success (`sync_filesystem` in `fs/sync.c`). So before a file gets its name, or its source is
//! removed, the file itself is examined after the flush, in the way that its file system's row of the
//! quirk table names ([`Evidence`]).

use std::os::fd::AsFd;

use haul_sys::data::{Dirty, ExtentState, extents};
use haul_sys::fs::{Kind, fstat, fstatfs, fsync, syncfs};
use haul_sys::{Call, CallError, Errno, Result, is_refused};

use crate::method::pair::Device;
use crate::system::quirk::{Evidence, Pages, Quirk};

/// Writes everything of a file system to stable storage. Takes a descriptor that was open before the
/// first write that the flush has to cover, a directory's or a file's. Blocks.
///
/// The result says nothing about a single file, for which [`confirm`] has to be asked.
pub fn flush_all(fd: impl AsFd) -> Result<()> {
    syncfs(&fd)?;
    // Kernels before 5.17 do not report what a journal or a log could not write. After that, each file's
    // own flush fails.
    fsync(&fd)?;
    if fstatfs(&fd)?.is_read_only {
        return Err(CallError::new(Call::Syncfs, Errno::ROFS));
    }
    Ok(())
}

/// Finds out, after [`flush_all`], whether so many bytes that were written to a file are on stable storage.
/// Makes one call, and no I/O, where the flush has done its work. If the file shows that it has not,
/// flushes the file by itself and looks once more.
pub fn confirm(file: impl AsFd, quirk: &Quirk, written_bytes: u64) -> Result<()> {
    match quirk.evidence {
        Evidence::Memory => Ok(()),
        Evidence::Flush => fsync(file),
        Evidence::Extents if written_bytes == 0 => Ok(()),
        Evidence::Extents => match find(&file, written_bytes, Dirty::Stay)? {
            Found::Enough => Ok(()),
            Found::Unknown | Found::TooLittle => flush(file, quirk, written_bytes),
        },
    }
}

/// Writes a file to stable storage, and finds out whether so many bytes that were written to it are there.
/// Blocks.
pub fn flush(file: impl AsFd, quirk: &Quirk, written_bytes: u64) -> Result<()> {
    fsync(&file)?;
    if quirk.evidence != Evidence::Extents || written_bytes == 0 {
        return Ok(());
    }
    let is_there = match find(&file, written_bytes, Dirty::WrittenBack)? {
        Found::Enough => true,
        Found::TooLittle => false,
        Found::Unknown => {
            let now = fstat(&file)?;
            now.kind() != Kind::Regular
                || now.allocated_bytes() >= least_bytes(quirk, written_bytes)
        }
    };
    if is_there { Ok(()) } else { Err(CallError::new(Call::Fsync, Errno::IO)) }
}

/// Number of bytes for which a file needs blocks at least, if its extents say nothing. Where its blocks are those
/// of a file system below, that one may compress, as ZFS does, which has no map of extents: then a few blocks may
/// hold everything, but none at all hold nothing.
fn least_bytes(quirk: &Quirk, written_bytes: u64) -> u64 {
    if quirk.pages == Pages::Below { 1 } else { written_bytes }
}

/// The same for a file of which only the descriptor is known.
pub fn flush_file(file: impl AsFd, written_bytes: u64) -> Result<()> {
    let device = Device::of(&file)?;
    flush(file, device.quirk, written_bytes)
}

/// The same for a file all of whose bytes were written, without holes.
pub fn flush_dense(file: impl AsFd) -> Result<()> {
    flush_but(file, 0)
}

/// The same for a file that was written without holes, but for so many bytes that it had in holes before.
pub fn flush_but(file: impl AsFd, hole_bytes: u64) -> Result<()> {
    let device = Device::of(&file)?;
    // Blocks that are shared have the holes of the file that they were shared with.
    let written_bytes = match device.quirk.reflinks {
        true => 0,
        false => fstat(&file)?.size.saturating_sub(hole_bytes),
    };
    flush(file, device.quirk, written_bytes)
}

/// What a file's extents say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// They hold at least the bytes that were written.
    Enough,
    /// They hold fewer.
    TooLittle,
    /// The file system tells nothing that could be compared.
    Unknown,
}

/// Counts the bytes of the extents that were written. Blocks count as a whole, so the end of a file may add
/// less than a block: no block that is missing can hide behind that.
fn find(file: impl AsFd, written_bytes: u64, dirty: Dirty) -> Result<Found> {
    let (mut counted, mut start) = (0_u64, 0);
    loop {
        let answer = match extents(&file, start, dirty) {
            Ok(answer) => answer,
            Err(error) if is_refused(error.call, error.errno) => return Ok(Found::Unknown),
            Err(error) => return Err(error),
        };
        let mut last = None;
        for extent in answer.iter() {
            match extent.state {
                ExtentState::Written => counted = counted.saturating_add(extent.bytes),
                ExtentState::Encoded => return Ok(Found::Unknown),
                ExtentState::Unwritten => {}
            }
            if counted >= written_bytes {
                return Ok(Found::Enough);
            }
            last = Some(extent);
        }
        match last {
            Some(extent) if !extent.is_last && extent.start + extent.bytes > start => {
                start = extent.start + extent.bytes;
            }
            _ => return Ok(Found::TooLittle),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use haul_sys::data::{Allocate, fallocate};

    use super::*;

    fn file_of(bytes: usize) -> File {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&vec![7; bytes], 0).unwrap();
        file
    }

    #[test]
    fn a_file_is_stored_if_it_has_all_that_was_written() {
        for bytes in [1, 4096, 4097, 1_000_000] {
            let file = file_of(bytes);
            flush_file(&file, bytes as u64).unwrap();
            flush_all(&file).unwrap();
            confirm(&file, Device::of(&file).unwrap().quirk, bytes as u64).unwrap();
        }
    }

    #[test]
    fn a_file_that_lacks_a_block_is_not_stored() {
        let file = file_of(3 << 20);
        file.sync_all().unwrap();
        let device = Device::of(&file).unwrap();
        if device.quirk.evidence != Evidence::Extents {
            println!("ignored: a file system whose files are examined by their extents");
            return;
        }
        // A file that ends in a hole of one block has the size of one that lost that block.
        file.set_len((3 << 20) + 4096).unwrap();
        let written = (3 << 20) + 4096;
        assert_eq!(flush_file(&file, written).unwrap_err().errno, Errno::IO);
        assert_eq!(confirm(&file, device.quirk, written).unwrap_err().errno, Errno::IO);
        confirm(&file, device.quirk, 3 << 20).unwrap();
    }

    #[test]
    fn a_file_below_an_overlay_may_be_compressed() {
        let named =
            |name| crate::system::quirk::TABLE.iter().find(|quirk| quirk.name == name).unwrap();
        assert_eq!(least_bytes(named("overlay"), 1 << 30), 1);
        assert_eq!(least_bytes(named("ext4"), 1 << 30), 1 << 30);
    }

    #[test]
    fn space_that_is_only_reserved_holds_no_bytes() {
        let file = file_of(4096);
        let device = Device::of(&file).unwrap();
        let reserved = fallocate(&file, 4096, 1 << 20, Allocate::KeepSize);
        if device.quirk.evidence != Evidence::Extents || reserved.is_err() {
            println!("ignored: a file system whose files are examined by their extents");
            return;
        }
        assert!(flush_file(&file, 4097).is_err());
        flush_file(&file, 4096).unwrap();
    }
}
